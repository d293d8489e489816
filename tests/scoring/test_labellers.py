"""How often each of several people errs, and what they say of a row together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragassay.core import Interval
from ragassay.scoring import ppi
from ragassay.scoring.annotators import Votes
from ragassay.scoring.arrays import BoolArray, FloatArray
from ragassay.scoring.labellers import (
    EITHER,
    RIGHT,
    WRONG,
    LabellerModel,
    labeller_model,
)

ADA, BOB, CEM = (0.9, 0.85), (0.8, 0.9), (0.95, 0.7)


def planted(
    rows: int,
    people: list[tuple[float, float]],
    rate: float = 0.7,
    seed: int = 1,
    gaps: float = 0.0,
) -> tuple[Votes, BoolArray]:
    """Votes of people of known sensitivity and specificity, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < rate
    values = np.empty((rows, len(people)))
    for place, (sensitivity, specificity) in enumerate(people):
        is_right = rng.random(rows) < np.where(truth, sensitivity, specificity)
        values[:, place] = np.where(is_right, truth, ~truth)
    gap = rng.random(values.shape) < gaps
    gap[gap.all(1), 0] = False
    values[gap] = np.nan
    names = ("ada", "bob", "cem", "dee", "eve")[: len(people)]
    return Votes(names, tuple(f"r{i}" for i in range(rows)), values, np.arange(rows)), truth


def model_of(votes: Votes) -> LabellerModel:
    model = labeller_model(votes)
    assert isinstance(model, LabellerModel)
    return model


def by_loops(values: FloatArray, turns: int) -> tuple[list[float], list[tuple[float, float]]]:
    """The same expectation and maximisation, row by row, as Dawid and Skene write it down."""
    rows, people = values.shape
    given = [[v for v in row if not math.isnan(v)] for row in values.tolist()]
    chance = [sum(row) / len(row) for row in given]
    right: list[tuple[float, float]] = []
    for _ in range(turns):
        rate = (sum(chance) + EITHER) / (rows + 2 * EITHER)
        right = []
        for person in range(people):
            hit = [RIGHT, RIGHT]
            seen = [RIGHT + WRONG, RIGHT + WRONG]
            for row in range(rows):
                vote = values[row, person]
                if math.isnan(vote):
                    continue
                for side, weight in ((1, chance[row]), (0, 1 - chance[row])):
                    seen[side] += weight
                    hit[side] += weight * (vote == side)
            right.append((hit[1] / seen[1], hit[0] / seen[0]))
        for row in range(rows):
            passing, failing = rate, 1 - rate
            for person, (sensitivity, specificity) in enumerate(right):
                vote = values[row, person]
                if not math.isnan(vote):
                    passing *= sensitivity if vote else 1 - sensitivity
                    failing *= 1 - specificity if vote else specificity
            chance[row] = passing / (passing + failing)
    return chance, right


def test_the_model_is_that_of_an_implementation_by_loops() -> None:
    votes, _ = planted(80, [ADA, BOB, CEM], gaps=0.1, seed=3)
    model = model_of(votes)
    values = votes.values
    chance, right = by_loops(values, 1000)
    assert list(model.chance.values()) == pytest.approx(chance, abs=1e-3)
    for person, (sensitivity, specificity) in zip(model.people, right, strict=True):
        assert person.sensitivity == pytest.approx(sensitivity, abs=1e-3)
        assert person.specificity == pytest.approx(specificity, abs=1e-3)


def test_planted_errors_are_recovered() -> None:
    people = [ADA, BOB, CEM, (0.6, 0.6)]
    votes, truth = planted(1500, people, gaps=0.2)
    model = model_of(votes)
    assert model.rate == pytest.approx(truth.mean(), abs=0.02)
    for person, (sensitivity, specificity) in zip(model.people, people, strict=True):
        assert person.sensitivity == pytest.approx(sensitivity, abs=0.06)
        assert person.specificity == pytest.approx(specificity, abs=0.06)
        assert person.sensitivity_interval.low <= sensitivity <= person.sensitivity_interval.high
        assert person.shared <= person.labels
    wrong = np.mean([model.passes[f"r{i}"] != truth[i] for i in range(1500)])
    assert wrong == pytest.approx(model.doubt, abs=0.02)


def test_one_who_guesses_is_outvoted_and_one_label_is_never_turned_round() -> None:
    votes, _ = planted(200, [(0.98, 0.98), (0.5, 0.5), (0.5, 0.5)], rate=0.5, seed=5)
    values = votes.values.copy()
    values[:10, 1:] = np.nan
    model = model_of(Votes(votes.people, votes.rows, values, votes.cluster))
    against = (values[:, 1] == values[:, 2]) & (values[:, 0] != values[:, 1])
    assert against.sum() > 20
    sides = np.array(list(model.passes.values()))
    assert (sides[against] == values[against, 0]).mean() > 0.9
    assert (sides[:10] == values[:10, 0]).all()


def test_what_somebody_decided_who_saw_all_labels_counts_as_known() -> None:
    votes, _ = planted(60, [ADA, BOB, CEM])
    row = next(r for r, said in zip(votes.rows, votes.values, strict=True) if said.min() == 1)
    model = labeller_model(votes, {row: False})
    assert isinstance(model, LabellerModel)
    assert model.chance[row] == 0
    assert model.passes[row] is False


def test_labels_that_cannot_show_who_errs_are_given_no_model() -> None:
    two, _ = planted(200, [ADA, BOB])
    assert labeller_model(two) == "2 people cannot show which of them errs; three can"
    few, _ = planted(29, [ADA, BOB, CEM])
    assert str(labeller_model(few)).startswith("29 rows have labels of three people; 30 are needed")
    votes, _ = planted(100, [ADA, BOB, CEM, ADA])
    values = votes.values.copy()
    values[19:, 3] = np.nan
    seldom = Votes(votes.people, votes.rows, values, votes.cluster)
    assert str(labeller_model(seldom)).startswith("dee labelled 19 rows that two others")
    passing, _ = planted(100, [(0.99, 0.9)] * 3, rate=1.0)
    assert "is one that they fail" in str(labeller_model(passing))
    with pytest.raises(ValueError, match="1 for pass"):
        labeller_model(Votes(votes.people, votes.rows, votes.values + 1, votes.cluster))


def test_few_labels_leave_wide_intervals_and_noise_beyond_that_of_rows() -> None:
    small = model_of(planted(60, [ADA, BOB, CEM])[0])
    large = model_of(planted(1000, [ADA, BOB, CEM])[0])
    few = sum(width(person.specificity_interval) for person in small.people)
    many = sum(width(person.specificity_interval) for person in large.people)
    assert few > 1.5 * many
    assert small.noise > 5 * large.noise > 0


def width(interval: Interval) -> float:
    return interval.high - interval.low


def test_noise_widens_an_interval_by_the_sum_of_variances() -> None:
    interval = Interval(0.4, 0.62, 0.95, "t")
    alone = Interval(0.3, 0.7, 0.95, "t")
    estimate = ppi.Estimate(0.5, interval, 0.5, alone, 0.6, 1.0, 100.0, 50, 200, 50, 50.0, "PPI++")
    wider = ppi.with_noise(estimate, 0.0025, 0.0, 1.0)
    assert wider.interval is not None
    assert wider.labels_only_interval is not None
    # 1.95996^2 * .0025 = .0096036: sqrt(.1^2 + .0096036) = .140013, sqrt(.12^2 + ...) = .154931
    assert wider.interval.low == pytest.approx(0.5 - 0.140013, abs=1e-5)
    assert wider.interval.high == pytest.approx(0.5 + 0.154931, abs=1e-5)
    assert wider.labels_only_interval.low == pytest.approx(0.5 - math.sqrt(0.0496036), abs=1e-5)
    assert ppi.with_noise(estimate, 0.0, 0.0, 1.0) is estimate
