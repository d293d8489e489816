"""The forecast of calls: said before anything is asked, and held against what was bought."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.tuning.forecast import Asking, CallForecast, certificate_calls, forecast_calls
from ragassay.tuning.search import SearchTask, search
from ragassay.tuning.values import BoolArray
from support.rubric_world import RubricWorld, ScriptedProposer, WorldBench


def accuracy(truth: BoolArray, passes: BoolArray) -> float:
    return float(np.mean(truth == passes))


def test_each_phase_is_counted_by_its_rows():
    told = forecast_calls(210, 90, 2000, Asking(), searches=True, certifies=True)
    assert (told.baseline, told.noise, told.certificate) == (210, 50, 180)
    # Four times 90 calls are kept for the certificate: 2,000 - 360 - 260 are left, 89 % are used.
    assert told.search == round(0.89 * 1380)
    assert told.calls == 210 + 50 + 180 + told.search
    assert told.low < told.calls < told.high <= 2000
    # A reflector that proposes nothing is asked twelve times.
    assert told.least == 272


def test_a_metric_that_asks_several_things_of_a_row_takes_more():
    asking = Asking(calls_a_row=2.5, cost_of_call=0.01)
    told = forecast_calls(100, 40, 3000, asking, searches=True, certifies=True)
    assert (told.baseline, told.noise, certificate_calls(40, asking)) == (250, 125, 400)
    assert told.cost == pytest.approx(0.01 * told.calls)


def test_what_is_in_the_store_is_not_bought_again():
    told = forecast_calls(100, 40, 3000, Asking(known=90), searches=True, certifies=True)
    assert told.baseline == 10


def test_without_a_reflector_or_a_certificate_only_the_judge_is_measured():
    told = forecast_calls(100, 40, 3000, Asking(), searches=False, certifies=False)
    assert (told.calls, told.low, told.high) == (150, 150, 150)
    free = forecast_calls(100, 40, 3000, Asking(0.0, 0.0), searches=False, certifies=True)
    assert (free.calls, free.cost) == (0, 0.0)


@pytest.mark.parametrize("cap", [0, 60, 150, 300])
def test_no_forecast_is_above_its_cap(cap: int):
    told = forecast_calls(210, 90, cap, Asking(), searches=True, certifies=True)
    assert told.leaves_no_search
    assert 0 <= told.least <= told.low <= told.calls <= told.high <= cap


def test_what_is_kept_for_the_end_of_a_search_is_none_to_search_with():
    """Of 900 calls 484 are kept for the certificate and 329 go to the judge as it is. Of the 416 of
    the search 187 are kept for its end, more than the 87 that are left.
    """

    def told(cap: int) -> CallForecast:
        return forecast_calls(
            279, 121, cap, Asking(), searches=True, certifies=True, validation=119
        )

    assert told(900).leaves_no_search
    assert told(900).search == 0
    # 484 + 329 + 332 for the end (twice 119 rows and twice 47 that change), and one round.
    assert told(1145 + 7).leaves_no_search is False


def test_over_several_worlds_the_searches_buy_what_was_forecast():
    """Worlds with errors that nothing mends, as real rows have them; the mean lies within 10 %."""
    cap, bought = 1200, []
    told = forecast_calls(0, 0, cap, Asking(), searches=True, certifies=False)
    for seed in range(20, 30):
        world = RubricWorld(seed)
        bench = WorldBench(world)
        train, validation, _ = world.parts
        task = SearchTask(
            world.rubric,
            world.rows,
            train,
            validation,
            accuracy,
            cap,
            slices=world.slices,
            seed=seed,
        )
        bought.append(search(task, bench, ScriptedProposer(bench)).calls)
    assert np.mean(bought) == pytest.approx(told.calls, rel=0.1)
    assert sum(told.low <= calls <= told.high for calls in bought) >= 7
