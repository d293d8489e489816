"""Which of two things is more by the amounts that the passages give of them: "comics can be kept
longer than books", where books are lent for two weeks and comics for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading
from ragassay.models.offline.facts.comparisons import Comparison, comparisons
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.quantities import COUNT, ORDINAL, Quantity
from ragassay.models.offline.facts.text_facts import TextFacts

_MEASURES = {
    "larger": ("area", "volume", "mass", "length", "data"),
    "more expensive": ("money",),
    "heavier": ("mass",),
    "longer": ("time", "length"),
    "older": ("time",),
    "hotter": ("temperature",),
    "wider": ("length",),
    "deeper": ("length",),
    "thicker": ("length",),
    "higher": ("length", "percent", "money", "temperature"),
}
"""Kind of comparison -> the measures whose larger amount is more of it."""

_OF_ALL_MEASURES = "more"
_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, too many amounts stand beside each thing."""


class Computed(NamedTuple):
    """A comparison of the claim beside two amounts of a sentence of a passage. agrees: whether they
    say the same.
    """

    mine: Comparison
    passage: int
    start: int
    agrees: bool


def computed_comparisons(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Computed]:
    """The comparisons of the claim that amounts of the passages decide, each once."""
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    found: list[Computed] = []
    for mine in comparisons(claim):
        each = list(_decided(mine, passages))
        if each and len({one.agrees for one in each}) == 1:
            found.append(each[0])
    return found


def turned(
    claim: TextFacts, passages: Sequence[TextFacts], computed: Sequence[Computed]
) -> list[Finding]:
    """The comparisons that the amounts tell the other way round."""
    found: list[Finding] = []
    for each in computed:
        if each.agrees:
            continue
        passage = passages[each.passage]
        place = Place(each.passage, *passage.sentence(each.start))
        start, end = each.mine.start, each.mine.end
        said = claim.reading.text[start:end]
        says = passage.reading.text[place.start : place.end]
        found.append(Finding("comparison", CONFLICT, start, end, said, says, place, 1.0))
    return found


def _decided(mine: Comparison, passages: Sequence[TextFacts]) -> Iterator[Computed]:
    for number, passage in enumerate(passages):
        amounts = [each for each in passage.quantities if _is_of(mine, each)]
        for one in amounts:
            for other in amounts:
                if one is other or not _are_told_together(passage.reading, one, other):
                    continue
                if one.low > other.high and one.measure == other.measure:
                    is_first_more = _whose(mine, passage, one, other)
                    if is_first_more is not None:
                        agrees = is_first_more == (mine.sign > 0)
                        yield Computed(mine, number, one.start, agrees)


def _is_of(mine: Comparison, amount: Quantity) -> bool:
    """Whether a larger amount is more of what is compared."""
    if mine.kind.split()[0] == _OF_ALL_MEASURES and mine.kind not in _MEASURES:
        return amount.measure not in (ORDINAL, "temperature")
    measures = _MEASURES.get(mine.kind, ())
    of_noun = amount.measure == COUNT and mine.kind in ("larger", "higher")
    return amount.measure.split(":")[0] in measures or of_noun


def _are_told_together(reading: Reading, one: Quantity, other: Quantity) -> bool:
    """Whether two amounts stand in two clauses of one sentence."""
    if reading.sentence_at(one.start) != reading.sentence_at(other.start):
        return False
    return reading.clause_at(one.start) != reading.clause_at(other.start)


def _whose(mine: Comparison, passage: TextFacts, more: Quantity, less: Quantity) -> bool | None:
    """Whether the larger of two amounts is that of the first thing compared; None where it cannot
    be told.
    """
    of_more = passage.stems_by_clause.get(passage.reading.clause_at(more.start), frozenset())
    of_less = passage.stems_by_clause.get(passage.reading.clause_at(less.start), frozenset())
    first, second = mine.first - mine.second, mine.second - mine.first
    only_more, only_less = of_more - of_less, of_less - of_more
    straight = bool(first & only_more) and bool(second & only_less)
    crossed = bool(first & only_less) and bool(second & only_more)
    return None if straight == crossed else straight
