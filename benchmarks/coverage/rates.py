"""Coverage of the intervals of rates, means and paired differences; errors of the tests.

Worlds with known truth (see `simulate`), from lone rows to two giants among dwarfs; and real labels
as the population: questions with all answers to them are drawn with replacement, and the mean over
all of them is the truth. Beside the clustered interval stands the one that takes rows for
independent, as most tools do. Tests are shown as 1 - error rate where nothing differs (or, of
equivalence, where the difference is just the margin).
"""

from __future__ import annotations

import gzip
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import orjson
from benchmarks.coverage.simulate import (
    GATE,
    Cell,
    Floats,
    Ints,
    binary,
    bounded,
    cell_of,
    codes,
    counts,
    normal,
    pairs,
    sizes,
)

from ragassay.core import Interval
from ragassay.scoring import (
    MeanAccumulator,
    clustered_rate_interval,
    gap_to_rest,
    paired_difference,
    rate_interval,
)
from ragassay.scoring.hypotheses import clustered_mcnemar, equivalent_means, equivalent_rates

DATA = Path(
    os.environ.get("RAGASSAY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
FEW: dict[str, list[int]] = {
    "two of one size": [15, 15],
    "three of 40, 20 and 5": [40, 20, 5],
    "one giant of ten": [50, *[5] * 9],
    "two giants among thirty": [100, 100, *[1] * 30],
    "three giants among thirty": [60, 60, 60, *[2] * 30],
    "each twice the last": [1, 2, 4, 8, 16, 32, 64],
}
"""Clusters as hard as they come."""
BEYOND = "icc beyond .4: all rows of a cluster alike, few of them giants"


def cells(dose: str, seed: int) -> Iterator[Cell]:
    """Every cell of a dose, one quantity after the other."""
    full = dose == "full"
    yield from _lone_rates(np.random.default_rng([seed, 0]), full)
    yield from _clustered_rates(np.random.default_rng([seed, 1]), full)
    yield from _means(np.random.default_rng([seed, 2]), full)
    yield from _differences(np.random.default_rng([seed, 3]), full)
    yield from _tests(np.random.default_rng([seed, 4]), full)
    yield from _resampled(np.random.default_rng([seed, 5]), full)


def _lone_rates(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    trials = 20_000 if full else 2000
    for n, rate in (
        product((30, 50, 100, 300, 1000, 2000), (0.02, 0.1, 0.3, 0.5, 0.9, 0.98))
        if full
        else ((50, 0.1), (300, 0.98))
    ):
        known = [rate_interval(successes, n) for successes in range(n + 1)]
        exact = sum(
            math.exp(
                math.lgamma(n + 1)
                - math.lgamma(x + 1)
                - math.lgamma(n - x + 1)
                + x * math.log(rate)
                + (n - x) * math.log1p(-rate)
            )
            for x, i in enumerate(known)
            if i is not None and i.low <= rate <= i.high
        )
        reason = (
            f"counts move in steps: worked out, Wilson's interval holds {exact:.4f} here"
            if exact < GATE
            else ""
        )
        drawn = (known[int(x)] for x in rng.binomial(n, rate, trials))
        yield cell_of(
            "rate", "Wilson", rate, drawn, n=n, gate=None if reason else GATE, reason=reason
        )


def _clustered_rates(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    trials = 2000 if full else 300
    shapes = [
        (f"{n} rows in {g}", sizes(n, g, spread=spread), spread)
        for n, g, spread in (
            (30, 10, 0.0),
            (100, 20, 0.0),
            (300, 60, 0.0),
            (300, 15, 0.0),
            (2000, 100, 0.0),
            (2000, 25, 0.0),
            (100, 20, 1.0),
            (300, 60, 1.0),
            (300, 30, 1.0),
            (2000, 100, 1.0),
        )
    ]
    grid = [
        (s, rate, icc)
        for s, rate, icc in product(shapes, (0.02, 0.1, 0.5, 0.9, 0.98), (0.0, 0.1, 0.4))
    ]
    hard = [
        ((name, np.array(few), 0.0), rate, icc)
        for (name, few), rate, icc in product(FEW.items(), (0.1, 0.5, 0.8), (0.1, 0.4, 0.99))
    ]
    for (name, shape, spread), rate, icc in grid + hard if full else [grid[20], grid[41], hard[30]]:
        method = (
            f"clustered, {name}"
            if name in FEW
            else f"clustered, {'unequal' if spread else 'equal'} sizes"
        )
        found = (
            clustered_rate_interval(
                zip(map(int, counts(rng, shape, rate, icc)), map(int, shape), strict=True)
            )
            for _ in range(trials)
        )
        yield cell_of(
            "rate",
            method,
            rate,
            found,
            n=int(shape.sum()),
            clusters=len(shape),
            icc=icc,
            gate=None if icc > 0.4 else GATE,
            reason=BEYOND if icc > 0.4 else "",
        )


def _mean(
    values: Floats, cluster: Ints | None, low: float | None = 0.0, high: float | None = 1.0
) -> Interval | None:
    seen = MeanAccumulator(low, high)
    if cluster is None:
        for value in values.tolist():
            seen.add(value)
    else:
        for value, name in zip(values.tolist(), map(str, cluster.tolist()), strict=True):
            seen.add(value, name)
    return seen.result().interval


def _means(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    worlds = [
        (n, g, spread, icc)
        for n, g, spread, icc in (
            (30, 30, 0.0, 0.0),
            (100, 100, 0.0, 0.0),
            (300, 300, 0.0, 0.0),
            (2000, 2000, 0.0, 0.0),
            (30, 10, 0.0, 0.2),
            (100, 20, 0.0, 0.1),
            (100, 20, 1.0, 0.4),
            (300, 60, 1.0, 0.2),
            (300, 15, 0.0, 0.4),
            (2000, 100, 1.0, 0.4),
        )
    ]
    for (n, g, spread, icc), truth in product(
        worlds if full else worlds[4:6], (0.5, 0.9, 0.98) if full else (0.5,)
    ):
        shape = sizes(n, g, spread=spread)
        cluster = codes(shape) if g < n else None
        trials = (2000 if n <= 300 else 500) if full else 300
        found = (_mean(bounded(rng, shape, truth, icc), cluster) for _ in range(trials))
        yield cell_of(
            "mean of values in [0, 1]",
            "t"
            if cluster is None
            else f"cluster-robust t, {'unequal' if spread else 'equal'} sizes",
            truth,
            found,
            n=n,
            clusters=g,
            icc=icc,
        )
    for (name, few), icc in product(FEW.items(), (0.0, 0.1, 0.4, 0.99)) if full else ():
        shape = np.array(few)
        found = (_mean(normal(rng, shape, 0.0, icc), codes(shape), None, None) for _ in range(2000))
        yield cell_of(
            "mean of normal values",
            f"cluster-robust t, {name}",
            0.0,
            found,
            n=sum(few),
            clusters=len(few),
            icc=icc,
        )


def _differences(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    worlds = (
        (30, 30, 0.0),
        (100, 100, 0.0),
        (300, 300, 0.0),
        (100, 20, 0.1),
        (300, 60, 0.4),
        (2000, 100, 0.2),
    )
    grid = [
        (w, rate, r, shift)
        for w, rate, r, shift in product(worlds, (0.5, 0.9, 0.98), (0.0, 0.5, 0.95), (0.0, 0.3))
    ]
    for (n, g, icc), rate, correlation, shift in grid if full else [grid[28], grid[64]]:
        shape = sizes(n, g, spread=0.7 if icc == 0.4 else 0.0)
        names: list[str | None] = [str(c) for c in codes(shape).tolist()] if g < n else [None] * n
        cut = NormalDist().inv_cdf(1 - rate)
        truth = NormalDist().cdf(shift - cut) - rate
        trials = (1500 if n < 300 else 600 if n == 300 else 300) if full else 200

        def one() -> Interval | None:
            a, b = pairs(rng, shape, correlation, icc)  # noqa: B023 - called at once
            rows = zip(
                (a > cut).astype(float).tolist(),  # noqa: B023
                (b + shift > cut).astype(float).tolist(),  # noqa: B023
                names,  # noqa: B023
                strict=True,
            )
            return paired_difference(rows).interval

        yield cell_of(
            "difference of two rates, paired",
            "t" if g == n else "cluster-robust t",
            truth,
            (one() for _ in range(trials)),
            n=n,
            clusters=g,
            prevalence=rate,
            icc=icc,
            correlation=correlation,
        )


def _tests(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    """coverage = 1 - share of false alarms at 5 %."""

    def cell(
        quantity: str,
        method: str,
        p: list[float | None],
        n: int,
        g: int,
        icc: float,
        prevalence: float,
    ) -> Cell:
        known = [x for x in p if x is not None]
        right = sum(x >= 0.05 for x in known) / max(1, len(known))
        return Cell(
            quantity, method, n, g, prevalence, icc, 0.0, len(p), len(known) / len(p), right, 0.0
        )

    trials = 2000 if full else 300
    for n, g, icc in (
        ((50, 50, 0.0), (100, 20, 0.2), (300, 60, 0.4), (300, 30, 0.4))
        if full
        else ((100, 20, 0.2),)
    ):
        shape = sizes(n, g, spread=0.7)
        mids: list[float | None] = []
        exacts: list[float | None] = []
        for _ in range(trials):
            wins = counts(rng, shape, 0.1, icc)
            losses = np.minimum(counts(rng, shape, 0.1, icc), shape - wins)
            flip = rng.random(g) < 0.5  # exchangeable: which of the two is first is a coin's doing
            wins, losses = np.where(flip, losses, wins), np.where(flip, wins, losses)
            test = clustered_mcnemar(zip(wins.tolist(), losses.tolist(), strict=True))
            mids.append(test.mid_p)
            exacts.append(test.exact)
        yield cell("false alarms of a test", "McNemar, clusters, mid-p", mids, n, g, icc, 0.2)
        yield cell("false alarms of a test", "McNemar, clusters, exact", exacts, n, g, icc, 0.2)
        names = [str(c) for c in codes(shape).tolist()]
        tost: list[float | None] = []
        for _ in range(trials // 2):
            d = 0.05 + 0.2 * normal(rng, shape, 0.0, icc)
            tost.append(
                equivalent_means(
                    ((0.0, x, c) for x, c in zip(d.tolist(), names, strict=True)),
                    0.05,
                    low=None,
                    high=None,
                ).p
            )
        yield cell("false alarms of a test", "equivalence of paired means", tost, n, g, icc, 0.0)
        both: list[float | None] = []
        for _ in range(trials // 10):
            a, b = counts(rng, shape, 0.8, icc), counts(rng, shape, 0.9, icc)
            of = shape.tolist()
            both.append(
                equivalent_rates(
                    zip(a.tolist(), of, strict=True), zip(b.tolist(), of, strict=True), 0.1
                ).p
            )
        yield cell("false alarms of a test", "equivalence of two rates", both, n, g, icc, 0.8)
    for n, part, rate in product((40, 300), (6, 30), (0.5, 0.9)) if full else ((40, 6, 0.9),):
        gaps: list[float | None] = []
        for _ in range(trials):
            inside, whole = MeanAccumulator(), MeanAccumulator()
            for row, value in enumerate(binary(rng, np.ones(n, dtype=np.int64), rate).tolist()):
                whole.add(value)
                if row < part:
                    inside.add(value)
            gaps.append(gap_to_rest(inside, whole)[1])
        yield cell(
            "false alarms of a test", f"gap of {part} rows to the rest", gaps, n, n, 0.0, rate
        )


def _resampled(rng: np.random.Generator, full: bool) -> Iterator[Cell]:
    trials = 2000 if full else 100
    for name, top in (("evouna", 1.0), ("llmjudge_labels", 3.0), ("openqa_eval", 1.0)):
        path, rows = DATA / name / f"{name}.jsonl.gz", defaultdict(list)
        if not path.exists():
            continue
        with gzip.open(path) as file:
            for row in map(orjson.loads, file):
                rows[row["group"]].append(float(row["label"]) / top)
        groups = [np.array(values) for values in rows.values()]
        truth = float(np.concatenate(groups).mean())
        drawn_clusters = 25 if name != "evouna" else 100
        clustered: list[Interval | None] = []
        alone: list[Interval | None] = []
        n = 0
        for _ in range(trials):
            drawn = [groups[i] for i in rng.integers(0, len(groups), drawn_clusters)]
            values, cluster = np.concatenate(drawn), codes(np.array([len(g) for g in drawn]))
            n += len(values)
            clustered.append(_mean(values, cluster))
            alone.append(_mean(values, None))
        what = f"mean label, {name}"
        yield cell_of(
            what, "clusters of questions", truth, clustered, n=n // trials, clusters=drawn_clusters
        )
        # Never printed where rows have clusters; shown to say what it would claim.
        yield cell_of(
            what,
            "rows taken for independent",
            truth,
            alone,
            n=n // trials,
            clusters=drawn_clusters,
            gate=None,
            reason="not printed: shown for comparison",
        )
