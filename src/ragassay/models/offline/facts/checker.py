"""The reader of facts over the calls of the offline model: which texts it reads, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ragassay.core import MatchCall
from ragassay.models.offline.facts.agreeing import facts_agree
from ragassay.models.offline.facts.bare_yes import asked_and_affirmed
from ragassay.models.offline.facts.cache import FactsCache
from ragassay.models.offline.facts.comparisons import compares_alike
from ragassay.models.offline.facts.computed_comparisons import computed_comparisons
from ragassay.models.offline.facts.denied_alike import denied_alike
from ragassay.models.offline.facts.finding import CONFLICT, Finding
from ragassay.models.offline.facts.meaning import ClauseMeaning, told_share
from ragassay.models.offline.facts.reader import FactReader
from ragassay.models.offline.facts.retold import Change, Retold, retold
from ragassay.models.offline.facts.unreadable import unreadable
from ragassay.models.offline.features import Rarity
from ragassay.models.offline.reading import PassageIndex
from ragassay.models.offline.windows import scores

MOST_READ = 60_000
"""Characters of the passages that are read whole; of longer ones only the sentences nearest to the
claim are read.
"""

_MOST_SENTENCES = 60

LONGEST_TOLD = 4_000
"""Characters of a text at most of which it is asked how much stands in one sentence."""


class _Piece(NamedTuple):
    """A piece of a passage, and where it begins in it."""

    passage: int
    start: int
    text: str


class FactChecker:
    """Finds what claims say that their passages deny or do not hold. Safe across threads."""

    def __init__(self, rarity: Rarity) -> None:
        self._rarity = rarity
        self._cache = FactsCache()

    def findings(self, call: MatchCall, passages: PassageIndex) -> list[Finding]:
        """The findings of a call; conflicts first, the surest one first."""
        is_whole = sum(map(len, passages.passages)) <= MOST_READ
        pieces = self._whole(passages) if is_whole else self._nearest(call.text, passages)
        affirmed = asked_and_affirmed(call.text, call.question)
        reader = FactReader(
            self._cache.of(affirmed or call.text),
            [self._cache.of(piece.text) for piece in pieces],
            self._cache.of("" if affirmed else call.question or ""),
            self._rarity,
        )
        found: list[Finding] = []
        for finding in reader.findings():
            if affirmed:
                finding = replace(finding, start=0, end=len(call.text))
            # Of what was not read nobody knows what it does not hold.
            if is_whole or finding.status == CONFLICT:
                found.append(_moved(finding, pieces))
        return sorted(found, key=_order)

    def retold(self, call: MatchCall, passages: PassageIndex) -> Retold:
        """The claim with its amounts and dates as the passages write them; of a bare "yes" what was
        asked.
        """
        affirmed = asked_and_affirmed(call.text, call.question)
        if affirmed:
            return Retold(call.text, (Change(0, len(call.text), affirmed),))
        if sum(map(len, passages.passages)) > MOST_READ:
            return Retold(call.text, ())
        read = [self._cache.of(text) for text in passages.passages]
        return retold(self._cache.of(call.text), read)

    def agree(self, call: MatchCall, passages: PassageIndex) -> bool:
        """Whether the claim gives amounts or dates, and the passages have all of them."""
        if sum(map(len, passages.passages)) > MOST_READ:
            return False
        read = [self._cache.of(text) for text in passages.passages]
        return facts_agree(self._cache.of(call.text), read)

    def says_alike(self, call: MatchCall, passages: PassageIndex) -> bool:
        """Whether the claim denies what the passages deny, or compares as their amounts do."""
        if sum(map(len, passages.passages)) > MOST_READ or len(call.text) > LONGEST_TOLD:
            return False
        claim = self._cache.of(call.text)
        read = [self._cache.of(text) for text in passages.passages]
        if any(each.agrees for each in computed_comparisons(claim, read)):
            return True
        if compares_alike(claim, read):
            return True
        return denied_alike(claim, read, self._rarity.of_stem)

    def sentences(self, claim: str) -> int:
        """How many sentences the claim has."""
        return len(self._cache.of(claim).reading.sentences)

    def told(self, call: MatchCall, passages: PassageIndex) -> float:
        """How much of the claim stands together in a sentence of the passages."""
        if len(call.text) > LONGEST_TOLD or sum(map(len, passages.passages)) > MOST_READ:
            return 0.0
        claim = self._cache.of(call.text)
        said: dict[int, list[ClauseMeaning]] = {}
        for clause in claim.meanings:
            said.setdefault(clause.sentence, []).append(clause)
        read = [self._cache.of(text).meanings for text in passages.passages]
        return told_share(list(said.values()), read, self._rarity.of_stem)

    def unreadable(
        self, call: MatchCall, passages: PassageIndex, findings: Sequence[Finding]
    ) -> str:
        """Why the claim cannot be judged, by the name of its figure; "" where it can."""
        if sum(map(len, passages.passages)) > MOST_READ:
            return ""
        read = [self._cache.of(text) for text in passages.passages]
        question = self._cache.of(call.question or "")
        return unreadable(self._cache.of(call.text), question, read, findings)

    def _whole(self, passages: PassageIndex) -> list[_Piece]:
        return [_Piece(number, 0, text) for number, text in enumerate(passages.passages)]

    def _nearest(self, claim: str, passages: PassageIndex) -> list[_Piece]:
        """The sentences that share most with the claim, in their order."""
        odds = scores(claim, passages, self._rarity)
        nearest = np.argsort(-odds, kind="stable")[:_MOST_SENTENCES]
        pieces: list[_Piece] = []
        for unit in sorted(map(int, nearest)):
            passage, start, end = map(int, passages.places[unit])
            pieces.append(_Piece(passage, start, passages.passages[passage][start:end]))
        return pieces


def _moved(finding: Finding, pieces: Sequence[_Piece]) -> Finding:
    """The finding with its place in the passage and not in the piece of it."""
    if finding.place is None:
        return finding
    number, start, end = finding.place
    piece = pieces[number]
    place = finding.place._replace(
        passage=piece.passage, start=start + piece.start, end=end + piece.start
    )
    return replace(finding, place=place)


def _order(finding: Finding) -> tuple[bool, float]:
    return finding.status != CONFLICT, -finding.score
