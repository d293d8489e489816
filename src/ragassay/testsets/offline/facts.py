"""Facts that a question can ask for: a clause with one part of it, the answer, taken out.

Only what people ask for is read: when, where, by whom, how many, what something is, what it is
named after or made of. How it is asked is in `wording`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragassay.models.offline.facts.dates import dates
from ragassay.models.offline.facts.number_words import value_of
from ragassay.testsets.offline.clauses import Clause
from ragassay.testsets.offline.verbs import by_participle, by_past, by_present
from ragassay.testsets.values import Passage
from ragassay.testsets.words import listed

Asks = Literal["when", "where", "who", "how many", "what is", "subject", "relation", "why", "other"]

_MOST_REST = 9
_PLACE_VERBS = listed(
    "locate situate bear hold film record base bury build find manufacture produce host station"
    " headquarter house store stage shoot make sign die grow discover"
)
_ALONE = listed(
    "die open close begin start end premiere debut retire resign arrive surrender merge expire"
    " dissolve air launch"
)
"""Verbs that make a question of a subject alone: "When did the museum open?"."""

_DATE_BEFORE = re.compile(
    r"\s*\b(?:in|on|since|around|about|by|of|until)?\s*(?:the\s+)?(?:early|late|mid)?\s*$"
)
_AGENT_END = re.compile(
    r"\s*[,;(]|\s(?:in|at|for|during|from|on|under|as|with|that|who|which|where|when|to|before|after"
    r"|about|around|circa|while|until|since|and\s(?![A-Z]))\b"
)
_PLACE = re.compile(
    r"(?:in|at|within|near|inside)\s+(?:the\s+)?((?:[a-z]+ern\s+)?[A-Z][\w'’.-]*(?:,?\s+(?:of|the|and|in|de|[a-z]+ern|[A-Z][\w'’.-]*))*)"
)
_COUNT = re.compile(
    r"(?:(?:about|around|over|nearly|approximately|some|more than|up to|at least)\s+)?"
    r"((?:\d[\d,.]*\d|\d)(?:\s(?:million|billion|thousand))?|[a-z]+(?:-[a-z]+)?)\s+"
    r"((?:[a-z][\w-]*\s+){0,3}?[a-z][\w-]*s)(?=\s|$)(?!\s+of\b)"
)
_RELATIVE = re.compile(
    r"^(?:one|the (?:first|last|only|second|third|same|most))\b"
    r"|\b(?:similar|example|same|partner|member|part)\b"
)
_MORE = re.compile(r"\s*,?\s+(?:and|or)\s+(\S+)")


def _goes_on(clause: Clause) -> bool:
    """Whether a list goes on behind the rest: "the screenplays of Cars 2 | and Cars 3"."""
    more = _MORE.match(clause.tail[len(clause.rest) :])
    if more is None:
        return clause.tail[len(clause.rest) :].startswith(",") and bool(
            re.match(r",\s+[A-Z]", clause.tail[len(clause.rest) :])
        )
    word = more[1].lower()
    is_verb = word in by_past() or word in by_participle() or word in by_present()
    return not is_verb and word not in ("is", "are", "was", "were", "has", "had", "also", "then")


_ONCE = listed(
    "found establish build construct design write compose invent discover create develop direct"
    " paint"
    " buy purchase acquire introduce abolish publish illustrate translate patent"
)
"""Verbs of what one does once, so that a question for who did it has one answer."""

_NEEDS_NAME = listed(
    "announce join leave replace return move sign appear win lose play finish reach vote attain"
    " transfer"
    " receive commission raise lower increase decrease reduce issue make take get go come become"
    " situate handle host perform visit travel serve work represent"
)
"""Verbs that are done many times, and say which time is meant only by a name behind them."""
_DEFINED = re.compile(
    r",\s*(?:generally|usually|often|typically|mainly|especially|particularly|including|such as"
    r"|based"
    r"|made|located|used|known|called|having|consisting|released|starring|first)\b|"
    r"\s*[;:]|\s(?:--|[–—])(?=\s)|,\s*(?:which|who|that|with|where|while|but|as|and\s+(?:is|are|was|were|has|had|it|he|she))\b|\sand\s+(?:is|are|was|were|has|had)\b|\.\s"
)
_RELATION = re.compile(
    r"(for|as|after|of|from|with|into|to|on)\s+((?:the\s+|an?\s+)?[\w'’,.$% -]+)$"
)
_RELATING = frozenset(
    {
        ("name", "after"),
        ("name", "for"),
        ("base", "on"),
        ("base", "in"),
        ("compose", "of"),
        ("make", "of"),
        ("make", "from"),
        ("derive", "from"),
        ("dedicate", "to"),
        ("know", "as"),
        ("know", "for"),
        ("adapt", "from"),
        ("rename", "to"),
        ("translate", "into"),
    }
)
"""Verbs with what stands behind them, as far as people ask for it."""

_VAGUE = re.compile(
    r"(?i)^(?:several|many|some|various|different|numerous|a (?:number|variety|series|set|group"
    r"|few)"
    r"|other|certain|both|each|one|two|three|four|five|all|any|more|most)\b"
)
_TRAILING = re.compile(r"(?:\s+(?:of|the|and|in|at|de|van|von|&|,))+$")
_REFERS_BACK = re.compile(
    r"\b(?:his|her|their|its|he|she|it|they|this|that|these|those|himself|herself|itself|them|him"
    r"|other|another|such|former|latter)\b",
    re.IGNORECASE,
)
_HAS_NAME = re.compile(r"\b[A-Z][\w'’-]+|\d")


@dataclass(frozen=True, slots=True)
class Said:
    """How a fact is asked for. "{S}" stands for its subject; no text has a mark at its end.

    word: "When"; inverted: "did {S} come out"; plain: "{S} came out"; perfect: "{S} had come out",
    "" where there is none. keywords: as it is typed into a search box.
    """

    word: str
    inverted: str
    plain: str
    perfect: str = ""
    keywords: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a question asks for. answer: as the sentence says it. rest: the clause's rest without
    the answer. noun: of "how many", what is counted. said: of "other", how it is asked.
    """

    passage: Passage
    clause: Clause
    asks: Asks
    answer: str
    rest: str = ""
    noun: str = ""
    said: Said | None = None

    @property
    def is_easy(self) -> bool:
        """Whether it asks what something is or stands for, the easiest of all."""
        return self.asks == "what is" or self.is_abbreviation

    @property
    def is_heading(self) -> bool:
        """Whether a heading asks it: the answer is all of what stands below."""
        return self.asks == "other" and self.answer == self.clause.sentence

    @property
    def is_abbreviation(self) -> bool:
        """Whether it asks what an abbreviation stands for."""
        return self.said is not None and self.said.inverted == "does {S} stand for"

    @property
    def year(self) -> int | None:
        """The year of a "when", None where it has none."""
        found = re.search(r"\b(1[0-9]{3}|20[0-9]{2})\b", self.answer)
        return int(found[1]) if self.asks == "when" and found else None


def facts(passage: Passage, read: Iterable[Clause]) -> list[Fact]:
    """The facts of the clauses of a passage, in order."""
    found: list[Fact] = []
    for clause in read:
        if clause.voice == "copula":
            found += _definition(passage, clause)
            continue
        # "also": another answer stands elsewhere.
        if clause.adverb == "also":
            continue
        for reader in (_when, _by_whom, _where, _how_many, _relation, _subject):
            found += reader(passage, clause)
    return [fact for fact in found if not _REFERS_BACK.search(fact.answer)]


def _when(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb = clause.verb
    if verb is None or clause.voice not in ("active", "passive"):
        return
    for date in clause.dates:
        before = clause.rest[: date.start]
        gap = _DATE_BEFORE.search(before)
        rest = before[: gap.start()] if gap else before
        is_plain = _is_plain_date(clause.rest, date.start, date.end)
        goes_on = re.match(r"\s*(?:and|to|or|[-–—/])\s*\d", clause.tail[date.end :])
        if date.years is None or goes_on or not is_plain or not fits(clause, rest):
            continue
        yield Fact(passage, clause, "when", clause.rest[date.start : date.end], rest.strip())
        return
    leading = dates(clause.leading)
    said = re.sub(r"^(?:In|On)\s+(?:the\s+)?", "", clause.leading)
    has_year = bool(leading) and leading[0].years is not None
    has_year = has_year and said == clause.leading[leading[0].start : leading[0].end]
    if has_year and not clause.dates and fits(clause, clause.rest):
        answer = said
        yield Fact(passage, clause, "when", answer, clause.rest)


def _is_plain_date(rest: str, start: int, end: int) -> bool:
    """Whether a date says when: "in 1971", "in the 1830s", and not "the 1830 bridge"."""
    if re.match(r"\s?[-–—/]|\s(?:to|and|or|until)\b", rest[end:]):
        return False
    after = rest[end:].split()
    if after and after[0].lower() not in _BEHIND_DATE:
        return False
    is_period = re.search(r"0s$|centur", rest[start:end]) is not None
    article = r"(?:the\s+)?" if is_period else ""
    return re.search(rf"\b(?:in|on)\s+{article}$", rest[:start]) is not None


_BEHIND_DATE = listed("in on at by from with under for during near as to under over around")


def fits(clause: Clause, rest: str) -> bool:
    """Whether verb and rest make a whole question."""
    assert clause.verb is not None
    if len(rest.split()) > _MOST_REST or _ends_open(rest) or _REFERS_BACK.search(rest):
        return False
    if rest.startswith(("that ", "to ", "by ", "as ", "and ")):
        return False
    if re.search(r"\bthe\s(?:later|earlier|second|last|next|other|new|same)\s", rest):
        return False
    if re.search(r"\band\s\w+ed\b|\b(?:later|again|too|there|here|together)$", rest):
        return False
    if clause.verb.base in _NEEDS_NAME and not re.search(r"\b[A-Z][a-z]", rest):
        return False
    if re.search(r"\b(?:second|last|final|next|new|smaller|larger|better|more|less)$", rest):
        return False
    return bool(rest) or clause.voice == "passive" or clause.verb.base in _ALONE


def _ends_open(rest: str) -> bool:
    """Whether the rest breaks off before what it needs."""
    last = rest.split()[-1].lower() if rest.split() else ""
    if _VAGUE_OBJECT.search(rest) or last.endswith("ing"):
        return True
    if re.search(r"\b(?:between|both)\b", rest) and " and " not in rest:
        return True
    return last in _NEEDS_MORE


def _by_whom(passage: Passage, clause: Clause) -> Iterator[Fact]:
    if clause.voice != "passive" or clause.verb is None:
        return
    if clause.verb.base in ("border", "surround", "follow", "precede", "accompany", "join"):
        return
    if not clause.tail.startswith("by "):
        return
    tail = clause.tail[3:]
    end = _AGENT_END.search(tail)
    answer = (tail[: end.start()] if end else tail).strip(" ,.")
    goes_on = end is not None and re.match(r",\s+(?:[A-Z]|and\b)", tail[end.start() :])
    if 1 <= len(answer.split()) <= _MOST_REST and re.search(r"[A-Z]", answer) and not goes_on:
        yield Fact(passage, clause, "who", answer)


_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"


def _where(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb = clause.verb
    if verb is None or clause.voice != "passive" or verb.base not in _PLACE_VERBS:
        return
    match = _PLACE.match(clause.rest)
    if match and not re.match(r"\d", match[1]):
        place = re.split(rf",?\s+(?:in|on|of|and)\s+(?:{_MONTH})\b", match[1])[0]
        answer = _TRAILING.sub("", place).strip(" ,.")
        if not _is_month(answer):
            yield Fact(passage, clause, "where", answer)


_VAGUE_OBJECT = re.compile(
    r"\bthe\s+(?:[a-z-]+\s+){0,2}[a-z-]+(?:'s\s+[a-z]+)?"
    rf"(?:$|\s(?:on|in|at|to|for)\s(?!the [A-Z])(?!(?!{_MONTH})[A-Z]))"
)
"""An object that says not which one is meant: "opened the store"."""

_NEEDS_MORE = listed(
    "of in on at by for to from with the a an as and or into than between"
    " its his her their most more very"
)
_MONTHS = listed(
    "january february march april may june july august september october november december"
)


def _is_month(answer: str) -> bool:
    return answer.split()[0].lower() in _MONTHS


def _how_many(passage: Passage, clause: Clause) -> Iterator[Fact]:
    if clause.voice not in ("active", "present", "have") or clause.leading:
        return
    match = _COUNT.match(clause.rest)
    if match is None or len(clause.rest.split()) > _MOST_REST:
        return
    number, noun = match[1], match[2]
    is_number = number[0].isdigit() or value_of(number) is not None
    is_year = re.fullmatch(r"1[5-9]\d\d|20\d\d", number)
    if is_number and not is_year and number not in ("one", "a", "an") and "and" not in noun.split():
        after = clause.rest[match.end() :].strip()
        is_bound = after and after.split()[0].lower() not in ("in", "on", "at", "for")
        if not is_bound and not _ends_open(after):
            yield Fact(passage, clause, "how many", number, after, noun)


_THIN = re.compile(
    r"(?i)(?:an?|the)\s+(?:\w+\s+){0,2}(?:part|one|member|example|source|subject|result|cause|reason"
    r"|problem|issue|factor|way|case|fact|same|percentage|lot|decision)\b"
)
"""What tells nothing of what something is."""


def _definition(passage: Passage, clause: Clause) -> Iterator[Fact]:
    if clause.kind == "things" or len(clause.tail.split()) < 3:
        return
    cut = _DEFINED.search(clause.tail)
    answer = (clause.tail[: cut.start()] if cut else clause.tail).strip(" ,")
    # "the biggest of them", "one of": an answer that needs what stands around it.
    if _RELATIVE.search(answer) or _REFERS_BACK.search(answer):
        return
    is_cut = re.search(r"\b[A-Z]$|^(?:an?|the)\s+\d{4}\s+\w+$|\bone$", answer) is not None
    if _THIN.match(answer):
        return
    if 4 <= len(answer.split()) <= 25 and not _ends_open(answer) and not is_cut:
        yield Fact(passage, clause, "what is", answer)


def _relation(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb = clause.verb
    if verb is None or clause.voice != "passive":
        return
    match = _RELATION.match(clause.rest)
    if match is None or (verb.base, match[1]) not in _RELATING:
        return
    answer = match[2].strip(" ,.")
    if _ends_open(answer) or clause.dates or _goes_on(clause) or _VAGUE.match(answer):
        return
    if 1 <= len(answer.split()) <= _MOST_REST and answer.split()[0].lower() not in _NO_ANSWER:
        yield Fact(passage, clause, "relation", answer, match[1])


_NO_ANSWER = listed("be have this that it each having being its his her their")


def _subject(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb, rest = clause.verb, clause.rest
    if verb is None or clause.voice not in ("active", "present") or clause.kind == "things":
        return
    if verb.base in _PARTS and _says_which_work(passage, rest):
        yield Fact(passage, clause, "subject", clause.subject, rest)
        return
    # Who did it is asked for of what has a name alone.
    if (
        clause.voice != "active"
        or verb.base not in _ONCE
        or _goes_on(clause)
        or not re.match(r"(?:the\s+)?[A-Z]", rest)
    ):
        return
    is_short = 1 <= len(rest.split()) <= _MOST_REST
    is_whole = not _REFERS_BACK.search(rest) and not _ends_open(rest)
    if is_short and is_whole:
        yield Fact(passage, clause, "subject", clause.subject, rest)


def _says_which_work(passage: Passage, rest: str) -> bool:
    """Whether a part that somebody plays is named together with the work."""
    title = re.sub(r"\s*\([^)]*\)$", "", passage.title)
    is_named = re.match(r"(?:the\s(?:role|part|voice)\sof\s)?[A-Z]", rest) is not None
    has_work = (bool(title) and title in rest) or re.search(
        r"\sin\s(?:the\s)?[A-Z]", rest
    ) is not None
    return (
        is_named and has_work and len(rest.split()) <= _MOST_REST and not _REFERS_BACK.search(rest)
    )


_PARTS = listed("play portray voice")
