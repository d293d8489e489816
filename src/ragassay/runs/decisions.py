"""Decisions on rows on which people differ: labels of somebody who saw what the others said.

They join the others in the majority, and break a tie. They are no independent opinions, so no
agreement between people is measured on them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ragassay.core import HumanLabel

DECIDED = "decided by "
"""How the name of who decided begins among those who labelled."""


def is_decision(name: str) -> bool:
    """Whether a name is that of somebody who decided, however it is written."""
    return " ".join(name.split()).casefold().startswith(DECIDED.strip())


def independent(labels: Iterable[HumanLabel]) -> list[HumanLabel]:
    """The labels without decisions."""
    return [label for label in labels if not is_decision(label.annotator)]
