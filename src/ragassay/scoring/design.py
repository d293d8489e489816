"""How many labels does a question need, what can so many labels show, and how surely?

All by the t tests that `intervals` and `hypotheses` run: with a true difference d, spread s of one
row's value and n rows, the test statistic is Student's t moved by d / (s sqrt(D / n)); D = 1 + (m -
1) icc is the design effect of clusters of m rows (Kish 1965) and n / m - 1 the degrees of freedom.
Power is the chance that this t lies beyond the test's limit (two-sided; both tails count). A rate
against a target is asked of the score test, whose interval is Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragassay.scoring.intervals import LEVEL, legendre, normal_quantile, t_quantile

Question = Literal["paired", "unpaired", "target", "width"]
QUESTIONS: dict[Question, str] = {
    "paired": "two judges or runs on the same rows",
    "unpaired": "two runs on different rows",
    "target": "one rate or mean against a fixed target",
    "width": "one rate or mean known to within a half-width",
}
DISCORDANCE, RATE, POWER = 0.2, 0.5, 0.8
MOST_LABELS = 100_000_000
FEW = 10
"""Fewer expected rows that differ, or of the rarer outcome, than this leave the normal
approximation rough.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked and the answer to it.

    labels: rows to label in all; for "unpaired" half of them in either run. clusters: how many they
    come from. difference: the true difference that is to be seen (None for "width"); power: with
    which chance it will be. half_width: half the width of the interval to expect (None unless
    asked). spread: standard deviation of one row's value or difference. design_effect: by how much
    clusters multiply the rows. assumed: what was not given and taken as usual. warnings: what makes
    the answer rough. sentence: all of it in one sentence.
    """

    question: Question
    labels: int
    clusters: int
    difference: float | None
    power: float | None
    half_width: float | None
    level: float
    spread: float
    design_effect: float
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    sentence: str


def plan(
    question: Question,
    *,
    difference: float | None = None,
    labels: int | None = None,
    half_width: float | None = None,
    power: float = POWER,
    level: float = LEVEL,
    rate: float | None = None,
    discordance: float | None = None,
    sd: float | None = None,
    cluster_size: float = 1.0,
    icc: float = 0.0,
) -> Plan:
    """Answer `question` for whichever is not given.

    difference alone: the labels needed to see it with `power`; labels alone: the least difference
    they show with `power`; both: their power. For "width": half_width gives labels, labels give
    half_width. The spread of a row: sd (scores); or discordance, the share of rows on which two
    judges differ ("paired", default .2); or rate, the pass rate of the first run, the target, or
    the rate to be known (default .5). cluster_size: mean rows of a cluster (a document, a
    question); icc: how alike its rows are in what is compared, 0 to 1. Raises ValueError for what
    cannot be, in words for the user.
    """
    _check(
        question,
        difference,
        labels,
        half_width,
        power,
        level,
        rate,
        discordance,
        sd,
        cluster_size,
        icc,
    )
    effect, assumed = 1 + (cluster_size - 1) * icc, []
    if question == "paired" and sd is None and discordance is None:
        discordance = max(DISCORDANCE, min(1.0, 2 * abs(difference or 0)))
        assumed.append(f"the two differ on {discordance:.0%} of the rows")
    if question != "paired" and sd is None and rate is None:
        rate = RATE
        assumed.append(f"a rate of {rate:.0%}")
    case = _Case(question, level, rate, discordance, sd, cluster_size, effect)
    if question == "width":
        if labels is None:
            wanted = half_width or 0.0
            labels = _least(
                lambda n: case.half_width(n) <= wanted, case.fewest, f"an interval of ± {wanted:g}"
            )
        half_width, difference, reached = case.half_width(labels), None, None
    elif difference is not None:
        d = difference
        if labels is None:
            labels = _least(
                lambda n: case.power(d, n) >= power, case.fewest, f"a difference of {d:g}"
            )
            labels += labels % 2 if question == "unpaired" else 0
        reached = case.power(d, labels)
    else:
        assert labels is not None
        difference = case.detectable(labels, power)
        reached = case.power(difference, labels)
    clusters = max(1, round(labels / cluster_size))
    warnings = tuple(case.warnings(labels, difference))
    return Plan(
        question,
        labels,
        clusters,
        difference,
        reached,
        half_width,
        level,
        case.spread(difference or 0.0),
        effect,
        tuple(assumed),
        warnings,
        _sentence(
            question,
            labels,
            clusters,
            difference,
            reached,
            half_width,
            level,
            cluster_size,
            assumed,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    question: Question
    level: float
    rate: float | None
    discordance: float | None
    sd: float | None
    cluster_size: float
    effect: float

    @property
    def fewest(self) -> int:
        """Two clusters (each of two runs has two where rows differ) are the least a t test can be
        asked of.
        """
        return math.ceil(2 * self.cluster_size) * (2 if self.question == "unpaired" else 1)

    def spread(self, difference: float) -> float:
        """Standard deviation of one row's value (paired: of its difference) when this difference is
        true.
        """
        if self.sd is not None:
            return self.sd
        if self.question == "paired":
            return math.sqrt(max(0.0, (self.discordance or 0.0) - difference**2))
        p = self.rate or 0.0
        if self.question == "unpaired":
            q = p + difference
            return math.sqrt(max(0.0, (p * (1 - p) + q * (1 - q)) / 2))
        q = p + difference if self.question == "target" else p
        return math.sqrt(max(0.0, q * (1 - q)))

    def power(self, difference: float, labels: int) -> float:
        spread, sides = self.spread(difference), 2 if self.question == "unpaired" else 1
        each = labels / sides
        error = spread * math.sqrt(self.effect * sides / each)
        freedom = sides * (each / self.cluster_size - 1)
        if freedom < 1:
            return 0.0
        if (
            self.question == "target" and self.sd is None
        ):  # Wilson's limits: the spread under the target itself
            target = self.rate or 0.0
            limit = math.sqrt(target * (1 - target) * self.effect / each) * self._limit(freedom)
            if error == 0:  # a true rate of 0 or 1
                return float(abs(difference) > limit)
            return _normal((abs(difference) - limit) / error) + _normal(
                (-abs(difference) - limit) / error
            )
        if error == 0:
            return 1.0
        return noncentral_power(abs(difference) / error, freedom, self.level)

    def _limit(self, freedom: float) -> float:
        """Rows alone have no spread to estimate beside their rate; clusters have."""
        return (
            normal_quantile(0.5 + self.level / 2)
            if self.cluster_size == 1
            else t_quantile(0.5 + self.level / 2, freedom)
        )

    def half_width(self, labels: int) -> float:
        freedom = labels / self.cluster_size - 1
        if freedom < 1:
            return math.inf
        if self.sd is not None:
            return (
                t_quantile(0.5 + self.level / 2, freedom)
                * self.sd
                * math.sqrt(self.effect / labels)
            )
        p, t = self.rate or 0.0, self._limit(freedom)
        n = labels / self.effect
        return t / (1 + t * t / n) * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n))

    def detectable(self, labels: int, power: float) -> float:
        """The least difference with this power; away from the nearer end of the scale for a rate."""
        sign = (
            -1.0
            if self.question != "paired" and self.sd is None and (self.rate or 0.0) > 0.5
            else 1.0
        )
        most = 1.0
        if self.question == "paired" and self.sd is None:
            most = self.discordance or 0.0
        elif self.sd is None:
            most = max(self.rate or 0.0, 1 - (self.rate or 0.0))
        else:
            while self.power(most, labels) < power and most < 1e12:
                most *= 2
        if self.power(sign * most, labels) < power:
            raise ValueError(
                f"{labels:,} labels show no difference, however large, with {power:.0%} power: take"
                " more labels or smaller clusters"
            )
        low, high = 0.0, most
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (
                (low, middle) if self.power(sign * middle, labels) >= power else (middle, high)
            )
        return sign * high

    def warnings(self, labels: int, difference: float | None) -> list[str]:
        out = []
        clusters = labels / self.cluster_size
        if self.cluster_size > 1 and clusters < FEW:
            out.append(f"only {clusters:.0f} clusters: the answer is rough")
        if self.sd is None:
            if self.question == "paired":
                rarer = labels * (self.discordance or 0.0)
            else:
                rates = [self.rate or 0.0, (self.rate or 0.0) + (difference or 0.0)]
                rarer = (
                    labels
                    / (2 if self.question == "unpaired" else 1)
                    * min(min(p, 1 - p) for p in rates)
                )
            if rarer < FEW:
                what = (
                    "rows on which the two differ"
                    if self.question == "paired"
                    else "rows of the rarer outcome"
                )
                out.append(f"only about {rarer:.0f} {what} to expect: the answer is rough")
        return out


def noncentral_power(shift: float, freedom: float, level: float = LEVEL) -> float:
    """Power of the two-sided t test: P(|T| > t) for Student's noncentral t with this shift and
    degrees of freedom.

    T = (Z + shift) / S with freedom S^2 chi-squared: the normal tails are averaged over S by Gauss
    and Legendre's rule.
    """
    limit = t_quantile(0.5 + level / 2, freedom)
    constant = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    low, high = max(0.0, 1 - 9 / math.sqrt(2 * freedom)), 1 + 9 / math.sqrt(2 * freedom)
    total = 0.0
    for node, weight in _legendre():
        s = low + (high - low) * node
        density = math.exp(constant + (freedom - 1) * math.log(s) - freedom * s * s / 2)
        total += (
            weight
            * (high - low)
            * density
            * (_normal(shift - limit * s) + _normal(-shift - limit * s))
        )
    return min(1.0, total)


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


@lru_cache(maxsize=1)
def _legendre() -> tuple[tuple[float, float], ...]:
    """Points and weights on (0, 1)."""
    return tuple((2 * node / math.pi, 2 * weight / math.pi) for node, weight in legendre(96))


def _least(enough: Callable[[int], bool], fewest: int, what: str) -> int:
    """The fewest labels that are enough."""
    high = max(2, fewest)
    while not enough(high):
        high *= 2
        if high > MOST_LABELS:
            raise ValueError(
                f"{what} would need more than {MOST_LABELS:,} labels: choose a larger one"
            )
    low = max(1, fewest - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check(
    question: str,
    difference: float | None,
    labels: int | None,
    half_width: float | None,
    power: float,
    level: float,
    rate: float | None,
    discordance: float | None,
    sd: float | None,
    cluster_size: float,
    icc: float,
) -> None:
    numbers = (
        difference,
        labels,
        half_width,
        power,
        level,
        rate,
        discordance,
        sd,
        cluster_size,
        icc,
    )
    if any(x is not None and not math.isfinite(x) for x in numbers):
        raise ValueError("every number must be finite")
    if question not in QUESTIONS:
        raise ValueError(f"no question is called {question!r}; there are {', '.join(QUESTIONS)}")
    for name, value in (("power", power), ("level", level)):
        if not 0.5 <= value < 1:
            raise ValueError(f"{name} must be at least 0.5 and less than 1, not {value:g}")
    for name, share in (("rate", rate), ("discordance", discordance)):
        if share is not None and not 0 < share < 1 and not (name == "discordance" and share == 1):
            raise ValueError(f"{name} is a share of the rows: between 0 and 1, not {share:g}")
    if not 0 <= icc <= 1:
        raise ValueError(f"icc must lie between 0 and 1, not {icc:g}")
    if cluster_size < 1:
        raise ValueError(f"a cluster has at least one row, not {cluster_size:g}")
    if sd is not None and sd <= 0:
        raise ValueError(f"sd must be positive, not {sd:g}")
    if sd is not None and (rate is not None or discordance is not None):
        raise ValueError("give either sd or a rate or discordance: each says how much rows differ")
    if question == "paired" and rate is not None:
        raise ValueError(
            "a paired question needs discordance, the share of rows on which the two differ, not"
            " rate"
        )
    if question != "paired" and discordance is not None:
        raise ValueError("discordance belongs to a paired question; give rate")
    if labels is not None and (labels != int(labels) or labels < 2):
        raise ValueError(f"labels must be a whole number of at least 2, not {labels:g}")
    if labels is not None and labels > MOST_LABELS:
        raise ValueError(f"nobody labels {labels:g} rows; at most {MOST_LABELS:g}")
    if question == "width":
        if difference is not None:
            raise ValueError("a question of width has no difference; give half_width or labels")
        if (labels is None) == (half_width is None):
            raise ValueError("a question of width needs half_width or labels, and not both")
        if half_width is not None and (half_width <= 0 or (sd is None and half_width >= 0.5)):
            raise ValueError(
                f"half_width must be positive (of a rate below 0.5), not {half_width:g}"
            )
        if labels is not None and labels / cluster_size < 2:
            raise ValueError(
                f"{labels} labels of clusters of {cluster_size:g} rows are fewer than two clusters"
            )
        return
    if half_width is not None:
        raise ValueError("half_width belongs to the question of width")
    if difference is None and labels is None:
        raise ValueError(
            "give difference (the smallest that matters) or labels (how many there are), or both"
        )
    if difference is not None:
        if difference == 0:
            raise ValueError("a difference of 0 cannot be seen by any number of labels")
        if question == "paired" and sd is None:
            if abs(difference) > (discordance if discordance is not None else 1):
                raise ValueError(
                    f"a difference of {difference:g} needs at least that share of rows to differ"
                    " (discordance)"
                )
        elif sd is None and not 0 <= (rate if rate is not None else RATE) + difference <= 1:
            raise ValueError(
                f"a rate of {rate if rate is not None else RATE:g} cannot change by {difference:g}"
            )


def _sentence(
    question: Question,
    labels: int,
    clusters: int,
    difference: float | None,
    power: float | None,
    half_width: float | None,
    level: float,
    cluster_size: float,
    assumed: list[str],
) -> str:
    rows = f"{labels:,} labels" + (
        f" ({labels // 2:,} in each run)" if question == "unpaired" else ""
    )
    if cluster_size > 1:
        rows += f" from {clusters:,} clusters"
    if question == "width":
        core = f"With {rows} the {level:.0%} interval reaches about {half_width:.3g} to either side"
    else:
        what = {
            "paired": "between two judges or runs on the same rows",
            "unpaired": "between two runs on different rows",
            "target": "from the target",
        }[question]
        core = (
            f"With {rows} a true difference of {difference:+.3g} {what} is found {power:.0%} of the"
            f" time (at {1 - level:.2g})"
        )
    return core + (f"; assumed: {', '.join(assumed)}." if assumed else ".")
