"""Drafts of questions: what the offline writer proposes for one type, before any gate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragassay.testsets.offline.facts import Fact
from ragassay.testsets.values import (
    BRIDGE,
    COMPARE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    FOLLOW_UP,
    REASONING,
    SIMPLE,
    Turn,
)

_WHOLE_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})*|\d+")
_SHIFTS = (3, 5, 7, 12, 15, 20)


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed question. direct: without a mark at the end; indirect: as behind "Do you know",
    "" where it has no such form. facts: those that it rests on. difficulty: 1-5.
    """

    type: str
    direct: str
    indirect: str
    answer: str
    facts: tuple[Fact, ...]
    difficulty: int
    steps: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()
    answerable: bool = True


def statement(fact: Fact, *, reword: bool = True) -> str:
    """What a fact says without its date: "London Bridge was finished"."""
    return fact.asked(reword=reword)[1].partition(" ")[2]


def said(fact: Fact) -> str:
    """A fact as a sentence of a reference, in the words of its source."""
    if fact.asks == "when":
        return f"{statement(fact, reword=False)}: {fact.answer}"
    return fact.clause.sentence


def simple(fact: Fact) -> Draft:
    """A question for the one fact."""
    direct, indirect = fact.asked()
    difficulty = 1 if fact.asks == "what is" else 2
    return Draft(SIMPLE, direct, indirect, fact.answer, (fact,), difficulty)


def reasoning(facts: Sequence[Fact]) -> Iterator[Draft]:
    """Questions for the years between two dates of one document."""
    dated = [fact for fact in facts if fact.year is not None]
    for number, first in enumerate(dated):
        for second in dated[number + 1 :]:
            early, late = sorted((first, second), key=_year)
            years = _year(late) - _year(early)
            if not years or first.clause.start == second.clause.start:
                continue
            direct = (
                f"How many years lie between the moment when {statement(early)} and the moment"
                f" when {statement(late)}"
            )
            steps = (said(early), said(late), f"{_year(late)} - {_year(early)} = {years}")
            yield Draft(
                REASONING,
                direct,
                "",
                f"{years} year{'s' if years > 1 else ''}",
                (early, late),
                4,
                steps,
            )


def compare(first: Fact, second: Fact) -> Draft | None:
    """A question which of two facts of different documents came first, or is more."""
    if first.year is not None and second.year is not None and first.year != second.year:
        early, late = sorted((first, second), key=_year)
        direct = f"Which came earlier: {statement(first)}, or {statement(second)}"
        answer = f"{statement(early, reword=False)} ({_year(early)}, the other in {_year(late)})"
        steps = (said(early), said(late), f"{_year(early)} is before {_year(late)}")
        return Draft(COMPARE, direct, "", answer, (first, second), 4, steps)
    return None


def bridge(first: Fact, second: Fact) -> Draft | None:
    """A question for the second fact, whose subject is told by the first one."""
    if first.asks not in ("who", "subject"):
        return None
    named = first.asked()[1].partition(" ")[2]
    is_person = first.asks == "who" or first.clause.kind == "person"
    word = "the person who" if is_person and second.clause.kind == "person" else "the one that"
    direct, indirect = second.asked(f"{word} {named}")
    steps = (f"{named}: {first.answer}", said(second))
    return Draft(BRIDGE, direct, indirect, second.answer, (first, second), 4, steps)


def counterfactual(fact: Fact, place: int) -> Draft | None:
    """A question for what would be, had a date or a number been another one."""
    shift = _SHIFTS[place % len(_SHIFTS)]
    if fact.year is not None:
        other = fact.year + shift
        direct = (
            f"Suppose the moment when {statement(fact)} had come {shift} years later: which year"
            " would that have been"
        )
        steps = (said(fact), f"{fact.year} + {shift} = {other}")
        return Draft(COUNTERFACTUAL, direct, "", str(other), (fact,), 4, steps)
    if fact.asks == "how many" and _WHOLE_NUMBER.fullmatch(fact.answer):
        number = int(fact.answer.replace(",", ""))
        direct, _ = fact.asked()
        direct = f"Suppose there were {shift} more: {direct[0].lower()}{direct[1:]} then"
        steps = (said(fact), f"{number} + {shift} = {number + shift}")
        return Draft(COUNTERFACTUAL, direct, "", str(number + shift), (fact,), 4, steps)
    return None


def false_premise(fact: Fact, place: int) -> Draft | None:
    """A question that takes another year for granted; its right answer denies that."""
    if fact.year is None:
        return None
    wrong = fact.year - _SHIFTS[place % len(_SHIFTS)]
    inverted = fact.asked()[0].partition(" ")[2]
    direct = f"Why {inverted} in {wrong}"
    answer = f"Not in {wrong}: {statement(fact, reword=False)} in {fact.year}."
    steps = (f"the question takes {wrong} for granted", said(fact))
    return Draft(FALSE_PREMISE, direct, "", answer, (fact,), 4, steps)


def follow_up(first: Fact, second: Fact) -> Draft | None:
    """A second question on the same subject, which the first turn names."""
    clause = second.clause
    if first.clause.subject != clause.subject or first.clause.start == clause.start:
        return None
    if first.answer == second.answer:
        return None
    if "subject" in (first.asks, second.asks) or second.asks in ("what is", "who"):
        return None
    pronoun = "that person" if clause.kind == "person" else "it"
    if clause.aux in ("are", "were", "have"):
        pronoun = "they"
    direct, indirect = second.asked(pronoun)
    turn = Turn(first.asked()[0] + "?", first.answer)
    draft = Draft(FOLLOW_UP, direct, indirect, second.answer, (second,), 3, history=(turn,))
    return replace(draft, direct=f"And {direct[0].lower()}{direct[1:]}", indirect="")


def _year(fact: Fact) -> int:
    assert fact.year is not None
    return fact.year
