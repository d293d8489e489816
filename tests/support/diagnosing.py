"""The diagnosis as runs use it: with the roles that the metrics of the catalogue declare."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay import diagnosis
from ragassay.core import Diagnosis, Sample, Score
from ragassay.diagnosis import Row
from ragassay.metrics import catalogue

ROLES = {name: kind.declaration.role for name, kind in catalogue().items()}


def diagnose(sample: Sample, scores: Sequence[Score]) -> Diagnosis:
    """The diagnosis of a row by its scores."""
    return diagnosis.diagnose(sample, scores, ROLES)


def pattern_of(scores: Sequence[Score]) -> str:
    """The score pattern that these scores show."""
    return diagnosis.pattern_of(Row(Sample("r"), scores, ROLES))


def shows(cause: str) -> tuple[str, ...]:
    """The metrics whose failure has this root cause, or shows it."""
    return diagnosis.shows(cause, ROLES)
