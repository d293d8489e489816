"""The Score of one rating of a whole row, for the metrics that ask one thing about a row."""

from __future__ import annotations

from ragassay.core import Counts, Part, Score, Status, Verdict
from ragassay.metrics.reduction import GRADE_MARK, all_lost, counts_of


def score_of_rating(
    metric: str, part: Part, flags: tuple[str, ...] = (), pass_mark: float | None = GRADE_MARK
) -> Score:
    """The value of the row is that of its one part, and the row passes when the part does; or the
    loss of the part.

    pass_mark: the value from which the part passes, None where no value is one (categories).
    """
    if part.value is None:
        return all_lost(metric, (part,), pass_mark=pass_mark)
    return Score(
        metric=metric,
        status=Status.JUDGED,
        value=part.value,
        verdict=Verdict.PASS if part.passed else Verdict.FAIL,
        pass_mark=pass_mark,
        counts=counts_of((part,)),
        parts=(part,),
        rationale=part.rationale,
        flags=flags,
    )


def failed_by_rule(
    metric: str, rationale: str, flag: str, pass_mark: float | None = GRADE_MARK
) -> Score:
    """A 0 that needs no judge, such as the correctness of an empty response; without a pass mark
    without a verdict.
    """
    return Score(
        metric=metric,
        status=Status.JUDGED,
        value=0.0,
        verdict=None if pass_mark is None else Verdict.FAIL,
        pass_mark=pass_mark,
        counts=Counts(asked=1, judged=1),
        rationale=rationale,
        flags=(flag,),
    )
