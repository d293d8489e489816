"""Errors by group of rows, and by the size of the cluster."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.scoring.cluster_sizes import error_by_cluster_size
from ragassay.scoring.error_groups import error_groups


def test_a_group_is_compared_with_the_other_rows_by_hand() -> None:
    # 20 rows of the group, 8 passed wrongly; 20 others, 2. Every row is its own cluster.
    error = np.array([1.0] * 8 + [0.0] * 12 + [1.0] * 2 + [0.0] * 18)
    inside = np.arange(40) < 20
    known = np.ones(40, dtype=bool)
    (group,) = error_groups(error, [("long", known, inside)], np.arange(40))
    assert (group.rows, group.others) == (20, 20)
    assert (group.error, group.other_error) == (0.4, 0.1)
    assert group.difference == pytest.approx(0.3)
    # variance: .4 * .6 / 20 + .1 * .9 / 20 = .0165, times 40 / 39; t on 19 degrees of freedom
    deviation = (0.0165 * 40 / 39) ** 0.5
    assert group.interval.high - group.difference == pytest.approx(2.0930 * deviation, rel=1e-3)
    # 2.306 standard errors: p .0325 by a table of t
    assert group.p == pytest.approx(0.0325, abs=0.001)


def test_p_is_corrected_for_all_groups_and_small_sides_are_left_out() -> None:
    rng = np.random.default_rng(0)
    error = rng.integers(0, 2, 60).astype(float)
    known = np.ones(60, dtype=bool)
    half = np.arange(60) % 2 == 0
    few = np.arange(60) < 5
    alone = error_groups(error, [("half", known, half)], np.arange(60))
    third = np.arange(60) % 3 == 0
    both = error_groups(
        error, [("half", known, half), ("third", known, third), ("few", known, few)], np.arange(60)
    )
    assert {group.name for group in both} == {"half", "third"}
    assert next(group.p for group in both if group.name == "half") >= alone[0].p


def test_rows_of_a_cluster_do_not_count_as_independent() -> None:
    error = np.repeat([1.0, 0.0] * 12, 5)
    known = np.ones(120, dtype=bool)
    inside = np.arange(120) < 60
    error[:60] = np.repeat([1.0] * 9 + [0.0] * 3, 5)
    by_rows = error_groups(error, [("first", known, inside)], np.arange(120))[0]
    by_clusters = error_groups(error, [("first", known, inside)], np.arange(120) // 5)[0]
    assert by_rows.difference == by_clusters.difference
    assert by_clusters.p > 4 * by_rows.p


def test_a_false_alarm_is_as_rare_as_it_says() -> None:
    alarms = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(30), 3)
        chance = rng.beta(2, 6, 30)[cluster]
        error = (rng.random(90) < chance).astype(float)
        known = np.ones(90, dtype=bool)
        (group,) = error_groups(error, [("g", known, cluster % 2 == 0)], cluster)
        alarms += group.p < 0.05
    assert alarms <= 0.08 * 400


def test_errors_that_go_with_the_size_of_the_cluster_are_seen_and_others_are_not() -> None:
    sizes = [2] * 20 + [6] * 20
    cluster = np.repeat(np.arange(40), sizes)
    large = np.repeat(np.array(sizes) > 4, sizes)
    rng = np.random.default_rng(1)
    found = error_by_cluster_size(rng.random(160) < np.where(large, 0.5, 0.1), cluster)
    assert found is not None
    assert found.name == "rows of clusters of more than 4"
    assert found.error > found.other_error
    alike = [
        error_by_cluster_size(np.random.default_rng(seed).random(160) < 0.3, cluster)
        for seed in range(100)
    ]
    assert sum(group is not None for group in alike) <= 10
    assert error_by_cluster_size(large, None) is None
    assert error_by_cluster_size(large[:40], np.arange(40)) is None
