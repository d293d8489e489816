"""Facts that explain: what something is for, what it does, what else it is called, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragassay.models.offline.facts.number_words import value_of
from ragassay.testsets.offline.clauses import Clause, without_asides
from ragassay.testsets.offline.facts import Fact, Said, fits
from ragassay.testsets.offline.verbs import by_present, third_person
from ragassay.testsets.values import Passage
from ragassay.testsets.words import listed, tidy

_NOUN_OF = re.compile(
    r"The\s((?:(?:main|primary|basic|chief|principal|key|sole|common|most common|usual)\s)?"
    r"(?:purpose|function|role|goal|aim|cause|causes|symptoms?|capital|currency|population|advantage"
    r"|disadvantage|default value|official language|motto|opposite))"
    r"\sof\s([^,;:()]{3,60}?)\s(is|are|was|were)\s([^;:()]{8,200})"
)
_OF_ONE_WORD = listed("capital currency language motto population value opposite")
_VAGUE_THING = re.compile(
    r"(?:the|this|that|these|those|its|their|his|her|such)\s+[a-z-]+$|^(?:it|they|this|that|these)$"
    r"|^(?:the|this|that|these|those|its|their|such)\b(?!.*[A-Z])"
)
_ANSWER_END = re.compile(
    r",\s(?:and|but|which|who|where|while|as|so|although|though)\s|\.\s|;"
    r"|\sand\s(?:is|are|was|were|has|had|it|they)\s"
)
_POINTS_BACK = re.compile(r"(?i)\b(?:this|these|those|such|former|latter|above|below|following)\b")
_ALSO = re.compile(
    r"(?:\(|,|,\s*or)\s*(?:also|sometimes|often|commonly|usually|better|formerly|previously|originally"
    r"|popularly|informally)\s(?:known as|called|referred to as|spelled|nicknamed)\s"
    r"(?:the\s|an?\s)?([\w'’ -]{3,40}?)\s*(?:[,);]|\sor\s|\sand\s)"
)
_DOES = listed(
    "regulate protect control produce convert transport prevent allow enable manage store"
    " separate stimulate transmit inhibit connect encode mediate decrease increase reduce improve"
    " check validate schedule monitor track route render process handle collect send return"
    " remove detect measure carry translate replicate encrypt compress index cache"
)
_BECAUSE = re.compile(r"\s*,?\s*(because\s.+)")


def explained(
    passage: Passage, sentences: Iterable[tuple[int, int]], read: Iterable[Clause]
) -> Iterator[Fact]:
    """The facts of a passage's sentences and clauses that explain something."""
    for start, end in sentences:
        yield from _noun_of(passage, start, end)
        yield from _there_are(passage, start, end)
        yield from _foreign(passage, start, end)
        yield from _command(passage, start, end)
    for clause in read:
        yield from _also_called(passage, clause)
        yield from _does(passage, clause)
        yield from _why(passage, clause)


def _noun_of(passage: Passage, start: int, end: int) -> Iterator[Fact]:
    """The purpose, the cause, the capital of something."""
    sentence = tidy(without_asides(passage.text[start:end])).replace('"', "").rstrip(".!")
    match = _NOUN_OF.match(sentence)
    if match is None:
        return
    noun, of, aux, rest = match.groups()
    answer = _cut(rest)
    words = len(answer.split())
    is_clear = _names(of, passage.title) and not _POINTS_BACK.search(answer)
    least = 1 if noun.split()[-1] in _OF_ONE_WORD else 3
    if (
        not is_clear
        or not least <= words <= 30
        or answer.split()[0] in ("that", "not", "a", "the", "one")
    ):
        return
    clause = _pseudo(passage, of, aux, start, end, sentence)
    said = Said("What", f"{aux} the {noun} of {{S}}", f"the {noun} of {{S}} {aux}")
    yield Fact(passage, clause, "other", answer, said=_with_keywords(said, f"{{S}} {noun}"))


_THERE = re.compile(
    r"(?:In\s(\d{4}),?\s)?[Tt]here\s(are|were)\s(?:about\s|around\s|over\s|some\s|approximately\s)?"
    r"(\d[\d,.]*(?:\s(?:million|billion|thousand))?|[a-z]+)\s((?:[a-z-]+\s){0,2}[a-z-]+s)"
    r"\sin\s((?:the\s)?[A-Z][\w'’-]*(?:\s[A-Z][\w'’-]*)*)(?=[,.;]|$)"
)


def _there_are(passage: Passage, start: int, end: int) -> Iterator[Fact]:
    """How many of something there are in a place that has a name."""
    sentence = tidy(without_asides(passage.text[start:end])).replace('"', "")
    match = _THERE.match(sentence)
    if match is None:
        return
    year, aux, number, noun, place = match.groups()
    if not number[0].isdigit() and value_of(number) is None:
        return
    when = f" in {year}" if year else ""
    clause = _pseudo(passage, place, aux, start, end, sentence)
    said = Said(
        f"How many {noun}",
        f"{aux} there in {{S}}{when}",
        f"there {aux} in {{S}}{when}",
        keywords=f"number of {noun} in {{S}}{when}",
    )
    yield Fact(passage, clause, "other", number, said=said)


_COMMAND = re.compile(r"(?:The\s)?`([^`\n]{3,40})`\s([a-z]+s)\s(.+)", re.DOTALL)


def _command(passage: Passage, start: int, end: int) -> Iterator[Fact]:
    """What a command, option or function does that is written as code."""
    raw = passage.text[start:end]
    match = _COMMAND.match(raw)
    if match is None or match[2] not in by_present() or match[2] in ("is", "has"):
        return
    answer = _cut(tidy(f"{match[2]} {match[3]}").replace("`", ""))
    if not 4 <= len(answer.split()) <= 30 or _POINTS_BACK.search(answer):
        return
    clause = _pseudo(passage, match[1], "does", start, end, raw)
    said = Said("What", "does {S} do", "{S} does", keywords="what does {S} do")
    yield Fact(passage, clause, "other", answer, said=said)


_LATIN = re.compile(
    r"(.{3,40}?)\s(?:is|are)\s(?:a\s)?(Latin|Greek|French|German|Italian|Spanish|Arabic|Japanese|Hebrew"
    r"|Sanskrit|Hindi|Chinese|Russian|Dutch|Portuguese)\s(?:word\s|term\s|phrase\s)?(?:for|meaning)\s(.+)"
)


def _foreign(passage: Passage, start: int, end: int) -> Iterator[Fact]:
    """What a foreign term means, where it is the title."""
    sentence = tidy(without_asides(passage.text[start:end])).replace('"', "").rstrip(".")
    match = _LATIN.match(sentence)
    if match is None or match[1].lower() != tidy(passage.title).lower():
        return
    answer = _cut(match[3]).strip("'` ")
    clause = _pseudo(passage, match[1], "is", start, end, sentence)
    said = Said(
        "What", "does {S} mean in English", "{S} means in English", keywords="{S} in English"
    )
    if 1 <= len(answer.split()) <= 12:
        yield Fact(passage, clause, "other", answer, said=said)


def _names(thing: str, title: str) -> bool:
    """Whether a reader knows what is meant: it has a name, is of a kind ("a myelin sheath"), or
    has the title's words.
    """
    if _VAGUE_THING.search(thing):
        own = set(thing.lower().split()) - {"the"}
        return bool(title) and own == set(title.lower().split()) - {"the"}
    return True


def _cut(text: str) -> str:
    end = _ANSWER_END.search(text)
    return (text[: end.start()] if end else text).strip(" ,.")


def _also_called(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """Another name of the subject, in brackets or between commas behind it."""
    if clause.voice != "copula":
        return
    raw = tidy(passage.text[clause.start : clause.end])
    head = raw.partition(f" {clause.aux} ")[0] + ","
    match = _ALSO.search(head)
    if match is None or "pronounced" in head:
        return
    other = match[1].strip(" '\"")
    if set(other.lower().split()) <= set(clause.subject.lower().split()) or len(other.split()) > 5:
        return
    said = Said(
        "What", "is another name for {S}", "another name for {S} is", keywords="{S} other name"
    )
    yield Fact(passage, clause, "other", other, said=said)


def _does(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """What something does, where a plain present says it; a number in it says how much, which is
    another question ("allows 100 requests a minute").
    """
    verb = clause.verb
    is_thing = clause.kind == "thing" and clause.voice == "present"
    if verb is None or not is_thing or verb.base not in _DOES or clause.adverb:
        return
    answer = _cut(f"{third_person(verb.base)} {clause.tail}")
    if not 4 <= len(answer.split()) <= 30 or _POINTS_BACK.search(answer):
        return
    if any(character.isdigit() for character in answer):
        return
    said = Said("What", "does {S} do", "{S} does", keywords="{S} function")
    yield Fact(passage, clause, "other", answer, said=said)


def _why(passage: Passage, clause: Clause) -> Iterator[Fact]:
    """The reason that stands behind a clause."""
    match = _BECAUSE.match(clause.tail[len(clause.rest) :])
    verb = clause.verb
    if match is None or verb is None or clause.voice not in ("active", "passive"):
        return
    answer = _cut(match[1])
    if not 3 <= len(answer.split()) <= 35 or not fits(clause, clause.rest):
        return
    yield Fact(passage, clause, "why", answer, clause.rest)


def _with_keywords(said: Said, keywords: str) -> Said:
    return Said(said.word, said.inverted, said.plain, said.perfect, keywords)


def _pseudo(
    passage: Passage, subject: str, aux: str, start: int, end: int, sentence: str
) -> Clause:
    return Clause(
        subject=subject,
        kind="thing",
        voice="copula",
        aux=aux,
        verb=None,
        adverb="",
        rest="",
        tail="",
        leading="",
        start=start,
        end=end,
        sentence=sentence,
    )
