"""Negative rejection: whether the system declines what its passages cannot answer, and only that.

Signal detection with two normal distributions (Green & Swets 1966): d' is how well it tells the two
apart, whatever its threshold. Half a row is added to each cell (Hautus 1995).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragassay.scoring.detection import rates_of
from ragassay.stress.figures import Rate, rate
from ragassay.stress.labels import CorrectedRejection, corrected_rejection
from ragassay.stress.levels import CLEAN, NEGATIVE
from ragassay.stress.outcomes import Outcome, Outcomes
from ragassay.stress.responses import Manner

RIGHT, INVENTED = "right without evidence", "invented"


@dataclass(frozen=True, slots=True)
class RejectionResult:
    """The two-by-two table and what is in it.

    rejected: share of unanswerable rows that are declined. over_refused: share of answerable ones
    that are declined; answered: share of unanswerable rows that are answered (a failure is
    neither). table: (answered, declined, no answer) of answerable rows, then of unanswerable ones.
    classes: what became of unanswerable rows -> ids. criterion: above 0 for a system that rather
    answers. utility: mean over both kinds of rows of 1 for a right answer or a due refusal, 0 for
    declining what could be answered, -1 for a wrong answer or an answer without evidence.
    corrected: the three rates corrected by labels of people, None where there are none.
    """

    rejected: Rate
    over_refused: Rate
    answered: Rate
    table: tuple[tuple[int, int, int], tuple[int, int, int]]
    classes: Mapping[str, tuple[str, ...]]
    d_prime: float | None
    criterion: float | None
    utility: float | None
    given: int
    made: int
    corrected: CorrectedRejection | None = None


def both_kinds(outcomes: Outcomes) -> tuple[list[Outcome], list[Outcome]]:
    """The outcomes of the answerable and of the unanswerable questions."""
    rows = outcomes.plan.negatives
    answerable = [
        o for row in rows if row.answer is not None and (o := outcomes.get(row.id, CLEAN[0]))
    ]
    return answerable, [o for row in rows if (o := outcomes.get(row.id, NEGATIVE))]


def rejection_result(
    outcomes: Outcomes, labels: Mapping[str, bool] | None = None
) -> RejectionResult | None:
    """The test of rejection, None where no row is in it. labels: of people, on which responses
    decline.
    """
    plan = outcomes.plan
    if not plan.negatives:
        return None
    answerable, unanswerable = both_kinds(outcomes)
    rejected = rate("declines what cannot be answered", map(_declined, unanswerable))
    refused = rate("declines what can be answered", map(_declined, answerable))
    declined = sum(o.declines for o in unanswerable)
    held_back = sum(o.declines for o in answerable)
    answered = len(answerable) - held_back
    found = rates_of(
        np.array([answered, len(unanswerable) - declined, held_back, declined], dtype=float)
    )
    classes: dict[str, list[str]] = {}
    for outcome in unanswerable:
        classes.setdefault(_class_of(outcome), []).append(outcome.planned.row.id)
    given = sum(1 for row in plan.negatives if row.answer is None)
    return RejectionResult(
        rejected,
        refused,
        rate("answers what cannot be answered", map(_answered, unanswerable)),
        (_counts(answerable), _counts(unanswerable)),
        {name: tuple(ids) for name, ids in sorted(classes.items())},
        None if found is None else found.d_prime,
        None if found is None else -found.criterion,
        _utility(answerable, unanswerable),
        given,
        len(plan.negatives) - given,
        corrected_rejection(answerable, unanswerable, labels or {}),
    )


def _declined(outcome: Outcome) -> tuple[str, str, bool]:
    row = outcome.planned.row
    return row.id, row.cluster, outcome.declines


def _answered(outcome: Outcome) -> tuple[str, str, bool]:
    row = outcome.planned.row
    return row.id, row.cluster, outcome.answers


def _counts(outcomes: list[Outcome]) -> tuple[int, int, int]:
    answered = sum(o.answers for o in outcomes)
    declined = sum(o.declines for o in outcomes)
    return answered, declined, len(outcomes) - answered - declined


def _class_of(outcome: Outcome) -> str:
    if outcome.manner in (Manner.DECLINES, Manner.ASKS_BACK, Manner.ERROR, Manner.EMPTY):
        return str(outcome.manner)
    if outcome.states_answer:
        return RIGHT
    return str(Manner.HEDGES) if outcome.manner is Manner.HEDGES else INVENTED


def _utility(answerable: list[Outcome], unanswerable: list[Outcome]) -> float | None:
    worth: Counter[float] = Counter()
    for outcome in answerable:
        if outcome.declines:
            worth[0.0] += 1
        elif outcome.right is not None:
            worth[1.0 if outcome.right else -1.0] += 1
    for outcome in unanswerable:
        worth[1.0 if outcome.declines else -1.0] += 1
    count = sum(worth.values())
    return sum(value * number for value, number in worth.items()) / count if count else None
