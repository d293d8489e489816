"""Measurements of judges, each from files and runs to a result.

Benchmarks against people, labelling, judges made of others (calibration, panels, cascades), and
the battery of probes.

The door is light: each name is imported from its module when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragassay.trust.measure.benchmarks import benchmark, run_benchmark
    from ragassay.trust.measure.calibration import calibrate
    from ragassay.trust.measure.cascades import cascade
    from ragassay.trust.measure.certificate_list import certificates
    from ragassay.trust.measure.estimation import estimate
    from ragassay.trust.measure.labelling import import_labels, next_rows
    from ragassay.trust.measure.panels import panel, repeat
    from ragassay.trust.measure.people import people_agreement
    from ragassay.trust.measure.probing import probe

_MODULES = {
    "benchmark": "benchmarks",
    "calibrate": "calibration",
    "cascade": "cascades",
    "certificates": "certificate_list",
    "estimate": "estimation",
    "import_labels": "labelling",
    "next_rows": "labelling",
    "panel": "panels",
    "people_agreement": "people",
    "probe": "probing",
    "repeat": "panels",
    "run_benchmark": "benchmarks",
}

__all__ = [
    "benchmark",
    "calibrate",
    "cascade",
    "certificates",
    "estimate",
    "import_labels",
    "next_rows",
    "panel",
    "people_agreement",
    "probe",
    "repeat",
    "run_benchmark",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
