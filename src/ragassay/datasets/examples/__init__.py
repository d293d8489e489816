"""The example rows that come with the package, and how far a run over them is right."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ragassay.core import RowResult


def rows_path() -> Path:
    """The file of example rows (JSONL, 67 rows); README.md beside it says what is in it."""
    return Path(__file__).with_name("rows.jsonl")


class Agreement(NamedTuple):
    """Rows in all; those whose verdict, and whose root cause, is the labelled one; those that are
    labelled as fine.
    """

    rows: int
    verdicts: int
    causes: int
    fine: int

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        return (
            "Beside the labels that people gave these rows: the verdict is right in"
            f" {self.verdicts} of {self.rows} rows, the root cause in {self.causes} (calling"
            f" every row fine would be right in {self.fine}).\nThe offline judge is a small model:"
            " good for a first look; see docs/judges.md for its limits."
        )


def agreement(results: Iterable[RowResult]) -> Agreement:
    """How far a run over the example rows agrees with the labels that people gave them."""
    rows = verdicts = causes = fine = 0
    for row in results:
        labels = row.sample.labels if row.sample is not None else {}
        cause = row.diagnosis.cause.name if row.diagnosis.cause is not None else "none"
        rows += 1
        verdicts += row.diagnosis.verdict == labels.get("verdict")
        causes += cause == labels.get("cause")
        fine += labels.get("verdict") == "pass"
    return Agreement(rows, verdicts, causes, fine)
