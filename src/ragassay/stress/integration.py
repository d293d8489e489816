"""Information integration: which sub-facts a response takes from several passages, and what goes
where a passage is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.core import Interval
from ragassay.scoring import MeanAccumulator
from ragassay.stress.figures import Contrast, Pair, contrast, corrected
from ragassay.stress.levels import CLEAN, without
from ragassay.stress.outcomes import MOST_READ, Outcome, Outcomes
from ragassay.stress.subfacts import SubFact, Told, sources_of, told

MOST_SOURCES = 5


@dataclass(frozen=True, slots=True)
class FactRate:
    """A share of sub-facts: the mean over rows. hits: facts that are counted in it; of: how many
    there are. rows: ids of the rows that have one.
    """

    name: str
    value: float | None
    interval: Interval | None
    hits: int
    of: int
    rows: tuple[str, ...] = ()

    @property
    def low(self) -> float:
        """The lower end of the interval, 0 where there is none."""
        return 0.0 if self.interval is None else self.interval.low


@dataclass(frozen=True, slots=True)
class IntegrationResult:
    """The whole test.

    found, omitted, merged: shares of the sub-facts with all passages there. by_source: share found
    of the facts of the first, second ... source of a row. first_to_later: found of the first source
    beside those of later ones, paired. others_without: what becomes of the other facts where a
    source is removed, paired. told_without: share of a removed source's facts that are told all the
    same.
    """

    rows: int
    found: FactRate
    omitted: FactRate
    merged: FactRate
    by_source: tuple[FactRate, ...]
    first_to_later: Contrast
    others_without: Contrast
    told_without: FactRate


_Item = tuple[str, str, bool]
"""(id of the row, cluster, whether it holds) of one sub-fact."""


def integration_result(outcomes: Outcomes) -> IntegrationResult | None:
    """The test of integration, None where no row is in it."""
    plan = outcomes.plan
    if not plan.facts:
        return None
    read = _Reading(outcomes)
    for row in plan.rows:
        facts = plan.facts.get(row.id)
        clean = outcomes.get(row.id, CLEAN[0])
        if facts and clean is not None:
            read.take(row.id, row.cluster, facts, clean)
    first, others = corrected(
        [
            contrast("facts of the first source to those of later ones", read.first_to_later),
            contrast("the other facts without a source", read.others),
        ]
    )
    return IntegrationResult(
        read.rows,
        _fact_rate("found", read.of(Told.FOUND)),
        _fact_rate("omitted", read.of(Told.OMITTED)),
        _fact_rate("wrongly merged", read.of(Told.MERGED)),
        tuple(_fact_rate(f"source {n + 1}", items) for n, items in enumerate(read.by_source)),
        first,
        others,
        _fact_rate("told without its source", read.told_without),
    )


class _Reading:
    """What was told, collected row by row."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self.rows = 0
        self._told: list[tuple[str, str, Told]] = []
        self.by_source: list[list[_Item]] = []
        self.first_to_later: list[Pair] = []
        self.others: list[Pair] = []
        self.told_without: list[_Item] = []

    def of(self, what: Told) -> Iterable[_Item]:
        """The sub-facts, and whether this became of them."""
        return ((row, cluster, one is what) for row, cluster, one in self._told)

    def take(self, row_id: str, cluster: str, facts: tuple[SubFact, ...], clean: Outcome) -> None:
        """Take what the responses of one row tell."""
        self.rows += 1
        here = [_told(fact, facts, clean) for fact in facts]
        self._told += [(row_id, cluster, one) for one in here]
        sources = sources_of(facts)
        found_by_source: list[float] = []
        for place, source in enumerate(sources[:MOST_SOURCES]):
            first_there = [n for n, fact in enumerate(facts) if fact.sources[0] == source]
            own = [here[n] is Told.FOUND for n in first_there]
            if not own:
                continue
            while len(self.by_source) <= place:
                self.by_source.append([])
            self.by_source[place] += [(row_id, cluster, one) for one in own]
            found_by_source.append(sum(own) / len(own))
        if len(found_by_source) > 1:
            later = found_by_source[1:]
            self.first_to_later.append(
                (row_id, cluster, found_by_source[0], sum(later) / len(later))
            )
        self._take_removed(row_id, cluster, facts, here, sources)

    def _take_removed(
        self,
        row_id: str,
        cluster: str,
        facts: tuple[SubFact, ...],
        here: list[Told],
        sources: list[int],
    ) -> None:
        before: list[float] = []
        after: list[float] = []
        for source in sources:
            outcome = self._outcomes.get(row_id, without(source))
            if outcome is None:
                continue
            for fact, was in zip(facts, here, strict=True):
                now = _told(fact, facts, outcome) is Told.FOUND
                if fact.sources == (source,):
                    self.told_without.append((row_id, cluster, now))
                else:
                    before.append(float(was is Told.FOUND))
                    after.append(float(now))
        if before:
            self.others.append(
                (row_id, cluster, sum(before) / len(before), sum(after) / len(after))
            )


def _told(fact: SubFact, facts: tuple[SubFact, ...], outcome: Outcome) -> Told:
    if outcome.response is None:
        return Told.OMITTED
    return told(fact, facts, outcome.response[:MOST_READ])


def _fact_rate(name: str, items: Iterable[_Item]) -> FactRate:
    """The mean over rows of the share of a row's sub-facts. Facts of one row depend on each other:
    a row is the unit, and pooled facts would give too wide an interval or too narrow a one.
    """
    shares: dict[str, tuple[int, int]] = {}
    clusters: dict[str, str] = {}
    for row_id, cluster, holds in items:
        hits, of = shares.get(row_id, (0, 0))
        shares[row_id] = (hits + holds, of + 1)
        clusters[row_id] = cluster
    means = MeanAccumulator()
    for row_id, (hits, of) in shares.items():
        means.add(hits / of, clusters[row_id])
    found = means.result()
    rows = tuple(row_id for row_id, (hits, _) in shares.items() if hits)
    total = sum(of for _, of in shares.values())
    told = sum(hits for hits, _ in shares.values())
    return FactRate(name, found.mean, found.interval, told, total, rows)
