"""The line from logits and figures to a probability: exact, capped, safe at the ends, and loud when
it is damaged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.combiner import (
    Combiner,
    Joined,
    inputs,
    lowest,
    sigmoid,
    support_odds,
    unpack,
)
from ragassay.models.offline.heads import Head
from ragassay.models.offline.reader import NetworkOutput

TOLD: dict[str, Any] = {
    "names": ["odds", "coverage"],
    "weights": [2.0, 1.5],
    "caps": [12.0, 1.0],
    "offset": -1.0,
    "cut": 0.4,
}


def said(support: tuple[float, float, float], *unsupported: float) -> NetworkOutput:
    return NetworkOutput(
        np.array(support, np.float32), 0.5, -0.25, np.array(unsupported, np.float32)
    )


def test_the_probability_is_the_logistic_of_a_capped_sum() -> None:
    line = unpack(TOLD)
    assert line.cut == 0.4
    assert line.probability({"odds": 0.25, "coverage": 0.5, "other": 9.0}) == 1 / (
        1 + math.exp(-0.25)
    )
    assert line.probability({"odds": 99.0, "coverage": 7.0}) == 1 / (1 + math.exp(-24.5))
    with pytest.raises(KeyError):
        line.probability({"odds": 1.0})


@given(st.floats(-1e6, 1e6))
def test_the_logistic_function_stays_in_its_range_and_is_symmetric(odds: float) -> None:
    assert 0.0 <= sigmoid(odds) <= 1.0
    assert sigmoid(odds) + sigmoid(-odds) == pytest.approx(1.0)
    assert sigmoid(math.log(3)) == pytest.approx(0.75)


def test_what_a_task_takes_from_the_network() -> None:
    found = inputs("support", said((2.0, 1.0, 0.0), -3.0, 4.0, 1.5))
    assert found["odds"] == pytest.approx(2 - math.log(math.e + 1), abs=1e-6)
    assert (found["contradicted"], found["span_highest"], found["span_second"]) == (1.0, 4.0, 1.5)
    assert found["span_mean"] == pytest.approx(2.5 / 3)
    alone = inputs("support", said((0.0, 0.0, 0.0), -3.0))
    assert alone["span_highest"] == alone["span_second"] == alone["span_mean"] == -3.0
    assert inputs("relevance", said((0, 0, 0), 1.0)) == {"odds": 0.5}
    assert inputs("answer", said((0, 0, 0), 1.0)) == {"odds": -0.25}


def test_a_claim_of_several_sentences_is_as_well_supported_as_the_least_of_them() -> None:
    good, bad = said((3.0, 0.0, 0.0), -2.0, -1.0), said((0.0, 2.0, 1.0), 5.0)
    whole = lowest([good, bad, good])
    assert support_odds(whole) == support_odds(bad) < support_odds(good)
    assert whole.unsupported.tolist() == [-2.0, -1.0, 5.0, -2.0, -1.0]
    assert lowest([good]).support.tolist() == [3.0, 0.0, 0.0]


def test_trees_may_be_an_input_of_the_line() -> None:
    """One tree: 1.5 where the figure is at most 0.5, else -0.5, on top of 0.25."""
    tree = Head(
        ("figure",),
        0.25,
        np.zeros((1, 3), np.int16),
        np.array([[0.5, 9.0, 9.0]]),
        np.array([[1, 1, 2]], np.int16),
        np.array([[2, 1, 2]], np.int16),
        np.array([[0.0, 1.5, -0.5]]),
        1,
        np.array([-1.0, 1.0]),
        np.array([0.0, 1.0]),
    )
    joined = Joined(Combiner(("odds", "trees"), (0.5, 2.0), (12.0, 1.0), -1.0, 0.5), tree)
    assert set(joined.names) == {"odds", "figure"}
    assert joined.probability({"odds": 3.0, "figure": 0.75}) == sigmoid(
        0.5 * 3 + 2 * (0.25 - 0.5) - 1
    )
    assert joined.probability({"odds": 3.0, "figure": 0.5}) == sigmoid(
        0.5 * 3 + 2 * 1.0 - 1
    )  # 1.75, capped at 1
    with pytest.raises(KeyError):
        joined.probability({"odds": 3.0})


@pytest.mark.parametrize(
    "damage",
    [{"caps": [1.0]}, {"weights": ["x", 1]}, {"names": None}, {"offset": None}, {"cut": "high"}],
)
def test_a_damaged_line_is_an_error(damage: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        unpack({**TOLD, **damage})
    with pytest.raises(KeyError):
        unpack({name: value for name, value in TOLD.items() if name != next(iter(damage))})


def test_a_line_without_inputs_is_its_offset() -> None:
    assert Combiner((), (), (), 0.0, 0.5).probability({}) == 0.5
