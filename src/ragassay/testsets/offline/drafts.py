"""Drafts of questions: what the offline writer proposes for one type, before any gate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragassay.testsets.offline.facts import Fact
from ragassay.testsets.offline.wording import asked, direct, indirect
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
    "" where it has no such form; keywords: as it is typed into a search box, "" likewise. facts:
    those that it rests on. difficulty: 1-5.
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
    keywords: str = ""


def statement(fact: Fact, *, reword: bool = True) -> str:
    """What a fact says without its date: "London Bridge was finished"."""
    return asked(fact, reword=reword).plain


def said(fact: Fact) -> str:
    """A fact as a sentence of a reference, in the words of its source."""
    if fact.asks == "when":
        return f"{statement(fact, reword=False)}: {fact.answer}"
    return fact.clause.sentence


def simple(fact: Fact) -> Draft:
    """A question for the one fact."""
    form = asked(fact)
    difficulty = 1 if fact.asks in ("what is", "other") else 2
    return Draft(
        SIMPLE,
        direct(form),
        indirect(form) if form.plain else "",
        fact.answer,
        (fact,),
        difficulty,
        keywords=form.keywords,
    )


def reasoning(facts: Sequence[Fact]) -> Iterator[Draft]:
    """Questions for the years between two dates of one document."""
    dated = [fact for fact in facts if fact.year is not None]
    for number, first in enumerate(dated):
        for second in dated[number + 1 :]:
            early, late = sorted((first, second), key=_year)
            years = _year(late) - _year(early)
            if not years or first.clause.start == second.clause.start:
                continue
            question = f"How many years after {statement(early)} {_later(early, late)}"
            steps = (said(early), said(late), f"{_year(late)} - {_year(early)} = {years}")
            answer = f"{years} year{'s' if years > 1 else ''}"
            yield Draft(REASONING, question, "", answer, (early, late), 4, steps)


def _later(early: Fact, late: Fact) -> str:
    """The later fact as the end of a question; its subject is not said twice."""
    subject = ""
    if early.clause.subject == late.clause.subject:
        subject = _pronoun(late)
    return asked(late, subject).inverted


def compare(first: Fact, second: Fact) -> Draft | None:
    """A question which of two facts of different documents came first, or is more."""
    if first.year is not None and second.year is not None and first.year != second.year:
        early, late = sorted((first, second), key=_year)
        question = f"Which came earlier: {statement(first)}, or {statement(second)}"
        answer = f"{statement(early, reword=False)} ({_year(early)}, the other in {_year(late)})"
        steps = (said(early), said(late), f"{_year(early)} is before {_year(late)}")
        return Draft(COMPARE, question, "", answer, (first, second), 4, steps)
    return None


def bridge(first: Fact, second: Fact) -> Draft | None:
    """A question for the second fact, whose subject is told by the first one."""
    if first.asks not in ("who", "subject"):
        return None
    named = asked(first, reword=False).plain
    is_person = first.asks == "who" or first.clause.kind == "person"
    word = "the person who" if is_person and second.clause.kind == "person" else "the one that"
    form = asked(second, f"{word} {named}")
    steps = (f"{named}: {first.answer}", said(second))
    text = (direct(form), indirect(form))
    return Draft(BRIDGE, *text, second.answer, (first, second), 4, steps)


def counterfactual(fact: Fact, place: int) -> Draft | None:
    """A question for what would be, had a date or a number been another one."""
    shift = _SHIFTS[place % len(_SHIFTS)]
    perfect = asked(fact).perfect
    if fact.year is not None and perfect:
        other = fact.year + shift
        question = f"If {perfect} {shift} years later, which year would that have been"
        steps = (said(fact), f"{fact.year} + {shift} = {other}")
        return Draft(COUNTERFACTUAL, question, "", str(other), (fact,), 4, steps)
    if fact.asks == "how many" and _WHOLE_NUMBER.fullmatch(fact.answer):
        number = int(fact.answer.replace(",", ""))
        question = direct(asked(fact))
        question = f"Suppose there were {shift} more: {question[0].lower()}{question[1:]} then"
        steps = (said(fact), f"{number} + {shift} = {number + shift}")
        return Draft(COUNTERFACTUAL, question, "", str(number + shift), (fact,), 4, steps)
    return None


def false_premise(fact: Fact, place: int) -> Draft | None:
    """A question that takes another year for granted; its right answer denies that."""
    # Nobody asks why somebody was born.
    is_life = fact.said is not None and fact.said.keywords.startswith("{S} date of")
    if fact.year is None or is_life:
        return None
    wrong = fact.year - _SHIFTS[place % len(_SHIFTS)]
    question = f"Why {asked(fact).inverted} in {wrong}"
    answer = f"Not in {wrong}: {statement(fact, reword=False)} in {fact.year}."
    steps = (f"the question takes {wrong} for granted", said(fact))
    return Draft(FALSE_PREMISE, question, "", answer, (fact,), 4, steps)


def follow_up(first: Fact, second: Fact) -> Draft | None:
    """A second question on the same subject, which the first turn names."""
    clause = second.clause
    if first.clause.subject != clause.subject or first.clause.start == clause.start:
        return None
    if first.answer == second.answer or {"other", "why"} & {first.asks, second.asks}:
        return None
    if "subject" in (first.asks, second.asks) or second.asks in ("what is", "who"):
        return None
    question = direct(asked(second, _pronoun(second)))
    turn = Turn(direct(asked(first)) + "?", first.answer)
    question = f"And {question[0].lower()}{question[1:]}"
    return Draft(FOLLOW_UP, question, "", second.answer, (second,), 3, history=(turn,))


def _pronoun(fact: Fact) -> str:
    """What stands for a subject that was named before. Whether a person is he or she is not known:
    the surname stands for them.
    """
    clause = fact.clause
    if clause.kind == "person":
        names = re.sub(r"\s*\([^)]*\)$|,?\s(?:Jr|Sr|I{1,3}|IV)\.?$", "", clause.subject).split()
        return names[-1]
    return "they" if clause.aux in ("are", "were", "have") or clause.kind == "things" else "it"


def _year(fact: Fact) -> int:
    assert fact.year is not None
    return fact.year
