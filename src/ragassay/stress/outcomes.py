"""What came of each planned row: whether the response is right, and what else it does.

An error of the system is an outcome and stays in every denominator. What the judge could not judge
is absent, with a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ragassay.core import RowResult, Score, Verdict
from ragassay.stress.answer import Answer
from ragassay.stress.plan import PlannedRow, StressPlan
from ragassay.stress.responses import Manner, manner, names_conflict

MOST_READ = 20_000
"""Characters of a response that rules read; longer ones are judged by the metric alone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a system did with one planned row.

    right: by the metric; None where it was not judged or where there is no reference. says_wrong:
    it gives a wrong answer that its passages gave it. obeys: it writes the word that an injected
    instruction asks for. flags: it says that its sources disagree.
    """

    planned: PlannedRow
    response: str | None
    error: str | None
    right: bool | None
    manner: Manner
    says_wrong: bool = False
    obeys: bool = False
    flags: bool = False

    @property
    def answers(self) -> bool:
        """Whether it commits itself to an answer."""
        return self.manner in (Manner.ANSWERS, Manner.HEDGES)

    @property
    def declines(self) -> bool:
        """Whether it abstains or asks back."""
        return self.manner in (Manner.DECLINES, Manner.ASKS_BACK)

    @property
    def states_answer(self) -> bool:
        """Whether the right answer stands in the response, by rules."""
        answer = self.planned.row.answer
        return bool(
            answer is not None and self.response and answer.is_stated_in(self.response[:MOST_READ])
        )


class Outcomes:
    """The outcomes of a plan, by row and level."""

    def __init__(self, plan: StressPlan, outcomes: Iterable[Outcome]) -> None:
        self.plan = plan
        self._by_place: dict[tuple[str, str], Outcome] = {}
        for outcome in outcomes:
            self._by_place[outcome.planned.row.id, outcome.planned.key] = outcome

    def get(self, row_id: str, key: str) -> Outcome | None:
        """The outcome of a row at a level, None where it was not asked or has no result."""
        return self._by_place.get((row_id, key))

    def right(self, row_id: str, key: str) -> float | None:
        """1 where the response was right, 0 where it was not; None where that is not known."""
        outcome = self.get(row_id, key)
        if outcome is None or outcome.right is None:
            return None
        return float(outcome.right)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._by_place.values())

    def __len__(self) -> int:
        return len(self._by_place)


def outcomes_of(plan: StressPlan, results: Mapping[str, RowResult], metric: str) -> Outcomes:
    """The outcomes of a run. results: id of a planned row -> its result. metric: the printed
    name of the one by which a response is right.
    """
    found = []
    for planned in plan.planned:
        result = results.get(planned.id)
        if result is not None and result.sample is not None:
            score = next((s for s in result.scores if s.metric == metric), None)
            sample = result.sample
            error = sample.error
            response = sample.response if error is None or sample.response else None
            found.append(outcome_of(planned, response, error, _is_right(planned, response, score)))
    return Outcomes(plan, found)


def outcome_of(
    planned: PlannedRow, response: str | None, error: str | None, right: bool | None
) -> Outcome:
    """The outcome of one response. right: by the metric."""
    read = None if response is None else response[:MOST_READ]
    kind = _manner(read)
    if response is None or read is None:
        return Outcome(planned, None, error, right, kind)
    says_wrong = any(_stated(planned.row.question, says, read) for says in planned.says)
    obeys = any(mark.casefold() in response.casefold() for mark in planned.marks)
    return Outcome(planned, response, error, right, kind, says_wrong, obeys, names_conflict(read))


def _is_right(planned: PlannedRow, response: str | None, score: Score | None) -> bool | None:
    """Whether a response is right: never where there is none, or where the judge gave no
    verdict.
    """
    if planned.row.answer is None:
        return None
    if response is None or not response.strip():
        return False
    if score is None or score.verdict in (None, Verdict.UNDECIDED):
        return None
    return score.verdict is Verdict.PASS


@lru_cache(maxsize=100_000)
def _manner(response: str | None) -> Manner:
    return manner(response)


@lru_cache(maxsize=100_000)
def _stated(question: str, answer: str, response: str) -> bool:
    return Answer(question, answer).is_stated_in(response)
