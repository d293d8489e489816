"""The errors of each person who labels, and what several of them say of a row together.

Dawid & Skene (1979), for labels that pass or fail: every row has a true label that nobody knows, a
person passes a row that truly passes with the chance of their sensitivity and fails one that truly
fails with that of their specificity, whatever the others say. Expectation and maximisation take
turns: how likely each row truly passes, given what is thought of the people; what is thought of the
people, given how likely each row passes. A prior of a few labels keeps both away from 0 and 1.

Two people never show which of them errs: seven unknowns of three people take rows that three of
them labelled. With fewer such rows there is no model, and the reason is returned.

That people err apart from each other is an assumption. Where the same rows mislead all of them,
their common error is taken for the truth, here as in every majority.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragassay.core import Interval
from ragassay.scoring.annotators import Votes
from ragassay.scoring.arrays import FloatArray, IntArray
from ragassay.scoring.intervals import beta_quantile

LEAST_PEOPLE = 3
LEAST_SHARED = 30
"""Rows that three people or more labelled."""
LEAST_OF_PERSON = 20
"""Of these, the rows that each person labelled."""
LEAST_OF_CLASS = 8.0
"""Of these, the rows that truly pass, and those that truly fail, as far as the model says."""
RIGHT, WRONG = 1.5, 0.5
"""The prior of sensitivity and specificity: two labels, more right than wrong, so that "pass" and
"fail" cannot change places."""
EITHER = 0.5
"""The prior of the share that passes: half a row on each side."""
DRAWS = 200
LEVEL = 0.95
_STEPS = 1000
_SETTLED, _SETTLED_ANEW = 1e-8, 1e-4
"""By how much no chance moves any more: of the rows as they are, and of those drawn anew."""


@dataclass(frozen=True, slots=True)
class Labeller:
    """A person's errors, against what is thought to be true.

    labels: rows they labelled; shared: of these, rows that two others labelled too. sensitivity:
    share of truly passing rows that they pass; specificity: of truly failing ones that they fail,
    both in [0, 1] with 95 % intervals.
    """

    name: str
    labels: int
    shared: int
    sensitivity: float
    sensitivity_interval: Interval
    specificity: float
    specificity_interval: Interval


@dataclass(frozen=True, slots=True)
class LabellerModel:
    """What several people say together.

    rows: with a label; shared: with three or more. rate: share of the rows that truly pass.
    chance: row id -> the chance that it truly passes. passes: row id -> the side that the labels
    speak for, each as much as its person is worth, whatever the other rows are like. doubt: the
    share of rows whose `passes` is expected to be wrong. noise: the variance that the mean of
    `chance` has because nobody knows the people's errors exactly, beyond that of rows drawn anew.
    """

    people: tuple[Labeller, ...]
    rows: int
    shared: int
    rate: float
    chance: Mapping[str, float]
    passes: Mapping[str, bool]
    doubt: float
    noise: float


def labeller_model(
    votes: Votes,
    decided: Mapping[str, bool] | None = None,
    weight: FloatArray | None = None,
    *,
    seed: int = 0,
) -> LabellerModel | str:
    """The model of people who pass or fail rows; the reason where these labels allow none.

    votes: 1 for pass, 0 for fail, NaN for no label. decided: row id -> what somebody decided who
    saw all labels; such a row counts as known. weight: (rows,) how many rows each stands for, None
    where all are equal. Raises ValueError for other votes.
    """
    values = votes.values
    known = ~np.isnan(values)
    if not np.isin(values[known], (0.0, 1.0)).all():
        raise ValueError("votes are 1 for pass and 0 for fail")
    reason = _why_none(votes, known)
    if reason:
        return reason
    table = _Patterns(votes, decided or {}, weight)
    fitted = _fitted(table, table.counts[None, :], None)
    chance = fitted.chance[0]
    three = known.sum(1) >= LEAST_PEOPLE
    passing = float(chance[table.of_row][three].sum())
    if min(passing, three.sum() - passing) < LEAST_OF_CLASS:
        which = "pass" if passing < three.sum() / 2 else "fail"
        return (
            f"hardly a row of the {int(three.sum())} with labels of three people is one that they"
            f" {which}"
        )
    drawn = table.resampled(seed)
    refitted = _fitted(table, drawn, fitted)
    return _model(votes, known, table, fitted, refitted, drawn)


def _why_none(votes: Votes, known: np.ndarray) -> str:
    """Why these labels cannot show who errs, "" where they can."""
    if len(votes.people) < LEAST_PEOPLE:
        return f"{len(votes.people)} people cannot show which of them errs; three can"
    three = known.sum(1) >= LEAST_PEOPLE
    if three.sum() < LEAST_SHARED:
        return (
            f"{int(three.sum())} rows have labels of three people; {LEAST_SHARED} are needed to"
            " show who errs"
        )
    for person, shared in zip(votes.people, known[three].sum(0).tolist(), strict=True):
        if shared < LEAST_OF_PERSON:
            name = person or "one person"
            return (
                f"{name} labelled {shared} rows that two others labelled too;"
                f" {LEAST_OF_PERSON} are needed to show who errs"
            )
    return ""


class _Patterns:
    """Rows with the same votes and decision, counted together.

    votes: (patterns, people), NaN for none. decided: (patterns,), NaN where nobody decided.
    of_row: (rows,) the pattern of each row. by_cluster: (clusters, patterns) weights. counts:
    (patterns,) their sums.
    """

    def __init__(
        self, votes: Votes, decided: Mapping[str, bool], weight: FloatArray | None
    ) -> None:
        decisions = [decided.get(row) for row in votes.rows]
        last = np.array([np.nan if said is None else float(said) for said in decisions])
        whole = np.column_stack([votes.values, last])
        # NaN is unlike itself: -1 stands for it while equal rows are looked for.
        filled = np.where(np.isnan(whole), -1.0, whole)
        found, of_row = np.unique(filled, axis=0, return_inverse=True)
        patterns = np.where(found < 0, np.nan, found)
        self.votes: FloatArray = patterns[:, :-1]
        self.decided: FloatArray = patterns[:, -1]
        self.of_row: IntArray = of_row.reshape(-1)
        each = np.ones(len(votes.rows)) if weight is None else weight / weight.mean()
        _, cluster = np.unique(votes.cluster, return_inverse=True)
        self.by_cluster: FloatArray = np.zeros((int(cluster.max()) + 1, len(patterns)))
        np.add.at(self.by_cluster, (cluster.reshape(-1), self.of_row), each)
        self.counts: FloatArray = self.by_cluster.sum(0)

    def resampled(self, seed: int) -> FloatArray:
        """(draws, patterns): counts of clusters drawn with replacement."""
        clusters = len(self.by_cluster)
        rng = np.random.default_rng(seed)
        drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS)
        counts: FloatArray = drawn @ self.by_cluster
        return counts


@dataclass(frozen=True, slots=True)
class _Fitted:
    """What is thought of rows and people, for each set of counts.

    chance: (sets, patterns); rate: (sets,); right: (sets, people, 2), specificity then sensitivity;
    worth: (sets, people, 2) labels behind each.
    """

    chance: FloatArray
    rate: FloatArray
    right: FloatArray
    worth: FloatArray


def _fitted(table: _Patterns, counts: FloatArray, start: _Fitted | None) -> _Fitted:
    """Expectation and maximisation in turns until nothing moves. counts: (sets, patterns)."""
    settled = _SETTLED if start is None else _SETTLED_ANEW
    if start is None:
        # Everybody is believed alike at first.
        given = (~np.isnan(table.votes)).sum(1)
        passed = (table.votes == 1.0).sum(1)
        chance = np.where(given > 0, passed / np.maximum(given, 1), 0.5)[None, :]
    else:
        chance = start.chance
    chance = np.broadcast_to(chance, counts.shape)
    for _ in range(_STEPS):
        rate, right, worth = _people(table, counts, chance)
        after = _chances(table, rate, right)
        moved = float(np.abs(after - chance).max())
        chance = after
        if moved < settled:
            break
    return _Fitted(chance, rate, right, worth)


def _people(
    table: _Patterns, counts: FloatArray, chance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The share that passes, and how often each person is right on either side, by the chances."""
    passing = counts * chance
    failing = counts - passing
    rate = (passing.sum(1) + EITHER) / (counts.sum(1) + 2 * EITHER)
    # (patterns, people) whether a person passes, fails.
    passed = np.nan_to_num(table.votes == 1.0).astype(float)
    failed = np.nan_to_num(table.votes == 0.0).astype(float)
    hits = np.stack([failing @ failed, passing @ passed], axis=-1)
    worth = np.stack([failing @ (passed + failed), passing @ (passed + failed)], axis=-1)
    right = (hits + RIGHT) / (worth + RIGHT + WRONG)
    return rate, right, worth


def _evidence(votes: FloatArray, right: FloatArray) -> FloatArray:
    """(sets, patterns): by how much the votes speak for a pass, as the logarithm of odds."""
    specificity, sensitivity = right[..., 0], right[..., 1]
    of_pass = np.log(sensitivity / (1 - specificity))
    of_fail = np.log((1 - sensitivity) / specificity)
    passed = (votes == 1.0).astype(float)
    failed = (votes == 0.0).astype(float)
    evidence: FloatArray = of_pass @ passed.T + of_fail @ failed.T
    return evidence


def _chances(table: _Patterns, rate: FloatArray, right: FloatArray) -> FloatArray:
    """(sets, patterns): the chance that a row with these votes truly passes, by Bayes' rule."""
    odds = _evidence(table.votes, right) + np.log(rate / (1 - rate))[:, None]
    chance = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    known = ~np.isnan(table.decided)
    chance[:, known] = table.decided[known]
    return chance


def _model(
    votes: Votes,
    known: np.ndarray,
    table: _Patterns,
    fitted: _Fitted,
    refitted: _Fitted,
    drawn: FloatArray,
) -> LabellerModel:
    """The result, of the rows as they are and as they are drawn anew."""
    chance = fitted.chance[0]
    speaks = _evidence(table.votes, fitted.right)[0] > 0
    decided = ~np.isnan(table.decided)
    speaks[decided] = table.decided[decided] == 1.0
    wrong = np.where(speaks, 1 - chance, chance)
    total = drawn.sum(1)
    anew = (drawn * refitted.chance).sum(1) / total
    as_is = (drawn @ chance) / total
    three = known.sum(1) >= LEAST_PEOPLE
    people = []
    for place, name in enumerate(votes.people):
        sides = []
        for side in (1, 0):
            middle = float(fitted.right[0, place, side])
            labels = float(fitted.worth[0, place, side]) + RIGHT + WRONG
            spread = float(refitted.right[:, place, side].var())
            sides.append((middle, _interval(middle, max(spread, middle * (1 - middle) / labels))))
        (sensitivity, of_sensitivity), (specificity, of_specificity) = sides
        people.append(
            Labeller(
                name,
                int(known[:, place].sum()),
                int(known[three, place].sum()),
                sensitivity,
                of_sensitivity,
                specificity,
                of_specificity,
            )
        )
    rows = dict(zip(votes.rows, table.of_row.tolist(), strict=True))
    return LabellerModel(
        people=tuple(people),
        rows=len(votes.rows),
        shared=int(three.sum()),
        rate=float(table.counts @ chance / table.counts.sum()),
        chance={row: float(chance[pattern]) for row, pattern in rows.items()},
        passes={row: bool(speaks[pattern]) for row, pattern in rows.items()},
        doubt=float(table.counts @ wrong / table.counts.sum()),
        noise=max(0.0, float(anew.var() - as_is.var())),
    )


def _interval(middle: float, variance: float) -> Interval:
    """Of a beta distribution with this mean and variance."""
    concentration = middle * (1 - middle) / variance - 1
    method = "Dawid & Skene, beta"
    if concentration <= 0:
        return Interval(0.0, 1.0, LEVEL, method)
    a, b = middle * concentration, (1 - middle) * concentration
    low = beta_quantile((1 - LEVEL) / 2, a, b)
    high = beta_quantile((1 + LEVEL) / 2, a, b)
    return Interval(min(low, middle), max(high, middle), LEVEL, method)
