"""Selective answers: the confidence from which on a judge's verdict may be taken, guaranteed.

Thresholds are tested in a fixed order, from the strictest down; each asks whether disagreement
among the rows at or above it could be alpha or more. The last one in an unbroken row of rejections
is certified: the chance that one is certified whose true disagreement exceeds alpha is at most
delta, without a correction for how many were tested, since the first true hypothesis in the order
has to be rejected for that (Jung, Brahman & Choi 2024, "Trust or Escalate"; fixed-sequence testing
within learn-then-test, Angelopoulos, Bates et al. 2021). The thresholds and their order are read
off the confidences alone. Where rows share clusters, the first one tested is the first that could
be rejected at all, and that depends on the labels through the design effect below; there the
promise rests on simulation (benchmarks/selective).

The test is the exact binomial one: p = P(Bin(n, alpha) <= k), k disagreements among n answered
rows. Rows of a cluster (a query, a document) are not independent: then n and k are divided by the
design effect (Korn & Graubard 1998). It is the larger of two: 1 + (m - 1) rho, m = sum of squared
cluster sizes / n, rho the intra-cluster correlation of disagreement, estimated over all labelled
rows and raised by its own standard error, for it is known poorly; and the one that the spread of
the answered rows' own clusters shows under the null hypothesis; times (t / z)^2 at 1 - delta, t on
one degree of freedom less than the effective number of clusters (Kish), for both are estimates. The
price of few clusters is that often no threshold can be certified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ragassay.core.counting import count
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered
from ragassay.scoring.intervals import incomplete_beta, normal_quantile, t_quantile

STEPS = 40
"""Thresholds tested at most."""
FEWEST_CLUSTERS = 10
"""With fewer, a guarantee says that it is approximate."""


@dataclass(frozen=True, slots=True)
class Step:
    """One tested threshold: rows at or above it, the share that is of all, their agreement with
    people, and p.
    """

    threshold: float
    answered: int
    coverage: float
    agreement: float
    p: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What can be promised of verdicts at or above `threshold`: agreement of at least 1 - alpha,
    with confidence 1 - delta.

    threshold: None where none can be certified; `reason` says why. coverage: share of rows that it
    answers. agreement: of the answered rows here. n, clusters: rows and clusters with labels.
    design: design effect at the threshold. steps: what was tested, in order, the first that failed
    included.
    """

    alpha: float
    delta: float
    n: int
    clusters: int
    threshold: float | None
    coverage: float
    agreement: float | None
    design: float
    steps: tuple[Step, ...]
    reason: str = ""


def certify(
    confidence: FloatArray,
    agrees: BoolArray,
    cluster: IntArray | None = None,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
) -> Guarantee:
    """The lowest certified threshold; see the module's first lines.

    confidence: (n,), finite, higher = surer. agrees: (n,), whether the judge's pass or fail is
    people's. Raises ValueError for alpha or delta outside (0, 1), or arrays that do not fit.
    """
    if not (0 < alpha < 1 and 0 < delta < 1):
        raise ValueError("alpha and delta lie between 0 and 1")
    if confidence.shape != agrees.shape or not np.isfinite(confidence).all():
        raise ValueError(
            "each row needs one finite confidence and whether the judge agrees with people"
        )
    n = len(confidence)
    empty = Guarantee(
        alpha=alpha,
        delta=delta,
        n=n,
        clusters=0,
        threshold=None,
        coverage=0.0,
        agreement=None,
        design=1.0,
        steps=(),
    )
    if not n:
        return replace(empty, reason="there are no labelled rows")
    place = np.arange(n)
    if cluster is not None:
        place = numbered(cluster)
    clusters = int(place.max()) + 1
    steps, certified, design = _test_in_order(confidence, ~agrees, place, alpha, delta)
    tested = replace(empty, clusters=clusters, steps=tuple(steps))
    if certified is None:
        return replace(tested, reason=_why_none(tested))
    approximate = f"only {count(clusters, 'cluster')}: the guarantee is approximate"
    return replace(
        tested,
        threshold=certified.threshold,
        coverage=certified.coverage,
        agreement=certified.agreement,
        design=design,
        reason=approximate if clusters < FEWEST_CLUSTERS else "",
    )


def _test_in_order(
    confidence: FloatArray, wrong: BoolArray, place: IntArray, alpha: float, delta: float
) -> tuple[list[Step], Step | None, float]:
    """The tested thresholds, the last one in an unbroken row of rejections, its design effect."""
    n = len(confidence)
    rho = _correlation(wrong, place)
    # Fewer rows than this cannot be rejected even without a disagreement.
    least = math.ceil(math.log(delta) / math.log1p(-alpha))
    steps: list[Step] = []
    certified = None
    design = 1.0
    for threshold in thresholds(confidence):
        rows = confidence >= threshold
        effect = _design(wrong[rows], place[rows], rho, alpha, delta)
        answered = int(rows.sum())
        # Skipped before the first test only: later the order is unbroken, or it promises nothing.
        if not steps and answered / effect < least:
            continue
        bad = int(wrong[rows].sum())
        p = binomial_tail(bad / effect, answered / effect, alpha)
        step = Step(float(threshold), answered, answered / n, 1 - bad / answered, p)
        steps.append(step)
        if p > delta:
            break
        certified = step
        design = effect
    return steps, certified, design


def _why_none(tested: Guarantee) -> str:
    if tested.clusters < 2 or not tested.steps:
        return (
            f"{tested.n} labelled rows in {tested.clusters} clusters are too few: even without a"
            " disagreement nothing would be shown"
        )
    first = tested.steps[0]
    return (
        f"at the strictest threshold tested, {first.threshold:.3g}, {first.agreement:.1%} of"
        f" {first.answered} rows agree with people: not enough to show {1 - tested.alpha:.1%}"
        f" with confidence {1 - tested.delta:.0%}"
    )


def thresholds(confidence: FloatArray) -> FloatArray:
    """What is tested, strictest first: the distinct confidences, or 40 of them that split the rows
    evenly.
    """
    values = np.unique(confidence)[::-1]
    if len(values) <= STEPS:
        return np.asarray(values, dtype=np.float64)
    at = np.quantile(confidence, 1 - np.arange(1, STEPS + 1) / STEPS, method="lower")
    return np.asarray(np.unique(at)[::-1], dtype=np.float64)


def binomial_tail(k: float, n: float, p: float) -> float:
    """P(Bin(n, p) <= k), by the incomplete beta function, which takes k and n that are not whole as
    well.
    """
    return 1.0 if k >= n else incomplete_beta(n - k, k + 1, 1 - p)


def _correlation(wrong: BoolArray, place: IntArray) -> float:
    """Intra-cluster correlation of disagreement (analysis of variance), plus its standard error; 0
    where rows are alone.
    """
    size = np.bincount(place).astype(np.float64)
    n, groups, rate = len(wrong), len(size), float(wrong.mean())
    if groups == n:
        return 0.0
    if groups < 2 or rate in (0.0, 1.0):
        return 1.0
    mean = np.bincount(place, weights=wrong) / size
    between = float((size * (mean - rate) ** 2).sum()) / (groups - 1)
    within = float((size * mean * (1 - mean)).sum()) / (n - groups)
    typical = (n - float((size**2).sum()) / n) / (groups - 1)
    rho = (between - within) / max(between + (typical - 1) * within, 1e-300)
    # Smith 1956, for clusters of about one size.
    spread = math.sqrt(2 / max(1.0, typical * (typical - 1) * (groups - 1)))
    # Raised by it: a design effect that is too small would promise too much.
    error = (1 - rho) * (1 + (typical - 1) * rho) * spread
    return min(1.0, max(0.0, rho) + max(0.0, error))


def _design(wrong: BoolArray, place: IntArray, rho: float, alpha: float, delta: float) -> float:
    """By how much clusters divide these rows, at least 1; see the module's first lines."""
    size = np.bincount(place).astype(np.float64)
    size = size[size > 0]
    n, groups = len(wrong), len(size)
    if groups == n:
        return 1.0
    squares = float((size**2).sum())
    by_size = 1 + (squares / n - 1) * rho
    # The clusters' own spread around alpha, against that of independent rows: the null hypothesis
    # is a disagreement of alpha.
    apart = np.bincount(place, weights=wrong - alpha)
    spread = float((apart**2).sum()) * groups / max(1, groups - 1) / (n * alpha * (1 - alpha))
    caution = 1.0
    if delta < 0.5:  # from one half on the normal quantile is 0 or below, and t / z no factor
        freedom = max(1.0, n**2 / squares - 1)
        caution = (t_quantile(1 - delta, freedom) / normal_quantile(1 - delta)) ** 2
    return max(1.0, by_size, spread) * caution
