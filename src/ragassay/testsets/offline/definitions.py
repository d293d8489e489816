"""Facts in a definition: who made what it is about, when it came out, and what is the highest, the
capital or the only one of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragassay.testsets.offline.clauses import Clause
from ragassay.testsets.offline.facts import Fact, Said
from ragassay.testsets.offline.verbs import by_participle
from ragassay.testsets.values import Passage
from ragassay.testsets.words import listed

_NAME = r"[A-Z][\w.'’-]*(?:\s(?:(?:of|the|and|de|la|von|van|der|&)\s)?[A-Z][\w.'’-]*)*"
_BY = re.compile(
    rf"\b([a-z]+)\sby\s(?:the\s|[a-z]+(?:\s[a-z]+)?\s)?({_NAME}(?:,\s{_NAME})*(?:,?\sand\s{_NAME})?)"
    r"(?=\s*(?:[,.;(]|$)|\s(?:in|on|for|at|from|as|with|and|that|which|who|to|based|starring|during)\b)"
)
"""A participle with who did it: "written by blues guitarist Elvin Bishop"."""

_MADE = listed(
    "written directed developed published founded created produced designed composed recorded"
    " performed owned operated built invented painted manufactured illustrated narrated established"
    " discovered hosted edited introduced"
)
_YEAR = re.compile(
    r"an?\s(1[6-9]\d\d|20\d\d)\s(?:[\w-]+\s){0,5}?"
    r"(film|movie|song|single|album|novel|book|play|musical|documentary|video game|opera|series)\b"
)
_ISSUED = {"film": "film", "movie": "film", "song": "song", "single": "song", "book": "book"}

_ROLE = re.compile(
    r"the\s((?:world['’]s\s)?(?:[\w-]+est|capital|official|only|most\s[\w-]+|least\s[\w-]+)\b"
    r"[^,;:()]{3,80})"
)
"""What only one thing can be: "the highest mountain in Canada"."""

_ROLE_END = re.compile(
    r",|;|\s(?:and|but|which|who|that|where|with|when|after|before|since|while|although|lying|located)\s"
)
_IN_NAME = re.compile(r"\b(?:in|of|on)\s(?:the\s)?[A-Z]|^world['’]s")
_BORN = re.compile(
    rf"\((?:[^()]{{0,60}}?;\s*)?born\s+(?:{_NAME},?\s+)?((?:\w+\s+){{0,2}}\d{{4}}"
    rf"|\w+ \d{{1,2}}\s*, \d{{4}})\b"
)
_LIVED = re.compile(
    r"\(\s*(\d{1,2}\s[A-Z]\w+\s\d{4}|[A-Z]\w+\s\d{1,2}\s?,\s\d{4})\s*[-–—]\s*"
    r"(\d{1,2}\s[A-Z]\w+\s\d{4}|[A-Z]\w+\s\d{1,2}\s?,\s\d{4})\s*\)"
)


def defined(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """The facts in a definition, beside what it defines."""
    if clause.voice != "copula":
        return
    yield from _made_by(passage, clause)
    yield from _came_out(passage, clause)
    yield from _role(passage, clause)
    yield from _life(passage, clause)


def _made_by(passage: Passage, clause: Clause) -> Iterator[Fact]:
    first = clause.tail.split(",")[0] if clause.kind == "person" else clause.tail
    if clause.kind in ("person", "things"):
        return
    match = _BY.search(first)
    if match is None or match[1] not in _MADE:
        return
    # "directed and written by": who directed is asked for as well as who wrote, so neither is.
    before = first[: match.start()]
    if re.search(
        r"(?:\band|,)\s$|\bco-$|\b(?:of|for|in|at|from|on|to|by|with)\s(?:the\s)?[A-Z]", before
    ):
        return
    verb = by_participle().get(match[1])
    behind = first[match.end() :]
    if verb is None or re.match(r"\s*,?\s(?:and\s)?(?:[A-Z]|with\s)", behind):
        return
    yield Fact(passage, _with_verb(clause, match[1]), "who", match[2].strip(" ,."))


def _with_verb(clause: Clause, participle: str) -> Clause:
    """The clause as if the definition said "was written by"."""
    aux = "were" if clause.aux in ("are", "were") else "was"
    if participle in ("owned", "operated", "hosted"):
        aux = clause.aux
    return Clause(
        subject=clause.subject,
        kind=clause.kind,
        voice="passive",
        aux=aux,
        verb=by_participle()[participle],
        adverb="",
        rest="",
        tail="",
        leading="",
        start=clause.start,
        end=clause.end,
        sentence=clause.sentence,
    )


def _came_out(passage: Passage, clause: Clause) -> Iterator[Fact]:
    match = _YEAR.match(clause.tail)
    if match is None:
        return
    said = Said("When", "did {S} come out", "{S} came out", "{S} had come out", "{S} release year")
    yield Fact(passage, clause, "when", match[1], said=said)


def _role(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """The question the other way round: "What is the highest mountain in Canada?"."""
    match = _ROLE.match(clause.tail)
    if match is None or clause.kind == "things" or not _is_name(clause.subject):
        return
    end = _ROLE_END.search(clause.tail)
    role = clause.tail[: end.start()] if end else clause.tail
    role = role.strip(" .")
    is_placed = _IN_NAME.search(role.removeprefix("the ")) is not None
    is_other = re.search(r"\b(?:earliest|latest|best|one of|rest|test|west|interest)\b", role)
    own = set(clause.subject.lower().split()) - {"the", "of"}
    if not is_placed or is_other or own & set(role.lower().split()) or len(role.split()) > 14:
        return
    word = "Who" if clause.kind == "person" else "What"
    said = Said(word, f"{clause.aux} {role}", f"{role} {clause.aux}", keywords=role[4:])
    yield Fact(passage, clause, "other", clause.subject, said=said)


def _is_name(subject: str) -> bool:
    return any(word[:1].isupper() for word in subject.split())


def _life(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """Birth and death of a person, in brackets behind the name."""
    raw = passage.text[clause.start : clause.end]
    at = raw.find(f" {clause.aux} ")
    head = " ".join(raw[:at].replace(" ,", ",").split()) if at > 0 else ""
    lived, born = _LIVED.search(head), _BORN.search(head)
    if clause.kind != "person" or not (lived or born):
        return
    found = lived or born
    birth = found[1] if found else ""
    bear = Said("When", "was {S} born", "{S} was born", "{S} had been born", "{S} date of birth")
    birth = re.sub(r"^(?:in|on)\s", "", birth)
    yield Fact(passage, clause, "when", birth, said=bear)
    if lived:
        die = Said("When", "did {S} die", "{S} died", "{S} had died", "{S} date of death")
        yield Fact(passage, clause, "when", lived[2], said=die)
