"""Correction of a mean by a few labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.scoring import ppi
from ragassay.scoring.intervals import rate_interval
from support.examples import examples
from support.present import present

CASES = json.loads(Path(__file__).with_name("ppi_reference.json").read_text(encoding="utf-8"))


def world(n: int, total: int, rate: float, right: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    label = (rng.random(total) < rate).astype(float)
    score = np.where(rng.random(total) < right, label, rng.random(total) < rate).astype(float)
    return label, score, rng.permutation(total)[:n]


def corrected(n: int, total: int, rate: float, right: float, seed: int = 0) -> ppi.Estimate:
    label, score, places = world(n, total, rate, right, seed)
    return ppi.estimate(
        label[places], score[places], score, units=(places, np.arange(total)), seed=seed
    )


@pytest.mark.parametrize("case", CASES)
def test_the_plain_form_equals_the_reference_implementation(case):
    got = ppi.plain(
        np.array(case["label"]), np.array(case["score"]), np.array(case["others"]), case["weight"]
    )
    assert got.value == pytest.approx(case["value"], abs=1e-10)
    assert got.interval.low == pytest.approx(case["low"], abs=1e-10)
    assert got.interval.high == pytest.approx(case["high"], abs=1e-10)


def test_the_plain_form_by_hand():
    # weight 1: mean(others) = .5; mean(label - score) = (0 + 1) / 2 = .5; value 1.
    # variance: var(others) = .25, over 2 = .125; var(rest) = .25, over 2 = .125; reach 1.96 * .5
    got = ppi.plain(np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0)
    assert got.value == 1.0
    assert got.interval.high - 1.0 == pytest.approx(1.959963984540054 * 0.5)


def test_a_good_judge_makes_few_labels_worth_many():
    got = corrected(200, 5000, 0.5, 0.95)
    assert got.value is not None
    assert got.interval is not None
    assert got.interval.low < 0.5 < got.interval.high
    assert got.effective_labels is not None
    assert got.effective_labels > 800
    assert 0.8 < got.weight < 1.0
    assert got.method == "judge's verdict, beta"


def test_a_useless_judge_leaves_the_labels_alone():
    got = corrected(100, 1000, 0.5, 0.0, seed=3)
    assert got.method == "labels alone"
    assert got.value == got.labels_only
    assert got.interval == got.labels_only_interval
    assert got.effective_labels == 100
    assert "do not narrow" in got.reason


def test_fewer_than_fifty_labels_stand_alone_with_wilsons_interval():
    label, score, places = world(49, 1000, 0.5, 0.95)
    got = ppi.estimate(label[places], score[places], score)
    assert "fewer than 50" in got.reason
    assert got.interval == rate_interval(int(label[places].sum()), 49)


def test_a_constant_judge_leaves_the_labels_alone_and_says_so():
    got = ppi.estimate([0.0, 1.0] * 40, [1.0] * 80, [1.0] * 500)
    assert got.method == "labels alone"
    assert "one and the same score" in got.reason


def test_no_label_gives_no_value():
    got = ppi.estimate([], [], [0.2, 0.4])
    assert (got.value, got.interval, got.effective_labels) == (None, None, None)
    assert got.judge == pytest.approx(0.3)
    assert got.reason == "no labels"


def test_labels_that_all_agree_keep_an_interval_with_room():
    got = ppi.estimate([1.0] * 100, [1.0] * 90 + [0.0] * 10, [1.0] * 900 + [0.0] * 100)
    assert got.value == 1.0
    assert got.method == "labels alone"
    assert got.interval == rate_interval(100, 100)
    assert "all labels are equal" in got.reason


def test_a_judge_that_never_erred_on_the_labels_is_not_taken_as_flawless():
    # 60 labels without a disagreement leave up to 3.7 / 60 = 6 % undiscovered ones: the interval
    # has to know.
    rng = np.random.default_rng(1)
    label = (rng.random(5000) < 0.5).astype(float)
    got = ppi.estimate(label[:60], label[:60], label, units=(np.arange(60), np.arange(5000)))
    assert got.interval is not None
    assert got.interval.high - got.interval.low > 2 * 0.03


def test_a_judge_of_another_scale_or_turned_round_serves_as_well():
    label, score, places = world(200, 2000, 0.4, 0.9)
    units = places, np.arange(2000)
    straight = ppi.estimate(label[places], score[places], score, units=units)
    turned = ppi.estimate(label[places], 30 - 7 * score[places], 30 - 7 * score, units=units)
    assert turned.value == pytest.approx(straight.value)
    assert turned.interval is not None
    assert straight.interval is not None
    assert turned.interval.low == pytest.approx(straight.interval.low)


def test_when_every_row_is_labelled_the_judge_changes_nothing():
    label, score, _ = world(300, 300, 0.5, 0.9)
    got = ppi.estimate(label, score, score, units=(np.arange(300), np.arange(300)))
    assert got.value == pytest.approx(label.mean(), abs=1e-12)
    assert got.effective_labels == pytest.approx(300, rel=0.1)


def test_a_lenient_judge_does_not_bias_the_corrected_rate():
    values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        label = (rng.random(1500) < 0.3).astype(float)
        score = np.maximum(label, rng.random(1500) < 0.4)  # passes 40 % of the bad rows as well
        got = ppi.estimate(label[:150], score[:150], score, units=(np.arange(150), np.arange(1500)))
        assert got.judge is not None
        assert got.judge > 0.5
        values.append(present(got.value))
    assert np.mean(values) == pytest.approx(0.3, abs=0.012)  # standard error .004


@pytest.mark.slow
def test_labels_chosen_where_the_judge_is_unsure_are_weighted_back():
    inside, naive, values = 0, [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        score = rng.random(2000)
        label = (rng.random(2000) < score**2).astype(float)  # true rate 1 / 3
        chance = np.clip(0.02 + 0.2 * score, 0, 1)
        places = np.flatnonzero(rng.random(2000) < chance)
        got = ppi.estimate(
            label[places],
            score[places],
            score,
            units=(places, np.arange(2000)),
            inclusion=chance[places],
        )
        assert got.interval is not None
        inside += got.interval.low <= 1 / 3 <= got.interval.high
        values.append(present(got.value))
        naive.append(label[places].mean())
    assert inside >= 136  # 95 % of 150 is 142, standard deviation 2.7
    assert np.mean(values) == pytest.approx(1 / 3, abs=0.01)
    assert np.mean(naive) > 0.4


def test_strata_labelled_by_fixed_numbers_are_put_back_to_their_shares():
    # 900 rows of stratum 0 (rate .1) and 100 of stratum 1 (rate .9), 60 labels in each: the true
    # mean is .18.
    label = np.concatenate([np.tile([1.0] + [0.0] * 9, 90), np.tile([1.0] * 9 + [0.0], 10)])
    layer = np.repeat([0, 1], [900, 100])
    places = np.concatenate([np.arange(60), 900 + np.arange(60)])
    inclusion = np.where(layer[places] == 0, 60 / 900, 60 / 100)
    got = ppi.estimate(
        label[places],
        label[places],
        label,
        units=(places, np.arange(1000)),
        inclusion=inclusion,
        strata=(layer[places], layer),
    )
    assert got.labels_only == pytest.approx(0.9 * 0.1 + 0.1 * 0.9)
    assert got.value == pytest.approx(0.18, abs=1e-3)


def test_rows_of_one_cluster_count_as_one_unit():
    label, score, places = world(200, 2000, 0.5, 0.8)
    repeated = ppi.estimate(
        np.repeat(label[places], 5),
        np.repeat(score[places], 5),
        np.repeat(score, 5),
        units=(np.repeat(places, 5), np.repeat(np.arange(2000), 5)),
    )
    once = ppi.estimate(label[places], score[places], score, units=(places, np.arange(2000)))
    assert repeated.clusters == 200
    assert repeated.interval is not None
    assert once.interval is not None
    width = once.interval.high - once.interval.low
    assert repeated.interval.high - repeated.interval.low == pytest.approx(width, rel=0.1)


def test_labels_in_few_clusters_stand_alone():
    label, score, places = world(90, 900, 0.5, 0.9)
    got = ppi.estimate(
        label[places], score[places], score, units=(np.arange(90) % 6, np.arange(900) % 60)
    )
    assert got.method == "labels alone"
    assert "worth 6 independent" in got.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [1.0, 0.0], [1.0]), "every labelled row"),
        (([2.0], [1.0], [1.0]), "outside 0 to 1"),
        (([float("nan")], [1.0], [1.0]), "finite"),
        (([1.0], [1.0], [float("inf")]), "finite"),
    ],
)
def test_what_cannot_be_computed_with_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        ppi.estimate(*arguments)


def test_an_inclusion_probability_of_zero_is_refused():
    with pytest.raises(ValueError, match="inclusion"):
        ppi.estimate([1.0], [1.0], [1.0], inclusion=[0.0])


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 150),
    rate=st.floats(0, 1),
    right=st.floats(0, 1),
    size=st.integers(1, 8),
)
def test_the_interval_holds_its_value_and_with_a_fitted_weight_is_at_most_one_per_cent_wider(
    seed, n, rate, right, size
):
    label, score, places = world(n, 400, rate, right, seed)
    units = places // size, np.arange(400) // size
    got = ppi.estimate(label[places], score[places], score, units=units, seed=seed)
    again = ppi.estimate(label[places], score[places], score, units=units, seed=seed)
    assert got == again
    if got.interval is None or got.labels_only_interval is None or got.value is None:
        assert n < 2
        return
    assert 0 <= got.interval.low <= got.value <= got.interval.high <= 1
    if got.method.startswith("judge's verdict"):
        assert got.effective_labels is not None
        assert got.effective_labels > got.n_labelled
        return
    alone = got.labels_only_interval
    assert got.interval.high - got.interval.low <= 1.01 * (alone.high - alone.low) + 1e-12


def two_judges(n: int, total: int, seed: int, *, second: bool) -> ppi.Estimate:
    rng = np.random.default_rng(seed)
    label = (rng.random(total) < 0.7).astype(float)
    first = np.where(rng.random(total) < 0.8, label, 1 - label)
    other = np.clip(0.5 * label + 0.25 + rng.normal(0, 0.3, total), 0, 1)
    at = rng.permutation(total)[:n]
    return ppi.estimate(
        label[at],
        first[at],
        first,
        units=(at, np.arange(total)),
        seed=seed,
        second=(other[at], other) if second else None,
    )


@pytest.mark.slow
def test_a_second_judge_narrows_the_interval_and_keeps_its_promise():
    covered, widths = {True: 0, False: 0}, {True: 0.0, False: 0.0}
    for seed in range(300):
        for second in (True, False):
            one = two_judges(100, 1000, seed, second=second)
            assert one.interval is not None
            covered[second] += one.interval.low <= 0.7 <= one.interval.high
            widths[second] += one.interval.high - one.interval.low
            assert (one.second is None) is not second
    assert covered[True] >= 0.92 * 300
    assert widths[True] < 0.98 * widths[False]


def test_a_second_judge_that_says_nothing_or_the_same_changes_nothing():
    label, score, places = world(100, 1000, 0.7, 0.8)

    def beside(other: np.ndarray | None) -> ppi.Estimate:
        second = None if other is None else (other[places], other)
        return ppi.estimate(
            label[places], score[places], score, units=(places, np.arange(1000)), second=second
        )

    alone, same, constant = beside(None), beside(score), beside(np.full(1000, 0.3))
    assert constant.second == pytest.approx(0.0)
    assert constant.value == pytest.approx(alone.value)
    assert same.weight == pytest.approx(same.second)
    assert same.weight + present(same.second) == pytest.approx(alone.weight)
    assert same.value == pytest.approx(alone.value)
    with pytest.raises(ValueError, match="score for every labelled row"):
        ppi.estimate(label[places], score[places], score, second=([0.5], score))
    with pytest.raises(ValueError, match="finite"):
        ppi.estimate(label[places], score[places], score, second=(np.full(100, np.nan), score))
