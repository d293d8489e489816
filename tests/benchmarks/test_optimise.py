"""The worlds of the benchmark on optimising, and what the certificate makes of a few of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measured_parts import parts_of
from benchmarks.optimise import http
from benchmarks.optimise.false_gains import AIMS, certified
from benchmarks.optimise.power import Case, planned, runs_of
from benchmarks.optimise.worlds import World, draw

from ragassay.testing import LLMServer


def test_a_world_has_the_churn_the_gain_and_the_clusters_that_it_was_asked_for() -> None:
    world = World(100_000, 20_000, 0.2, gains=(0.05, 0.0), icc=0.3)
    truth, cluster, baseline, (better, equal) = draw(world, np.random.default_rng(1))
    assert len(np.unique(cluster)) == 20_000
    assert (baseline == truth).mean() == pytest.approx(0.75, abs=0.01)
    assert (better != baseline).mean() == pytest.approx(0.2, abs=0.01)
    assert (better == truth).mean() - (baseline == truth).mean() == pytest.approx(0.05, abs=0.006)
    assert (equal == truth).mean() - (baseline == truth).mean() == pytest.approx(0, abs=0.006)


def test_rows_of_a_cluster_are_alike_by_the_icc() -> None:
    world = World(40_000, 20_000, 0.2, gains=(0.0,), icc=0.3)
    truth, _, _, _ = draw(world, np.random.default_rng(2))
    first, second = truth.reshape(-1, 2).T
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
def test_where_nothing_can_be_gained_certificates_are_as_rare_as_promised() -> None:
    """400 worlds with clusters: 2.5 % are 10, and 19 would be three standard errors more."""
    rng = np.random.default_rng(3)
    world = World(150, 30, 0.2, sizes="unequal")
    false_gains = 0
    for number in range(400):
        truth, cluster, baseline, finalists = draw(world, rng)
        aim = list(AIMS.values())[number % len(AIMS)]
        passed, _, _ = certified(aim, truth, cluster, baseline, finalists)
        false_gains += any(passed)
    assert false_gains <= 19


@pytest.mark.slow
def test_the_rows_that_the_plan_asks_for_give_the_power_that_it_names() -> None:
    """200 runs: .80 less three standard errors is .715."""
    case = Case("planned", 0.1, 0.2, cluster_size=5, icc=0.3, finalists=1)
    rows, clusters = planned(case)
    assert rows == 5 * clusters
    found = runs_of(case, 0, 200)
    assert 0.715 <= found["power"] <= 0.9
    assert abs(found["excess"]) < 0.008


def test_every_module_that_measures_is_a_part() -> None:
    assert {"false_gains", "free_steps", "http", "power"} <= set(parts_of("optimise"))


def test_a_world_over_http_opens_its_sealed_rows_for_three_finalists(tmp_path: Path) -> None:
    """What nothing can be gained in is measured there as by the certificate alone."""
    world = http.drawn(World(60, 12, 0.2), np.random.default_rng(7))
    with LLMServer(models=["judge", "reflector"]) as server:
        found = http.run_of(world, "accuracy", server, tmp_path)
        assert server.stats()["answered_twice"] == 0
    assert found["tested"] == 3
    assert (found["certified"], found["printed"]) == http.alone(world, "accuracy")
    # 48 rows and 48 again, 24 by three rubrics, 60 sealed by all four, and the known example.
    assert found["calls"] == found["counted"] == 2 * 48 + 3 * 24 + 4 * 60 + 1
