"""Whether the application failed on the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Sample, Score, Stage, Status, Verdict, error_words
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Area, Declaration


@dataclass(frozen=True, slots=True)
class AppError(MetricBase):
    """1 where the application failed on the row. Not to fail is no sign of quality: it does not
    make a row pass by itself.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="app_error",
        title="Whether the application failed on the row.",
        formula=(
            "1 when the row carries the application's error, else 0; the mean is the error rate. A"
            " row with an error fails; one without passes here, which alone does not make the row"
            " pass."
        ),
        needs=("error|response",),
        area=Area.OPERATION,
        higher_is_better=False,
        judged=False,
        source="reported by the application",
        edge_cases=("neither an error nor a response: not applicable",),
        calls="none",
        default=190,
        role=Role(stage=Stage.APPLICATION, place=0, cause="application_error"),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if sample.error is None:
            return Score(metric=str(self), status=Status.JUDGED, value=0.0, verdict=Verdict.PASS)
        return failed_application(sample.error)
        yield  # asks nothing, and is a flow all the same


def failed_application(error: str) -> Score:
    """The score of a row on which the application failed with this error."""
    return Score(
        metric=AppError.declaration.name,
        status=Status.JUDGED,
        value=1.0,
        verdict=Verdict.FAIL,
        rationale=error_words(error, 200),
    )
