"""Planning of labels: how many a question needs, what so many can show, and with which power.

All by the t tests that `intervals` and `hypotheses` run: with a true difference d, spread s of one
row's value and n rows, the test statistic is Student's t moved by d / (s sqrt(D / n)); D = 1 + (m -
1) icc is the design effect of clusters of m rows (Kish 1965) and n / m - 1 the degrees of freedom.
Power is the chance that this t lies beyond the test's limit (two-sided; both tails count). A rate
against a target takes the score test, whose interval is Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from ragassay.scoring.intervals import LEVEL, legendre, normal_quantile, t_quantile

Question = Literal["paired", "unpaired", "target", "width"]
QUESTIONS: dict[Question, str] = {
    "paired": "two judges or runs on the same rows",
    "unpaired": "two runs on different rows",
    "target": "one rate or mean against a fixed target",
    "width": "one rate or mean known to within a half-width",
}
DISCORDANCE = 0.2
RATE = 0.5
"""The rate with the largest spread: where none is given, the labels are enough for any."""
POWER = 0.8
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
    the rate to be estimated (default .5). cluster_size: mean rows of a cluster (a document, a
    question); icc: how alike its rows are in what is compared, 0 to 1. Raises ValueError for what
    cannot be, in words for the user.
    """
    inputs = _Inputs(
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
    _check(inputs)
    case, assumed = _case(inputs)
    answer = _width(case, inputs) if question == "width" else _comparison(case, inputs)
    clusters = max(1, round(answer.labels / cluster_size))
    return Plan(
        question=question,
        labels=answer.labels,
        clusters=clusters,
        difference=answer.difference,
        power=answer.power,
        half_width=answer.half_width,
        level=level,
        spread=case.spread(answer.difference or 0.0),
        design_effect=case.effect,
        assumed=assumed,
        warnings=tuple(case.warnings(answer.labels, answer.difference)),
        sentence=_sentence(case, answer, clusters, assumed),
    )


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The arguments of `plan`, None for what was not given."""

    question: Question
    difference: float | None
    labels: int | None
    half_width: float | None
    power: float
    level: float
    rate: float | None
    discordance: float | None
    sd: float | None
    cluster_size: float
    icc: float

    @property
    def usual_rate(self) -> float:
        """The rate, the usual one where none was given."""
        return RATE if self.rate is None else self.rate


class _Answer(NamedTuple):
    """What was asked for, beside what was given."""

    labels: int
    difference: float | None
    power: float | None
    half_width: float | None


@dataclass(frozen=True, slots=True)
class _Case:
    """One question with every assumption filled in."""

    question: Question
    level: float
    rate: float | None
    discordance: float | None
    sd: float | None
    cluster_size: float
    effect: float

    @property
    def sides(self) -> int:
        """Sets of rows that the labels are divided between."""
        return 2 if self.question == "unpaired" else 1

    @property
    def fewest(self) -> int:
        """Two clusters (each of two runs has two where rows differ) are the least a t test can be
        asked of.
        """
        return math.ceil(2 * self.cluster_size) * self.sides

    def spread(self, difference: float) -> float:
        """Standard deviation of one row's value (paired: of its difference) when this difference is
        true.
        """
        if self.sd is not None:
            return self.sd
        if self.question == "paired":
            # The difference of a row is 1, 0 or -1, and its square is 1 where the two differ.
            return math.sqrt(max(0.0, (self.discordance or 0.0) - difference**2))
        p = self.rate or 0.0
        if self.question == "unpaired":
            q = p + difference
            return math.sqrt(max(0.0, (p * (1 - p) + q * (1 - q)) / 2))
        q = p + difference if self.question == "target" else p
        return math.sqrt(max(0.0, q * (1 - q)))

    def power(self, difference: float, labels: int) -> float:
        """The chance, in [0, 1], that so many labels show this true difference."""
        labels_a_side = labels / self.sides
        error = self.spread(difference) * math.sqrt(self.effect * self.sides / labels_a_side)
        freedom = self.sides * (labels_a_side / self.cluster_size - 1)
        if freedom < 1:
            return 0.0
        if self.question == "target" and self.sd is None:
            return self._power_of_rate(abs(difference), labels, error, freedom)
        if error == 0:
            return 1.0
        return noncentral_power(abs(difference) / error, freedom, self.level)

    def _power_of_rate(self, gap: float, labels: int, error: float, freedom: float) -> float:
        """Power of the score test against a target, whose limit takes the spread under the target
        itself (Wilson).
        """
        target = self.rate or 0.0
        limit = math.sqrt(target * (1 - target) * self.effect / labels) * self._limit(freedom)
        if error == 0:  # a true rate of 0 or 1
            return float(gap > limit)
        return _normal((gap - limit) / error) + _normal((-gap - limit) / error)

    def _limit(self, freedom: float) -> float:
        """How many standard errors the interval of a rate reaches: rows alone have no spread to
        estimate beside the rate itself, clusters have.
        """
        if self.cluster_size == 1:
            return normal_quantile(0.5 + self.level / 2)
        return t_quantile(0.5 + self.level / 2, freedom)

    def half_width(self, labels: int) -> float:
        """Half the width of the interval to expect; infinite below two clusters."""
        freedom = labels / self.cluster_size - 1
        if freedom < 1:
            return math.inf
        if self.sd is not None:
            t = t_quantile(0.5 + self.level / 2, freedom)
            return t * self.sd * math.sqrt(self.effect / labels)
        p = self.rate or 0.0
        t = self._limit(freedom)
        n = labels / self.effect
        # Half of Wilson's interval.
        return t / (1 + t * t / n) * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n))

    def detectable(self, labels: int, power: float) -> float:
        """The least difference with this power; away from the nearer end of the scale for a rate.

        Raises ValueError where no difference has it.
        """
        of_a_rate = self.question != "paired" and self.sd is None
        sign = -1.0 if of_a_rate and (self.rate or 0.0) > 0.5 else 1.0
        low, high = 0.0, self._largest(labels, power)
        if self.power(sign * high, labels) < power:
            raise ValueError(
                f"{labels:,} labels show no difference, however large, with {power:.0%} power: take"
                " more labels or smaller clusters"
            )
        # Power rises with the difference, so halving finds where it is enough; 80 steps exhaust a
        # double.
        for _ in range(80):
            middle = (low + high) / 2
            if self.power(sign * middle, labels) >= power:
                high = middle
            else:
                low = middle
        return sign * high

    def _largest(self, labels: int, power: float) -> float:
        """A difference beyond which none has to be looked for."""
        if self.sd is None:
            if self.question == "paired":
                return self.discordance or 0.0
            return max(self.rate or 0.0, 1 - (self.rate or 0.0))
        largest = 1.0  # scores have no end of their scale
        while self.power(largest, labels) < power and largest < 1e12:
            largest *= 2
        return largest

    def warnings(self, labels: int, difference: float | None) -> Iterator[str]:
        """What makes the answer rough."""
        clusters = labels / self.cluster_size
        if self.cluster_size > 1 and clusters < FEW:
            yield f"only {clusters:.0f} clusters: the answer is rough"
        if self.sd is not None:
            return
        if self.question == "paired":
            rarer = labels * (self.discordance or 0.0)
            rows = "rows on which the two differ"
        else:
            rates = [self.rate or 0.0, (self.rate or 0.0) + (difference or 0.0)]
            rarer = labels / self.sides * min(min(p, 1 - p) for p in rates)
            rows = "rows of the rarer outcome"
        if rarer < FEW:
            yield f"only about {rarer:.0f} {rows} to expect: the answer is rough"


def _case(inputs: _Inputs) -> tuple[_Case, tuple[str, ...]]:
    """The case that these arguments describe, and what was assumed for those not given."""
    rate = inputs.rate
    discordance = inputs.discordance
    assumed = []
    if inputs.sd is None and inputs.question == "paired":
        if discordance is None:
            # At least twice the difference: rows differ in both directions.
            discordance = max(DISCORDANCE, min(1.0, 2 * abs(inputs.difference or 0)))
            assumed.append(f"the two differ on {discordance:.0%} of the rows")
    elif inputs.sd is None and rate is None:
        rate = RATE
        assumed.append(f"a rate of {rate:.0%}")
    effect = 1 + (inputs.cluster_size - 1) * inputs.icc
    case = _Case(
        inputs.question, inputs.level, rate, discordance, inputs.sd, inputs.cluster_size, effect
    )
    return case, tuple(assumed)


def _width(case: _Case, inputs: _Inputs) -> _Answer:
    """Labels for a half-width, or the half-width of so many labels."""
    labels = inputs.labels
    if labels is None:
        target = inputs.half_width or 0.0

        def narrow(n: int) -> bool:
            return case.half_width(n) <= target

        labels = _least(narrow, case.fewest, f"an interval of ± {target:g}")
    return _Answer(labels, None, None, case.half_width(labels))


def _comparison(case: _Case, inputs: _Inputs) -> _Answer:
    """Labels for a difference, the least difference that labels show, or the power of both."""
    labels = inputs.labels
    difference = inputs.difference
    if difference is None:
        assert labels is not None
        difference = case.detectable(labels, inputs.power)
    elif labels is None:
        labels = _labels_for(case, difference, inputs.power)
    return _Answer(labels, difference, case.power(difference, labels), None)


def _labels_for(case: _Case, difference: float, power: float) -> int:
    def enough(n: int) -> bool:
        return case.power(difference, n) >= power

    labels = _least(enough, case.fewest, f"a difference of {difference:g}")
    # Both runs get the same number.
    return labels + labels % case.sides


def noncentral_power(shift: float, freedom: float, level: float = LEVEL) -> float:
    """Power of the two-sided t test: P(|T| > t) for Student's noncentral t with this shift and
    degrees of freedom.

    T = (Z + shift) / S with freedom S^2 chi-squared: the normal tails are averaged over S by Gauss
    and Legendre's rule.
    """
    limit = t_quantile(0.5 + level / 2, freedom)
    constant = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    # Nine standard deviations of S to either side hold all of its mass that a double can show.
    low = max(0.0, 1 - 9 / math.sqrt(2 * freedom))
    high = 1 + 9 / math.sqrt(2 * freedom)
    total = 0.0
    for node, weight in _legendre():
        s = low + (high - low) * node
        density = math.exp(constant + (freedom - 1) * math.log(s) - freedom * s * s / 2)
        tails = _normal(shift - limit * s) + _normal(-shift - limit * s)
        total += weight * (high - low) * density * tails
    return min(1.0, total)


def _normal(z: float) -> float:
    """The standard normal's distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@lru_cache(maxsize=1)
def _legendre() -> tuple[tuple[float, float], ...]:
    """Points and weights on (0, 1), from those on (0, pi / 2)."""
    return tuple((2 * node / math.pi, 2 * weight / math.pi) for node, weight in legendre(96))


def _least(enough: Callable[[int], bool], fewest: int, what: str) -> int:
    """The fewest labels that are enough, by doubling and then halving. Raises ValueError beyond
    `MOST_LABELS`.
    """
    high = max(2, fewest)
    while not enough(high):
        high *= 2
        if high > MOST_LABELS:
            raise ValueError(
                f"{what} would need more than {MOST_LABELS:,} labels: choose a larger one"
            )
    low = max(1, fewest - 1)  # one less than the fewest is never enough
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


# ---- the checks of the arguments, in the order in which a user would mend them ----


def _check(inputs: _Inputs) -> None:
    """Raise ValueError, in words for the user, for what cannot be."""
    _check_ranges(inputs)
    _check_spread(inputs)
    _check_labels(inputs.labels)
    if inputs.question == "width":
        _check_width(inputs)
    else:
        _check_comparison(inputs)


def _check_ranges(inputs: _Inputs) -> None:
    """Each number by itself."""
    numbers = (
        inputs.difference,
        inputs.labels,
        inputs.half_width,
        inputs.power,
        inputs.level,
        inputs.rate,
        inputs.discordance,
        inputs.sd,
        inputs.cluster_size,
        inputs.icc,
    )
    if any(x is not None and not math.isfinite(x) for x in numbers):
        raise ValueError("every number must be finite")
    if inputs.question not in QUESTIONS:
        names = ", ".join(QUESTIONS)
        raise ValueError(f"no question is called {inputs.question!r}; there are {names}")
    for name, value in (("power", inputs.power), ("level", inputs.level)):
        if not 0.5 <= value < 1:
            raise ValueError(f"{name} must be at least 0.5 and less than 1, not {value:g}")
    _check_share("rate", inputs.rate)
    if inputs.discordance != 1:
        _check_share("discordance", inputs.discordance)
    if not 0 <= inputs.icc <= 1:
        raise ValueError(f"icc must lie between 0 and 1, not {inputs.icc:g}")
    if inputs.cluster_size < 1:
        raise ValueError(f"a cluster has at least one row, not {inputs.cluster_size:g}")


def _check_share(name: str, share: float | None) -> None:
    if share is not None and not 0 < share < 1:
        raise ValueError(f"{name} is a share of the rows: between 0 and 1, not {share:g}")


def _check_spread(inputs: _Inputs) -> None:
    """The spread of a row is given once, in the form that belongs to the question."""
    if inputs.sd is not None:
        if inputs.sd <= 0:
            raise ValueError(f"sd must be positive, not {inputs.sd:g}")
        if inputs.rate is not None or inputs.discordance is not None:
            raise ValueError(
                "give either sd or a rate or discordance: each says how much rows differ"
            )
    if inputs.question == "paired" and inputs.rate is not None:
        raise ValueError(
            "a paired question needs discordance, the share of rows on which the two differ, not"
            " rate"
        )
    if inputs.question != "paired" and inputs.discordance is not None:
        raise ValueError("discordance belongs to a paired question; give rate")


def _check_labels(labels: int | None) -> None:
    if labels is None:
        return
    if labels != int(labels) or labels < 2:
        raise ValueError(f"labels must be a whole number of at least 2, not {labels:g}")
    if labels > MOST_LABELS:
        raise ValueError(f"nobody labels {labels:g} rows; at most {MOST_LABELS:g}")


def _check_width(inputs: _Inputs) -> None:
    labels = inputs.labels
    half_width = inputs.half_width
    if inputs.difference is not None:
        raise ValueError("a question of width has no difference; give half_width or labels")
    if (labels is None) == (half_width is None):
        raise ValueError("a question of width needs half_width or labels, and not both")
    if half_width is not None:
        too_wide = inputs.sd is None and half_width >= 0.5
        if half_width <= 0 or too_wide:
            raise ValueError(
                f"half_width must be positive (of a rate below 0.5), not {half_width:g}"
            )
    if labels is not None and labels / inputs.cluster_size < 2:
        raise ValueError(
            f"{labels} labels of clusters of {inputs.cluster_size:g} rows are fewer than two"
            " clusters"
        )


def _check_comparison(inputs: _Inputs) -> None:
    difference = inputs.difference
    if inputs.half_width is not None:
        raise ValueError("half_width belongs to the question of width")
    if difference is None:
        if inputs.labels is None:
            raise ValueError(
                "give difference (the smallest that matters) or labels (how many there are), or"
                " both"
            )
        return
    if difference == 0:
        raise ValueError("a difference of 0 cannot be seen by any number of labels")
    if inputs.sd is not None:
        return
    if inputs.question == "paired":
        if abs(difference) > (1 if inputs.discordance is None else inputs.discordance):
            raise ValueError(
                f"a difference of {difference:g} needs at least that share of rows to differ"
                " (discordance)"
            )
    elif not 0 <= inputs.usual_rate + difference <= 1:
        raise ValueError(f"a rate of {inputs.usual_rate:g} cannot change by {difference:g}")


_BETWEEN: dict[Question, str] = {
    "paired": "between two judges or runs on the same rows",
    "unpaired": "between two runs on different rows",
    "target": "from the target",
}


def _sentence(case: _Case, answer: _Answer, clusters: int, assumed: tuple[str, ...]) -> str:
    rows = f"{answer.labels:,} labels"
    if case.question == "unpaired":
        rows += f" ({answer.labels // 2:,} in each run)"
    if case.cluster_size > 1:
        rows += f" from {clusters:,} clusters"
    if case.question == "width":
        reach = f"{answer.half_width:.3g}"
        core = f"With {rows} the {case.level:.0%} interval reaches about {reach} to either side"
    else:
        core = (
            f"With {rows} a true difference of {answer.difference:+.3g} {_BETWEEN[case.question]}"
            f" is found {answer.power:.0%} of the time (at {1 - case.level:.2g})"
        )
    if assumed:
        core += f"; assumed: {', '.join(assumed)}"
    return core + "."
