"""User satisfaction: what the people who asked thought of the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere


@dataclass(frozen=True, slots=True)
class UserSatisfaction(MetricBase):
    """Mean rating by the users of the row, on [0, 1]. It has no pass mark: that somebody was
    unhappy is no fault that a row could be diagnosed with.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="user_satisfaction",
        title="How satisfied the users were with the answer, by their thumbs, stars or ratings.",
        formula=(
            "mean over the users of the row of (rating - lowest) / (highest - lowest) of its scale:"
            " thumbs 0 or 1, five stars 0, .25, .5, .75, 1. Of several ratings by one user the last"
            " one counts; ratings that name no user are of different ones."
        ),
        needs=("feedback",),
        area=Area.OPERATION,
        judged=False,
        source="reported by the users",
        edge_cases=(
            "nobody rated the answer: not applicable",
            "a rating without a known scale is not read, and not guessed; how many is said",
        ),
        calls="none",
        default=135,
        elsewhere=(
            Elsewhere("LangSmith", "user feedback (user_score)"),
            Elsewhere("Langfuse", "scores of source API (user feedback)"),
            Elsewhere("MLflow", "human feedback of a trace"),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        ratings = sample.feedback or ()
        if not ratings:
            return self.not_applicable("nobody rated the answer")
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=math.fsum(ratings) / len(ratings),
            extra={"ratings": float(len(ratings))},
        )
        yield  # asks nothing, and is a flow all the same
