"""What a stress test can show, before the first call: power, smallest drop, calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ragassay.core.counting import count
from ragassay.scoring.design import plan as plan_labels
from ragassay.stress.levels import Test
from ragassay.stress.noise import family_size
from ragassay.stress.plan import StressPlan

GAINS = 0.05
"""Share of rows that are taken to turn right by chance at any level."""
ICC = 0.1
"""How alike changes are in rows of one document."""
DROP = 0.1
FEWEST = 30
"""Fewer rows leave all but large drops unseen."""


@dataclass(frozen=True, slots=True)
class Power:
    """What the rows can show.

    rows, clusters: in the grid of noise. drop: the smallest drop that one level shows with 80 %
    power; with_correction: likewise among all tests that are corrected together; None where no
    drop is shown. power: the chance that a level shows a drop of 10 points. tests: that are
    corrected together.
    """

    rows: int
    clusters: int
    tests: int
    power: float
    drop: float | None
    with_correction: float | None


def power_of(plan: StressPlan) -> Power | None:
    """The power of the rows in the grid of noise, None for fewer than two clusters of them."""
    rows = len(plan.noise)
    clusters = len({row.cluster for row in plan.noise})
    if clusters < 2:
        return None
    tests = family_size(plan.wanted.grid)
    return Power(
        rows,
        clusters,
        tests,
        _power(rows, clusters, DROP, 0.95),
        _smallest(rows, clusters, 0.95),
        _smallest(rows, clusters, 1 - 0.05 / tests),
    )


def _power(rows: int, clusters: int, drop: float, level: float) -> float:
    """The chance that so many rows show this drop."""
    # What is lost beyond the drop is gained by other rows.
    discordance = min(0.999, drop + 2 * GAINS)
    found = plan_labels(
        "paired",
        difference=min(drop, discordance),
        labels=rows,
        level=level,
        discordance=discordance,
        cluster_size=rows / clusters,
        icc=ICC,
    )
    return float(found.power or 0.0)


def _smallest(rows: int, clusters: int, level: float) -> float | None:
    """The smallest drop, in steps of a point, that is shown with 80 % power; None for none."""
    for points in range(1, 90):
        if _power(rows, clusters, points / 100, level) >= 0.8:
            return points / 100
    return None


def askings(plan: StressPlan) -> dict[str, int]:
    """How often the system is asked, by test; what several tests share counts for the first."""
    counts: Counter[str] = Counter()
    for planned in plan.planned:
        name = planned.key.partition("/")[0]
        counts[_NAMES.get(name, name)] += 1
    return dict(counts)


_NAMES = {
    "clean": "clean, twice",
    "padded": "among filler",
    "closed-book": "without passages",
    "noise": str(Test.NOISE),
    "negative": str(Test.REJECTION),
    "counterfactual": str(Test.COUNTERFACTUAL),
    "integration": str(Test.INTEGRATION),
}


def plan_lines(plan: StressPlan) -> list[str]:
    """What is asked and what that can show, before anything is."""
    rows = plan.rows
    clusters = len({row.cluster for row in rows})
    parts = ", ".join(f"{number:,} {name}" for name, number in askings(plan).items())
    lines = [
        f"{count(len(rows), 'question')} in {count(clusters, 'cluster')},"
        f" {count(len(plan.planned), 'asking')}: {parts}"
    ]
    power = power_of(plan)
    if power is not None:
        lines.append(
            f"power: {power.rows} questions in {power.clusters} clusters show a drop of 10 points"
            f" in about {power.power:.0%} of cases, and of {points(power.drop)} in 80 %;"
        )
        lines.append(
            f"  after the correction for {power.tests} tests of {points(power.with_correction)}"
            f" (assumed: {GAINS:.0%} of rows turn right by chance, ICC {ICC:g})"
        )
        if power.rows < FEWEST:
            lines.append("  few questions: only large drops can be seen")
    elif plan.noise:
        lines.append("power: all questions are of one cluster, so that no drop can be certified")
    if plan.rejected:
        lines.append(f"distractors: {plan.rejected:,} candidates gave an answer away: not used")
    lines.append(f"asked levels delivered: {_delivered(plan)}")
    lines += left_out_lines(plan)
    return lines


def points(drop: float | None) -> str:
    """A drop in words."""
    return "no size" if drop is None else f"{100 * drop:.0f} points"


def _delivered(plan: StressPlan) -> str:
    total = len(plan.planned)
    return f"{total - plan.undelivered:,} of {total:,} rows"


def left_out_lines(plan: StressPlan, most: int = 4) -> list[str]:
    """Why rows are left out, the most frequent reasons first."""
    counts = Counter((one.test or "all tests", one.reason) for one in plan.left_out)
    lines = []
    for (test, reason), number in counts.most_common(most):
        example = next(o.id for o in plan.left_out if o.reason == reason)
        lines.append(f"left out of {test}: {number} ({reason}; such as {example})")
    if len(counts) > most:
        lines.append(f"left out for {len(counts) - most} more reasons (--json)")
    return lines
