"""A judge that asks a language model twice, in two opposite orders, and takes the mean.

Whatever a verdict owes to the place of an item, or of a passage, weighs against itself. How often
the two orders disagree shows how much there was of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import (
    BOTH_ORDERS,
    ONE_ORDER,
    ORDERS_DIFFER,
    ORDERS_DISAGREE,
    Evidence,
    JudgeFlow,
    Judgment,
    Request,
    Spend,
    Status,
    digest,
)
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import ask_members
from ragassay.judges.input_rules import settle_without_call
from ragassay.judges.llm.judge import LLMJudge
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating, Scale

# Raised when the rule changes: verdicts given under the old one are then not reused.
_RULES = 1


@dataclass(frozen=True, slots=True)
class BothOrdersJudge:
    """A judge of the mean value of two, which ask the same model in opposite orders.

    The rating is the one nearest to the mean, the lower one of two, and the mean decides whether it
    passes. Of categories, which have no mean rating, the one that fails stands where the two
    disagree. What has only one order (a single item without lists of texts, or a rubric that writes
    texts) is asked once. What the calls cost is with the two judges' own Judgments, which are kept
    as well: those that `first` gave alone in an earlier run are not bought again.
    """

    first: LLMJudge
    second: LLMJudge
    rubrics: RubricRegistry

    @property
    def uri(self) -> str:
        """The model's."""
        return self.first.uri

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return self.first.agreement

    def rubric_version(self, rubric: str) -> str:
        """As the two judges say; raises as they do."""
        return self.first.rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rule and both judges' fingerprints; the first one's where only it is asked.
        Raises as `rubric_version`.
        """
        first = self.first.fingerprint(rubric)
        if self.rubrics.get(rubric).scale is None:
            return first
        return digest("both orders", _RULES, first, self.second.fingerprint(rubric))

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The groups of either: the order within a group is another."""
        return self.first.groups(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """Both asked at once, then the mean of each item's two verdicts."""
        rubric = self.rubrics.get(requests[0].rubric)
        if rubric.scale is None:
            return (yield from self.first.answer(requests))
        fingerprint = self.fingerprint(rubric.id)
        judgments: list[Judgment] = []
        asked: list[Request] = []
        for request in {request.key: request for request in requests}.values():
            settled = settle_without_call(request, rubric, fingerprint)
            if settled is None:
                asked.append(request)
            else:
                judgments.append(settled)
        if not asked:
            return tuple(judgments)
        members: list[Judge] = [self.first]
        if _has_two_orders(rubric, asked, single_calls=self.first.single_calls):
            members.append(self.second)
        answers = yield from ask_members(members, asked)
        for request in asked:
            given = [answers_of_one.get(request.key) for answers_of_one in answers]
            judgment = _joined(given, rubric.scale)
            judgments.append(
                replace(
                    judgment,
                    key=request.key,
                    judge=fingerprint,
                    rubric=rubric.ref,
                    spend=Spend(),
                )
            )
        return tuple(judgments)


def _has_two_orders(rubric: Rubric, requests: Sequence[Request], *, single_calls: bool) -> bool:
    """Whether the prompt of the opposite order is another one."""
    if len(requests) > 1 and rubric.batch > 1 and not single_calls:
        return True
    return any(len(requests[0].texts(name)) > 1 for name in rubric.inputs if name != rubric.item)


def _joined(given: Sequence[Judgment | None], scale: Scale) -> Judgment:
    """One Judgment of those in each order, without key, fingerprint and rubric."""
    usable = [judgment for judgment in given if judgment is not None and judgment.judged]
    statuses = {judgment.status for judgment in given if judgment is not None}
    if Status.OVER_BUDGET in statuses:  # the missing order is asked when the run goes on
        reason = "a cap was reached before both orders had been asked"
        return Judgment("", "", "", Status.OVER_BUDGET, reason=reason)
    if not usable:
        return _lost(given)
    if len(usable) < len(given):
        return replace(usable[0], flags=(*usable[0].flags, ONE_ORDER))
    if len(usable) == 1:
        return usable[0]
    return _mean(usable[0], usable[1], scale)


def _lost(given: Sequence[Judgment | None]) -> Judgment:
    """Why no order gave a verdict: as the first one says that says anything."""
    for judgment in given:
        if judgment is not None:
            return judgment
    return Judgment("", "", "", Status.FAILED, reason="no verdict was given in either order")


def _mean(first: Judgment, second: Judgment, scale: Scale) -> Judgment:
    """The mean of two verdicts."""
    said_twice = tuple(flag for flag in first.flags if flag in second.flags)
    flags = tuple(dict.fromkeys((*said_twice, *first.reading, *second.reading)))
    evidence: dict[Evidence, None] = dict.fromkeys((*first.evidence, *second.evidence))
    same = first.rating == second.rating
    rationale = first.rationale
    if not same:
        rationale = (
            f"In two opposite orders of the texts: {first.rating} and {second.rating}."
            f"\n[{first.rating}] {first.rationale}\n[{second.rating}] {second.rationale}"
        )
    value = _mean_value(first, second)
    rating, passes = _rating_of(first, second, value, scale)
    return replace(
        first,
        rating=rating,
        value=value,
        passes=passes,
        rationale=rationale,
        evidence=tuple(evidence),
        flags=(*flags, _order_flag(first, second)),
        sources=_sources(first, second, passes=passes),
    )


def _order_flag(first: Judgment, second: Judgment) -> str:
    if first.passes is not second.passes:
        return ORDERS_DISAGREE
    return BOTH_ORDERS if first.rating == second.rating else ORDERS_DIFFER


def _mean_value(first: Judgment, second: Judgment) -> float | None:
    if first.value is None or second.value is None:
        return None
    return (first.value + second.value) / 2


def _rating_of(
    first: Judgment, second: Judgment, value: float | None, scale: Scale
) -> tuple[Rating | float | None, bool | None]:
    """The rating that stands for both, and whether it passes."""
    if first.rating == second.rating:
        return first.rating, first.passes
    if scale.pass_mark is None or value is None:
        stricter = second if first.passes and not second.passes else first
        return stricter.rating, stricter.passes
    # Thirds are not exact: 1/3 and 1 have the mean 2/3, and 1/6 is as near to 0 as to 1/3.
    nearest = min(scale.points, key=lambda point: round(abs(point.value - value), 9))
    return nearest.rating, value > scale.value(scale.pass_mark) - 1e-9


def _sources(first: Judgment, second: Judgment, *, passes: bool | None) -> tuple[int, ...] | None:
    """The contexts that either verdict on the side of the mean names; None where none was named."""
    lists = [
        judgment.sources
        for judgment in (first, second)
        if judgment.passes is passes and judgment.sources is not None
    ]
    if not lists:
        return None
    named: set[int] = set().union(*lists)
    return tuple(sorted(named))
