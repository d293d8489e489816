"""Figures that the application reports of itself: what app_tokens, app_cost ... share."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import ClassVar

from ragassay.core import AppUsage, Sample, Score, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere


def declare(
    name: str,
    *,
    title: str,
    formula: str,
    unit: str,
    default: int,
    elsewhere: tuple[Elsewhere, ...] = (),
) -> Declaration:
    """The declaration of a figure that the application reports; its parameters as there."""
    return Declaration(
        name=name,
        title=title,
        formula=formula,
        needs=("usage",),
        area=Area.OPERATION,
        high=None,
        higher_is_better=False,
        unit=unit,
        judged=False,
        source="reported by the application",
        calls="none",
        edge_cases=(
            "the row has no such figure, or one that is negative or not finite: not applicable",
        ),
        default=default,
        elsewhere=elsewhere,
    )


class UsageFigure(MetricBase):
    """A figure that the application reports; absent where it does not. No pass mark."""

    field: ClassVar[str]

    def applies_to(self, fields: Container[str]) -> bool:
        """Whether a row states the figure."""
        return f"usage.{self.field}" in fields

    def flow(self, sample: Sample) -> MetricFlow:
        usage = sample.usage
        if usage is None:
            return self.not_applicable("the row has no usage")
        value = self.read(usage)
        if value is None or not math.isfinite(value) or value < 0:
            return self.not_applicable(f"the row has no usage.{self.field}")
        return Score(metric=str(self), status=Status.JUDGED, value=float(value))
        yield  # asks nothing, and is a flow all the same

    def read(self, usage: AppUsage) -> float | None:
        """The figure, None where the row does not state it."""
        value: float | None = getattr(usage, self.field)
        return value
