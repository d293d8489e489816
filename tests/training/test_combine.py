"""Logits and figures to one line: what is weighed, what is calibrated, where the cut lies."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.combine import Figures, Line, best_cut, fit, line_inputs
from training.measure import calibration_error, support_odds, weigh
from training.pairs import Pair


def a_pair(source: str, label: int, figure: float, task: str = "support") -> Pair:
    return Pair(
        source,
        f"{source}:1",
        task,
        label,
        -1,
        np.zeros(5, np.int32),
        1,
        None,
        np.array([figure], np.float32),
    )


def test_the_odds_of_supported_are_against_both_other_classes_together() -> None:
    logits = np.log(np.array([[0.6, 0.3, 0.1], [0.2, 0.1, 0.7]], np.float32))
    assert support_odds(logits) == pytest.approx(np.log([0.6 / 0.4, 0.2 / 0.8]), abs=1e-6)


def test_a_line_is_a_capped_sum() -> None:
    line = Line(("a", "b"), np.array([1.0, -2.0]), np.array([3.0, 1.0]), 0.5)
    assert line.odds(np.array([[10.0, 0.25], [1.0, 9.0]])).tolist() == [
        3.0 - 0.5 + 0.5,
        1.0 - 2.0 + 0.5,
    ]
    assert line.probability(np.zeros((1, 2)))[0] == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_small_sets_and_rare_classes_weigh_as_much_as_others() -> None:
    sources, y = ["a"] * 6 + ["b"] * 2, np.array([1, 0, 0, 0, 0, 0, 1, 0])
    weights = weigh(sources, y)
    assert weights.sum() == pytest.approx(8)
    assert [weights[0], weights[1:6].sum(), weights[6], weights[7]] == pytest.approx([2, 2, 2, 2])


def test_the_cut_is_best_in_the_mean_of_sets_of_any_size() -> None:
    # The large set parts at .3 and the small one at .7; between them both lose alike little.
    p = np.array([0.1, 0.35] * 50 + [0.2, 0.75])
    y = np.array([0, 1] * 50 + [0, 1])
    assert 0.2 < best_cut(p, y, ["large"] * 100 + ["small"] * 2) <= 0.35


def test_a_fitted_line_means_shares_on_human_rows_and_made_ones_only_weigh_its_parts() -> None:
    dice = np.random.default_rng(0)
    pairs, logits = [], []
    for source, count in (("one", 600), ("two", 600), ("made:x", 900)):
        for _ in range(count):
            truth = dice.normal()
            # Words say much of people's labels and nothing of made ones; the network says something
            # of both.
            label = int(dice.random() < 1 / (1 + np.exp(-2 * truth)))
            figure = dice.normal() if source == "made:x" else truth + 0.5 * dice.normal()
            odds = 2 * truth + dice.normal()
            pairs.append(a_pair(source, label, figure))
            logits.append([odds, 0.0, -30.0, 0.0, 0.0, 0.0])
    told = np.array(logits, np.float32)
    figures = Figures([p for p in pairs if p.source == "one"])
    line = fit("support", ("figure",), figures, pairs, told)
    assert line.names == ("odds", "span_mean", "figure")
    assert (line.weights[[0, 2]] > 0).all()
    human = [i for i, p in enumerate(pairs) if p.source != "made:x"]
    x = line_inputs([pairs[i] for i in human], told[human])
    y = np.array([pairs[i].label for i in human])
    assert calibration_error(y, line.probability(x)) < 0.05
    alone = fit("support", ("figure",), figures, [pairs[i] for i in human], told[human])
    # Made rows, of which the figures know nothing, give the network a larger share.
    assert line.weights[0] / line.weights[2] > alone.weights[0] / alone.weights[2]


def test_the_network_can_be_given_its_share_of_the_line() -> None:
    dice = np.random.default_rng(1)
    pairs, logits = [], []
    for _ in range(400):
        truth = dice.normal()
        label = int(dice.random() < 1 / (1 + np.exp(-3 * truth)))
        pairs.append(a_pair("one", label, truth + dice.normal()))
        logits.append([truth + dice.normal(), 0.0, -30.0, 0.0, 0.0, dice.normal()])
    told, figures = np.array(logits, np.float32), Figures(pairs)

    def spread(share: float) -> tuple[float, float]:
        """Of the network's part of the odds, and of the figures'."""
        line = fit("support", ("figure",), figures, pairs, told, network=share)
        x = np.minimum(line_inputs(pairs, told), line.caps)
        return float((x[:, :2] @ line.weights[:2]).std()), float(x[:, 2].std() * line.weights[2])

    of_network, of_figures = spread(0.25)
    assert of_figures / of_network == pytest.approx(3.0, rel=1e-6)
    assert spread(0.0)[0] == 0.0
    assert spread(1.0)[1] == 0.0
