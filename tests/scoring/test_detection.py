"""d' and the criterion, and what a threshold explains of a gain; hand-worked."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.scoring.detection import (
    Rates,
    d_prime,
    gain_parts,
    positives_implied,
    rates_from,
    rates_from_counts,
    rates_of,
)


def test_d_prime_and_criterion_follow_from_hits_and_false_alarms():
    # z(.8413) = 1, z(.1587) = -1, z(.5) = 0
    rates = Rates(0.8413447, 0.1586553, 0.5)
    assert rates.d_prime == pytest.approx(2.0, abs=1e-5)
    assert rates.criterion == pytest.approx(0.0, abs=1e-5)
    strict = Rates(0.5, 0.1586553, 0.5)
    assert strict.d_prime == pytest.approx(1.0, abs=1e-5)
    assert strict.criterion == pytest.approx(0.5, abs=1e-5)


def test_another_threshold_leaves_d_prime_as_it_is():
    moved = Rates(0.8, 0.3, 0.4).moved(0.7)
    assert moved.d_prime == pytest.approx(Rates(0.8, 0.3, 0.4).d_prime)
    assert moved.criterion == pytest.approx(0.7)
    assert moved.prevalence == 0.4


def test_a_table_gets_half_a_row_in_each_cell():
    rates = rates_of(np.array([10.0, 0.0, 0.0, 10.0]))
    assert rates is not None
    assert (rates.hits, rates.false_alarms) == (10.5 / 11, 0.5 / 11)
    assert d_prime(np.array([5.0, 0.0, 5.0, 0.0])) is None


def test_precision_recall_and_prevalence_imply_the_rates():
    # 100 rows, 40 pass: 32 of them are passed, and 8 others: precision .8, recall .8
    rates = rates_from(0.8, 0.8, 0.4)
    assert rates.false_alarms == pytest.approx(8 / 60)
    assert rates.figure("f1") == pytest.approx(0.8)
    assert rates.figure("accuracy") == pytest.approx(0.84)
    with pytest.raises(ValueError, match="cannot be at prevalence"):
        rates_from(0.5, 0.9, 0.6)
    with pytest.raises(ValueError, match="precision must lie between 0 and 1"):
        rates_from(1.0, 0.9, 0.5)


def test_counts_of_errors_imply_how_many_rows_pass_in_two_ways():
    # 32 passed rightly, 8 falsely, 8 failed falsely: both ways 40
    assert positives_implied(0.8, 0.8, 8, 8) == pytest.approx((40, 40))
    rates = rates_from_counts(0.8, 8, 8, 100)
    assert rates.hits == 0.8
    assert rates.prevalence == pytest.approx(0.4)
    assert rates.false_alarms == pytest.approx(8 / 60)


def test_a_gain_by_threshold_alone_has_no_other_part():
    before = Rates(0.9, 0.4, 0.3)
    parts = gain_parts(before, before.moved(0.4), "f1")
    assert parts.by_threshold == pytest.approx(parts.gain)
    assert parts.by_judgment == pytest.approx(0)


def test_a_better_judge_at_the_same_threshold_gains_by_judgment_alone():
    # d' 1 and 2, criterion 0 in both
    parts = gain_parts(Rates(0.6914625, 0.3085375, 0.5), Rates(0.8413447, 0.1586553, 0.5), "kappa")
    assert parts.by_threshold == pytest.approx(0, abs=1e-6)
    # kappa of balanced classes is hits less false alarms: .6827 - .3829
    assert parts.by_judgment == pytest.approx(0.2998, abs=1e-4)
