"""Facts that a question can ask for: a clause with one part of it, the answer, taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragassay.models.offline.facts.dates import dates
from ragassay.models.offline.facts.number_words import value_of
from ragassay.testsets.offline.clauses import Clause, clauses, head_noun
from ragassay.testsets.offline.synonyms import in_other_words, other_verb
from ragassay.testsets.offline.verbs import Verb, by_participle, by_past, by_present, third_person
from ragassay.testsets.values import Passage
from ragassay.testsets.words import listed

Asks = Literal["when", "where", "who", "how many", "what is", "subject", "what", "relation"]

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
    r"|while|until|since|and\s(?![A-Z]))\b"
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


_MANY_TIMES = listed(
    "play portray star voice win finish end beat defeat score gain lose report raise"
)
_BOUND_OBJECT = re.compile(
    r"the (?:song|film|movie|book|album|show|series|team|game|band|company)\b"
)
_DEFINED = re.compile(
    r"\s*[;:]|\s(?:--|[–—])(?=\s)|,\s*(?:which|who|that|with|where|while|but|as|and\s+(?:is|are|was|were|has|had|it|he|she))\b|\.\s"
)
_RELATION = re.compile(
    r"(for|as|after|of|from|with|into|to|on)\s+((?:the\s+|an?\s+)?[\w'’,.$% -]+)$"
)
_RELATING = listed(
    "know name base compose make derive dedicate use regard consider divide bear inspire form"
    " connect link define describe convert transform replace call award nominate sell adapt"
    " translate attach limit rename organise organize measure charge serve cover treat"
)
_TRAILING = re.compile(r"\s+(?:of|the|and|in|at|de|van|von|&|,)+$")
_REFERS_BACK = re.compile(
    r"\b(?:his|her|their|its|he|she|it|they|this|that|these|those|himself|herself|itself|them|him"
    r"|other|another|such|former|latter)\b",
    re.IGNORECASE,
)
_HAS_NAME = re.compile(r"\b[A-Z][\w'’-]+|\d")


@dataclass(frozen=True, slots=True)
class Fact:
    """What a question asks for. answer: as the sentence says it. before: the clause's rest without
    the answer. noun: of "how many", what is counted.
    """

    passage: Passage
    clause: Clause
    asks: Asks
    answer: str
    rest: str = ""
    noun: str = ""

    @property
    def year(self) -> int | None:
        """The year of a "when", None where it has none."""
        found = re.search(r"\b(1[0-9]{3}|20[0-9]{2})\b", self.answer)
        return int(found[1]) if self.asks == "when" and found else None

    def asked(self, subject: str = "", *, reword: bool = True) -> tuple[str, str]:
        """The question, and the clause behind "Do you know": both without a mark at the end.

        subject: what is said for the clause's own. reword: whether other words are taken where
        they are known.
        """
        return _asked(self, subject or self.clause.subject, reword)


def facts(passage: Passage) -> list[Fact]:
    """The facts of a passage, in order."""
    found: list[Fact] = []
    for clause in clauses(passage):
        if clause.voice == "copula":
            found += _definition(passage, clause)
            continue
        # "also": another answer stands elsewhere.
        if clause.adverb == "also":
            continue
        for read in (_when, _by_whom, _where, _how_many, _relation, _subject, _what):
            found += read(passage, clause)
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
        if date.years is None or goes_on or not is_plain or not _fits(clause, rest):
            continue
        yield Fact(passage, clause, "when", clause.rest[date.start : date.end], rest.strip())
        return
    leading = dates(clause.leading)
    said = re.sub(r"^(?:In|On)\s+(?:the\s+)?", "", clause.leading)
    has_year = bool(leading) and leading[0].years is not None
    has_year = has_year and said == clause.leading[leading[0].start : leading[0].end]
    if has_year and not clause.dates and _fits(clause, clause.rest):
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


def _fits(clause: Clause, rest: str) -> bool:
    """Whether verb and rest make a whole question."""
    assert clause.verb is not None
    if len(rest.split()) > _MOST_REST or _ends_open(rest) or _REFERS_BACK.search(rest):
        return False
    if rest.startswith(("that ", "to ", "by ", "as ")):
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


def _where(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb = clause.verb
    if verb is None or clause.voice != "passive" or verb.base not in _PLACE_VERBS:
        return
    match = _PLACE.match(clause.rest)
    if match and not re.match(r"\d", match[1]):
        answer = _TRAILING.sub("", match[1]).strip(" ,.")
        if not _is_month(answer):
            yield Fact(passage, clause, "where", answer)


_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
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
    if clause.voice not in ("active", "present", "have"):
        return
    match = _COUNT.match(clause.rest)
    if match is None or len(clause.rest.split()) > _MOST_REST:
        return
    number, noun = match[1], match[2]
    is_number = number[0].isdigit() or value_of(number) is not None
    is_year = re.fullmatch(r"1[5-9]\d\d|20\d\d", number)
    if is_number and not is_year and number not in ("one", "a", "an") and "and" not in noun.split():
        after = clause.rest[match.end() :].strip()
        is_bound = after and after.split()[0].lower() not in _BEHIND_DATE
        if not is_bound and not _ends_open(after):
            yield Fact(passage, clause, "how many", number, after, noun)


def _definition(passage: Passage, clause: Clause) -> Iterator[Fact]:
    if clause.kind == "things" or len(clause.tail.split()) < 3:
        return
    cut = _DEFINED.search(clause.tail)
    answer = (clause.tail[: cut.start()] if cut else clause.tail).strip(" ,")
    # "the biggest of them", "one of": an answer that needs what stands around it.
    if _RELATIVE.search(answer) or _REFERS_BACK.search(answer):
        return
    is_cut = re.search(r"\b[A-Z]$", answer) is not None
    if 3 <= len(answer.split()) <= 25 and not _ends_open(answer) and not is_cut:
        yield Fact(passage, clause, "what is", answer)


def _relation(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb = clause.verb
    if verb is None or clause.voice != "passive" or verb.base not in _RELATING:
        return
    match = _RELATION.match(clause.rest)
    if match is None or _ends_open(match[2]) or clause.dates or _goes_on(clause):
        return
    is_plain = 1 <= len(match[2].split()) <= _MOST_REST
    if is_plain and match[2].split()[0].lower() not in ("be", "have", "this", "that", "it", "each"):
        yield Fact(passage, clause, "relation", match[2].strip(" ,."), match[1])


def _subject(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb, rest = clause.verb, clause.rest
    if verb is None or clause.voice not in ("active", "present") or clause.kind == "things":
        return
    # Who plays a part depends on the work, and who wins on the year.
    if verb.base in _MANY_TIMES or _goes_on(clause):
        return
    is_named = _HAS_NAME.search(rest) is not None
    is_short = 3 <= len(rest.split()) <= _MOST_REST
    is_whole = not _REFERS_BACK.search(rest) and not _ends_open(rest)
    if is_named and is_short and is_whole and not rest.startswith(("to ", "that ")):
        yield Fact(passage, clause, "subject", clause.subject, rest)


def _what(passage: Passage, clause: Clause) -> Iterator[Fact]:
    verb, rest = clause.verb, clause.rest
    if verb is None or clause.voice != "active" or verb.base in ("become", "begin", "run", "go"):
        return
    match = re.match(r"((?:an?|the)\s+[^,]+?)(?:\s+((?:in|on|at)\s+.+))?$", rest)
    if match is None or not 2 <= len(match[1].split()) <= _MOST_REST or _ends_open(rest):
        return
    is_vague = match[1].startswith("the ") and not re.search(r"[A-Z0-9]", match[1])
    if is_vague or _goes_on(clause) or verb.base in _MANY_TIMES or _BOUND_OBJECT.match(match[1]):
        return
    when = match[2] or ""
    refers_back = _REFERS_BACK.search(rest) is not None
    if len(when.split()) <= 5 and not refers_back and (when or _HAS_NAME.search(clause.subject)):
        yield Fact(passage, clause, "what", match[1], when)


def _asked(fact: Fact, subject: str, reword: bool) -> tuple[str, str]:
    clause = fact.clause
    verb = clause.verb
    is_reworded = reword and fact.asks != "relation"
    rest = in_other_words(fact.rest) if is_reworded else fact.rest
    noun = in_other_words(fact.noun) if reword else fact.noun
    # "known for" is said of no other verb.
    is_bound = re.match(r"(?:into|on|for|from|with|to|of|as|up|out|off|over|at)\b", fact.rest)
    if verb is not None and reword and fact.asks != "relation" and not is_bound:
        verb = other_verb(verb)
    adverb = clause.adverb
    if fact.asks == "what is":
        return _definition_asked(clause, subject, reword)
    if fact.asks == "subject":
        assert verb is not None
        word = _who_or_what(clause)
        finite = verb.past if clause.voice == "active" else third_person(verb.base)
        if clause.voice == "present" and clause.kind == "things":
            finite = verb.base
        return _joined(word, adverb, finite, rest), _joined(word.lower(), adverb, finite, rest)
    if fact.asks == "who":
        assert verb is not None
        finite = third_person(verb.base) if clause.aux in ("is", "are") else verb.past
        return _joined("Who", adverb, finite, subject), _joined("who", adverb, finite, subject)
    return _inverted(fact, subject, verb, adverb, rest, noun)


def _who_or_what(clause: Clause) -> str:
    """The word that asks for a subject. Two capitals without "the" may be a person or none."""
    if clause.kind == "person":
        return "Who"
    capitals = [word for word in clause.subject.split() if word[:1].isupper()]
    is_open = not clause.subject.startswith("the ") and len(capitals) in (2, 3)
    return "Who or what" if is_open else "What"


_TERMS = listed(
    "process phase phenomenon concept act method term theory state measure ratio percentage"
    " condition disease substance isotope rate technique practice principle idea law form type"
    " kind property procedure disorder syndrome mechanism structure unit metric set class"
)
"""Head nouns of a definition by which what is defined is a term and no name."""


def _definition_asked(clause: Clause, subject: str, reword: bool) -> tuple[str, str]:
    if clause.kind == "person":
        return f"Who {clause.aux} {subject}", f"who {subject} {clause.aux}"
    if not reword:
        return f"What {clause.aux} {subject}", f"what {subject} {clause.aux}"
    if subject.isupper() or head_noun(clause.tail) in _TERMS:
        return f"What does the term {words_of(subject)} mean", f"what {words_of(subject)} means"
    return f"How would you describe {subject} in a sentence", ""


def words_of(subject: str) -> str:
    """The subject without its article."""
    return subject.removeprefix("the ")


def _inverted(
    fact: Fact, subject: str, verb: Verb | None, adverb: str, rest: str, noun: str
) -> tuple[str, str]:
    """A question whose auxiliary stands before the subject."""
    clause = fact.clause
    words = {"how many": f"how many {noun}", "relation": "what"}
    word = words.get(fact.asks, fact.asks)
    capital = word[0].upper() + word[1:]
    if clause.voice == "passive":
        assert verb is not None
        said = _joined(adverb, verb.participle, rest)
        return (
            _joined(capital, clause.aux, subject, said),
            _joined(word, subject, clause.aux, said),
        )
    if clause.voice == "have":
        does = {"has": "does", "have": "do", "had": "did"}[clause.aux]
        return (
            _joined(capital, does, subject, "have", rest),
            _joined(word, subject, clause.aux, rest),
        )
    assert verb is not None
    is_past = clause.voice == "active"
    finite = verb.past if is_past else third_person(verb.base)
    does = "did" if is_past else "does"
    if not is_past and clause.kind == "things":
        does, finite = "do", verb.base
    return (
        _joined(capital, does, subject, adverb, verb.base, rest),
        _joined(word, subject, adverb, finite, rest),
    )


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
