"""The plan of a search, made before any call: what the labels can certify, and what it may cost.

All by the power of the paired t test (`scoring.design`) at the level that is left to one finalist
when Holm's correction is at its strictest. The spread of a row's difference comes from the share of
rows on which candidate and baseline will differ (churn) and from what a false pass and a false fail
weigh in the aim where the baseline stands; clusters widen it by their design effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.scoring import bootstrap, design
from ragassay.scoring.clusters import FEWEST
from ragassay.tuning.aim import Aim
from ragassay.tuning.certify import LEVEL
from ragassay.tuning.splits import SHARES
from ragassay.tuning.values import FloatArray, IntArray

TARGETS = (0.05, 0.1)
POWER = 0.8
CHURN = 0.2
"""Share of rows on which a candidate differs from the baseline, where nothing is known."""
ICC = 0.1
"""How alike such differences are within a cluster, where nothing is known."""
GUESS = (0.75, 0.25)
"""Share of passes, and of fails, that the baseline passes, where nothing is known."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What a gain needs: rows in the sealed part and labelled rows in all, with their clusters.

    power: with which chance the sealed rows at hand show it. rows, clusters, labelled: None where
    no number of labels that anybody makes is enough.
    """

    gain: float
    power: float
    rows: int | None
    clusters: int | None
    labelled: int | None


@dataclass(frozen=True, slots=True)
class MostSpent:
    """Calls and money that a search may take: judge and proposer, at most the cap.

    cost: None where the price of a call is not known.
    """

    calls: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What the sealed rows can certify, and what a search may spend.

    detectable: the least gain that is found with a power of .8; None where none can be. spread: of
    a row's difference. notes: what was assumed, and what a reader should know, in words.
    """

    rows: int
    clusters: int
    effective_clusters: float
    spread: float
    detectable: float | None
    needed: tuple[Needed, ...]
    spending: MostSpent
    notes: tuple[str, ...]

    @property
    def can_certify(self) -> bool:
        return self.detectable is not None

    def lines(self) -> list[str]:
        """The plan in words."""
        out = [
            f"sealed: {self.rows} rows in {self.clusters} clusters that the search never sees; one"
            " test on them, in the end, decides whether the judge changes"
        ]
        if self.detectable is None:
            out.append("  no gain, however large, can be certified on them")
        else:
            out.append(
                f"  a gain of {self.detectable:.3f} or more is certified with a chance of"
                f" {POWER:.0%} or more"
            )
        for one in self.needed:
            text = f"  a gain of {one.gain:g}: a chance of {one.power:.0%}"
            if one.rows is not None and one.power < POWER:
                text += (
                    f"; {POWER:.0%} needs {one.labelled:,} labelled rows ({one.rows:,} sealed, in"
                    f" {one.clusters:,} clusters)"
                )
            out.append(text)
        return [*out, *self.notes]

    @property
    def spending_words(self) -> str:
        """The caps: "at most 500 calls, $5.00"."""
        cost = self.spending.cost
        return f"at most {self.spending.calls:,} calls" + ("" if cost is None else f", ${cost:.2f}")


def search_plan(
    aim: Aim,
    cluster: IntArray,
    *,
    passed: float,
    max_calls: int,
    cost_of_call: float | None = None,
    max_cost: float | None = None,
    baseline: FloatArray | None = None,
    churn: float | None = None,
    icc: float | None = None,
    finalists: int = 1,
    targets: Sequence[float] = TARGETS,
    sealed_share: float = SHARES[2],
) -> SearchPlan:
    """The plan for sealed rows of these clusters.

    passed: share of rows that people pass. baseline: the baseline's binary table (4,) where it is
    known. churn, icc: of a candidate's differences, guessed where None. finalists: how many Holm's
    correction will count. sealed_share: of all labelled rows.
    """
    sizes = np.unique(cluster, return_counts=True)[1].astype(np.float64)
    notes = _assumed(baseline, churn, icc if len(sizes) < len(cluster) else 0.0)
    table = _table(passed) if baseline is None else baseline
    changed = CHURN if churn is None else churn
    spread = row_spread(aim, table, changed)
    if len(sizes) == len(cluster):
        icc = 0.0
    case = _Sealed(
        rows=len(cluster),
        sizes=sizes,
        spread=spread,
        row_worth=spread / math.sqrt(changed),
        icc=ICC if icc is None else icc,
        level=1 - 2 * LEVEL / finalists,
    )
    detectable = case.detectable()
    if case.effective_clusters < FEWEST:
        few = f"{case.effective_clusters:.3g} effective clusters are too few for a certificate"
        notes.append(
            f"{few} ({FEWEST} are needed): label rows of more documents or questions, or seal more"
            " of them (--split)"
        )
        detectable = None
    needed = tuple(_needed(case, gain, sealed_share, detectable is None) for gain in targets)
    return SearchPlan(
        rows=len(cluster),
        clusters=len(sizes),
        effective_clusters=case.effective_clusters,
        spread=spread,
        detectable=detectable,
        needed=needed,
        spending=_spending(max_calls, cost_of_call, max_cost),
        notes=tuple(notes),
    )


def row_spread(aim: Aim, table: FloatArray, churn: float) -> float:
    """Standard deviation of one row's part in a gain, where a share `churn` of the rows changes.

    A row that people pass moves the aim's value by the weight of a false fail, one that they fail
    by that of a false pass, up or down.
    """
    false_pass, false_fail = aim.weights(table)
    n = float(table.sum())
    passed = float(table[0] + table[2]) / n
    return math.sqrt(churn * (passed * false_fail**2 + (1 - passed) * false_pass**2))


@dataclass(frozen=True, slots=True)
class _Sealed:
    """Sealed rows: their clusters' sizes, the spread of a row, and the level of the test.

    row_worth: what one row that changes moves the value by, times the rows.
    """

    rows: int
    sizes: FloatArray
    spread: float
    row_worth: float
    icc: float
    level: float

    @property
    def effective_clusters(self) -> float:
        return bootstrap.effective(self.sizes)

    @property
    def cluster_size(self) -> float:
        """Rows of a cluster, weighted by rows: what unequal clusters cost is in it."""
        return float((self.sizes**2).sum() / self.sizes.sum())

    @property
    def effect(self) -> float:
        """The design effect of the clusters (Kish 1965)."""
        return 1 + (self.cluster_size - 1) * self.icc

    def power(self, gain: float, rows: float) -> float:
        """The chance that so many rows, of clusters like these, show this gain."""
        freedom = rows / self.cluster_size - 1
        if freedom < 1:
            return 0.0
        # The differences' own mean is no spread.
        variance = max(self.spread**2 - gain**2, gain**2 * 0.01)
        error = math.sqrt(variance * self.effect / rows)
        # An exact test counts whole rows, which costs it one on average (Fleiss 1981).
        seen = max(0.0, gain - self.row_worth / rows)
        return design.noncentral_power(seen / error, freedom, self.level)

    def detectable(self) -> float | None:
        """The least gain with a power of `POWER`; None where there is none."""
        low, high = 0.0, self.spread
        if self.power(high, self.rows) < POWER:
            return None
        for _ in range(40):
            middle = (low + high) / 2
            if self.power(middle, self.rows) >= POWER:
                high = middle
            else:
                low = middle
        return high

    def rows_for(self, gain: float) -> int | None:
        """The fewest rows of clusters like these with a power of `POWER`."""
        high = math.ceil(2 * self.cluster_size) + 1
        while self.power(gain, high) < POWER:
            high *= 2
            if high > design.MOST_LABELS:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.power(gain, middle) >= POWER:
                high = middle
            else:
                low = middle
        return high


def _needed(case: _Sealed, gain: float, sealed_share: float, hopeless: bool) -> Needed:
    power = 0.0 if hopeless else case.power(gain, case.rows)
    rows = case.rows_for(gain)
    if rows is None:
        return Needed(gain, power, None, None, None)
    # At least the clusters without which nothing is certified.
    mean_size = case.rows / len(case.sizes)
    rows = max(rows, math.ceil(FEWEST * case.cluster_size))
    clusters = math.ceil(rows / mean_size)
    return Needed(gain, power, rows, clusters, math.ceil(rows / sealed_share))


def _table(passed: float) -> FloatArray:
    """A usual baseline's table of one row."""
    hits, false_alarms = GUESS
    return 1000 * np.array(
        [
            passed * hits,
            (1 - passed) * false_alarms,
            passed * (1 - hits),
            (1 - passed) * (1 - false_alarms),
        ]
    )


def _assumed(baseline: FloatArray | None, churn: float | None, icc: float | None) -> list[str]:
    out = []
    if baseline is None:
        out.append(f"the baseline is taken to be right on {GUESS[0]:.0%} of the rows")
    if churn is None:
        out.append(f"a candidate is taken to change {CHURN:.0%} of the verdicts")
    if icc is None:
        out.append(f"changes are taken to be alike within clusters by {ICC:g} (ICC)")
    return [f"assumed: {'; '.join(out)}"] if out else []


def _spending(max_calls: int, cost_of_call: float | None, max_cost: float | None) -> MostSpent:
    calls = max_calls
    if cost_of_call and max_cost is not None:
        calls = min(calls, int(max_cost / cost_of_call))
    if cost_of_call is None:
        return MostSpent(calls, max_cost)
    return MostSpent(calls, calls * cost_of_call)
