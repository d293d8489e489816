"""A name that the claim gives to what the passages tell of another: "Tom Brandt runs the Berlin
office", where Anna Weiss runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import Name, same_name
from ragassay.models.offline.facts.segments import Segment, doers, segments
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_LEAST, _AHEAD = 0.4, 0.2
"""Share of what the claim says of the name that the segment of another one has, and by how much
more than what is told of the name itself. Chosen on dev rows and on half of the planted faults.
"""

_BESIDE_ANOTHER, _BEHIND = 0.4, 0.8
"""What a segment says for a name of its sentence that is not its own, and what the sentence behind
one says, if a pronoun may stand for the name.
"""

_PRONOUNS = word_set("pronouns")
_LINKS = word_set("links")
_FRONTED = 4
"""Words of a place that is named before its clause."""

_GAP = 24
"""Characters between two names of which one may say what the other one is."""


class _Told(NamedTuple):
    """A segment of a passage, and how much of what the claim says it has."""

    passage: int
    segment: Segment
    share: float


class _Match(NamedTuple):
    """Another name of which the passages tell what the claim says of one."""

    told: _Told
    name: Name


class ToldOfAnother:
    """The rule over one claim and its passages. names: of the claim; of_passages: of each passage;
    asked: of the question; weight: how rare a stem is.
    """

    def __init__(
        self,
        claim: TextFacts,
        names: Sequence[Name],
        passages: Sequence[TextFacts],
        of_passages: Sequence[Sequence[Name]],
        asked: Sequence[Name],
        weight: Callable[[str], float],
    ) -> None:
        self._claim, self._passages, self._asked, self._weight = claim, passages, asked, weight
        self._mine = sorted([*names, *doers(claim)])
        self._segments: list[Sequence[Segment]] = []
        if self._mine:
            for passage, theirs in zip(passages, of_passages, strict=True):
                self._segments.append(passage.once_of(_segments, theirs))

    def findings(self) -> list[Finding]:
        """The names of the claim of which the passages do not tell what it says, and of another one
        they do.
        """
        found: list[Finding] = []
        for name in self._mine:
            if _is_any(name, self._asked):
                continue
            other = self._other(name)
            if other is None:
                continue
            told, stranger = other
            passage = self._passages[told.passage]
            place = Place(told.passage, *passage.sentence(stranger.start))
            said = self._claim.reading.text[name.start : name.end]
            says = passage.reading.text[stranger.start : stranger.end]
            found.append(
                Finding("name", CONFLICT, name.start, name.end, said, says, place, told.share)
            )
        return found

    def _other(self, name: Name) -> _Match | None:
        """The other name; None where the passages may tell it of this one."""
        words = self._said_of(name)
        own, best = 0.0, 0.0
        other: _Match | None = None
        for told in self._told(words):
            own = max(own, told.share * self._belongs(name, told))
            if told.share <= best or _is_any(name, told.segment.names):
                continue
            stranger = self._stranger(name, told)
            if stranger is not None:
                best, other = told.share, _Match(told, stranger)
        least = _LEAST if len(words) > 1 else 1.0
        return other if words and best >= least and best - own >= _AHEAD else None

    def _said_of(self, name: Name) -> Mapping[str, float]:
        """The other content words of the clause of a name, each with how rare it is."""
        reading = self._claim.reading
        start, end = self._clause_of(name)
        words: dict[str, float] = {}
        for word in reading.words_in(start, end):
            if word.content and not name.start <= word.start < name.end:
                words[word.stem] = self._weight(word.stem)
        return words

    def _clause_of(self, name: Name) -> tuple[int, int]:
        """Start and end of the clause of a name, with the place that is named before it: "In Lyon,
        requests are approved by Oduya".
        """
        reading = self._claim.reading
        clause = reading.clause_at(name.start)
        start, end = reading.clauses[clause]
        same = reading.sentence_of_clause
        if clause and same[clause - 1] == same[clause]:
            before = reading.words_in(*reading.clauses[clause - 1])
            if before and before[0].lower in _LINKS and len(before) <= _FRONTED:
                start = reading.clauses[clause - 1][0]
        return start, end

    def _told(self, words: Mapping[str, float]) -> list[_Told]:
        """The segments of the passages that have words of the claim."""
        total = sum(words.values()) or 1.0
        found: list[_Told] = []
        for number, of_passage in enumerate(self._segments):
            for segment in of_passage:
                shared = sum(words[stem] for stem in words.keys() & segment.stems)
                if shared:
                    found.append(_Told(number, segment, shared / total))
        return found

    def _belongs(self, name: Name, told: _Told) -> float:
        """How far what a segment says may be said of a name, from 0 to 1."""
        segment = told.segment
        if _is_any(name, segment.names):
            return 1.0
        best = 0.0
        for other in self._segments[told.passage]:
            distance = segment.sentence - other.sentence
            if distance in (0, 1) and _is_any(name, other.names):
                if distance == 0:
                    best = max(best, _BESIDE_ANOTHER if segment.names else 1.0)
                elif self._has_pronoun(told):
                    best = max(best, _BEHIND)
        return best

    def _has_pronoun(self, told: _Told) -> bool:
        """Whether a pronoun of a sentence may stand for somebody of the one before."""
        passage = self._passages[told.passage]
        start, end = passage.reading.sentences[told.segment.sentence]
        return any(word.lower in _PRONOUNS for word in passage.reading.words_in(start, end))

    def _stranger(self, name: Name, told: _Told) -> Name | None:
        """A name of the segment that does there what the claim's does, where its sentence names the
        claim's too, so that the two are told apart.
        """
        segment = told.segment
        beside = (s for s in self._segments[told.passage] if s.sentence == segment.sentence)
        if not any(_is_any(name, each.names) for each in beside):
            return None
        passage = self._passages[told.passage]
        mine = _part_of(self._claim, name)
        start, end = self._clause_of(name)
        beside_mine = [each for each in self._mine if start <= each.start < end]
        for each in segment.names:
            if _is_any(each, (*beside_mine, *self._asked)) or _part_of(passage, each) != mine:
                continue
            if passage.clause_denies(each.start) != self._claim.clause_denies(name.start):
                continue
            if not self._describes(passage, each, segment.names):
                return each
        return None

    def _describes(self, passage: TextFacts, name: Name, others: Collection[Name]) -> bool:
        """Whether a name only says what another one is that the claim has: "the English band
        Depeche Mode".
        """
        for other in others:
            if 0 < other.start - name.end <= _GAP and _is_any(other, self._mine):
                words = passage.reading.words_in(name.end, other.start)
                if all(word.content for word in words):
                    return True
        return False


def _segments(text: TextFacts, names: Sequence[Name]) -> Sequence[Segment]:
    """The segments of a text by its names, and by the words for who does something."""
    return segments(text, sorted([*names, *doers(text)]))


def _is_any(name: Name, others: Collection[Name]) -> bool:
    return any(same_name(name, other) for other in others)


def _part_of(text: TextFacts, name: Name) -> str:
    """The word that says what a name does in its clause: "in", "to", or the verb before it; "" for
    one that opens it, as a doer does, and after "by".
    """
    reading = text.reading
    start = reading.clauses[reading.clause_at(name.start)][0]
    before = reading.words_in(start, name.start)
    if not any(word.content for word in before):
        last = before[-1].lower if before else ""
        return last if last in _LINKS else ""
    last = before[-1].lower
    if last in ("the", "a", "an") and len(before) > 1:
        last = before[-2].lower
    return "" if last == "by" else last
