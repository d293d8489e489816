"""Engines of a search, behind one interface: our own, and those of other packages.

An engine of another package proposes and steers; it is given our splits, cap, guard and record, and
what it finds goes the same way to a certificate.
"""

from ragassay.tuning.engines.base import ENGINES, Engine, engine

__all__ = ["ENGINES", "Engine", "engine"]
