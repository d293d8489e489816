"""The flow of the dual metrics: the mean of two differently worded rubrics on one thing."""

from __future__ import annotations

import math

from ragassay.core import Request, Score, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.reduction import all_lost, counts_of, judged, lost, part_of, partial
from ragassay.scoring import decide, mean

DUAL_MARK = 0.5
SOURCE = "two-template light metrics (NVIDIA, in Ragas)"
FORMS = ("reasoned", "light")
EDGE_CASES = (
    (
        "one of the two ratings lost: the value is the other one, flagged partial; the verdict is"
        " undecided where the lost one could change it"
    ),
    "both lost: no value",
)


def rubrics_of_form(declared: tuple[str, ...], form: str) -> tuple[str, ...]:
    """The two of a metric's four rubrics that a form asks."""
    return tuple(name for name in declared if name.endswith("_light") == (form == "light"))


def judge_twice(
    metric: str,
    first: Request,
    second: Request,
    pass_mark: float,
    *,
    text: str = "",
    start: int | None = None,
    end: int | None = None,
) -> MetricFlow:
    """Mean of the ratings that arrived, each on its rubric's scale in [0, 1]; extra: first, second,
    disagreement.

    text, or start and end in the response: what was rated. disagreement = |first - second|, where
    both arrived.
    """
    answers = yield (first, second)
    parts = tuple(
        part_of(answer, "statement", mark=pass_mark, text=text, start=start, end=end)
        for answer in answers
    )
    judged_parts, lost_parts = judged(parts), lost(parts)
    if not judged_parts:
        return all_lost(metric, parts, pass_mark=pass_mark)
    values = [part.value or 0.0 for part in judged_parts]
    extra = {
        name: part.value
        for name, part in zip(("first", "second"), parts, strict=True)
        if part.value is not None
    }
    if not lost_parts:
        extra["disagreement"] = abs(values[0] - values[1])
    return Score(
        metric=metric,
        status=Status.JUDGED,
        value=mean(values),
        pass_mark=pass_mark,
        extra=extra,
        parts=parts,
        # The sum of ratings for a count: a lost rating may be anything from 0 to 1.
        verdict=decide(math.fsum(values), len(lost_parts), len(parts), pass_mark),
        counts=counts_of(parts),
        flags=partial(parts),
        # Of the lower rating: it says what is amiss.
        rationale=min(judged_parts, key=lambda part: part.value or 0.0).rationale,
    )
