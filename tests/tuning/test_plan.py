"""The plan of a search: what labels can certify, said before anything is asked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragassay.tuning.aim import Aim
from ragassay.tuning.plan import row_spread, search_plan

ACCURACY = Aim("accuracy")


def plan(cluster, **options):
    return search_plan(options.pop("aim", ACCURACY), cluster, passed=0.5, max_calls=2000, **options)


def test_independent_rows_follow_the_normal_rule_of_thumb():
    # (1.96 + .84)^2 * (.2 - .05^2) / .05^2 = 620 rows, and 2 / .05 more for counting whole rows
    found = plan(np.arange(300), churn=0.2)
    five, ten = found.needed
    assert five.rows == pytest.approx(660, abs=8)
    assert five.clusters == five.rows
    assert five.labelled == math.ceil(five.rows / 0.3)
    assert ten.rows == pytest.approx(149 + 20, abs=5)
    # The least gain that 300 rows show: 2.8 * sqrt((.2 - .075^2) / 300) + 1 / 300
    assert found.detectable == pytest.approx(0.0746, abs=0.002)
    assert five.power == pytest.approx(0.43, abs=0.03)
    assert ten.power > 0.95


def test_clusters_ask_for_more_rows_by_their_design_effect():
    alone = plan(np.arange(600), churn=0.2).needed[0]
    grouped = plan(np.repeat(np.arange(120), 5), churn=0.2, icc=0.3).needed[0]
    assert grouped.rows == pytest.approx(alone.rows * (1 + 4 * 0.3), rel=0.05)
    assert grouped.clusters == pytest.approx(grouped.rows / 5, abs=1)


def test_three_finalists_ask_for_more_rows_than_one():
    one = plan(np.arange(300), churn=0.2).needed[0]
    three = plan(np.arange(300), churn=0.2, finalists=3).needed[0]
    # (2.394 + .842)^2 / (1.96 + .842)^2 = 1.33
    assert three.rows == pytest.approx(1.33 * one.rows, rel=0.02)


def test_nine_clusters_are_too_few_and_the_plan_says_so():
    found = plan(np.repeat(np.arange(9), 40), churn=0.2, icc=0.1)
    assert not found.can_certify
    assert [one.power for one in found.needed] == [0.0, 0.0]
    lines = found.lines()
    assert "  no gain, however large, can be certified on them" in lines
    assert lines[-1].startswith("9 effective clusters are too few for a certificate")
    assert found.needed[1].clusters >= 10


def test_one_large_cluster_among_many_counts_for_what_it_is():
    sizes = [200, *[5] * 20]
    found = plan(np.repeat(np.arange(21), sizes), churn=0.2, icc=0.2)
    # 300^2 / (200^2 + 20 * 25)
    assert found.effective_clusters == pytest.approx(90000 / 40500)
    assert not found.can_certify


def test_what_was_assumed_is_said():
    found = plan(np.repeat(np.arange(60), 5))
    assert found.notes == (
        "assumed: the baseline is taken to be right on 75% of the rows; a candidate is taken to"
        " change 20% of the verdicts; changes are taken to be alike within clusters by 0.1 (ICC)",
    )
    known = plan(np.arange(300), churn=0.1, icc=0.0, baseline=np.array([100.0, 50.0, 50.0, 100.0]))
    assert known.notes == ()


def test_the_spread_of_a_row_is_in_the_aims_own_unit():
    table = 100 * np.array([3.0, 1.0, 1.0, 3.0])
    assert row_spread(ACCURACY, table, 0.2) == pytest.approx(math.sqrt(0.2), rel=0.01)
    # Kappa of balanced classes moves by two for one of accuracy; cost 3:1 by sqrt((1 + 9) / 2).
    assert row_spread(Aim("kappa"), table, 0.2) == pytest.approx(2 * math.sqrt(0.2), rel=0.02)
    cost = row_spread(Aim("cost", false_pass=3), table, 0.2)
    assert cost == pytest.approx(math.sqrt(0.2 * 5), rel=0.01)


def test_calls_and_money_are_the_most_that_a_search_may_take():
    free = plan(np.arange(300))
    assert (free.spending.calls, free.spending.cost) == (2000, None)
    priced = plan(np.arange(300), cost_of_call=0.001)
    assert priced.spending.cost == pytest.approx(2.0)
    capped = plan(np.arange(300), cost_of_call=0.01, max_cost=5.0)
    assert (capped.spending.calls, capped.spending.cost) == (500, pytest.approx(5.0))
    assert capped.spending_words == "at most 500 calls, $5.00"
