"""Smaller weights that still say the same: integers with a scale a column, and what a stage of
training changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.export_model import WORDS
from training.graph import Heard, quantise

from training import first_stage


def test_a_column_is_rounded_on_its_own_scale() -> None:
    matrix = np.array([[1.0, -0.002], [0.5, 0.001], [-0.26, 0.0]], np.float32)
    packed, scale = quantise(matrix)
    assert packed.tolist() == [[64, -64], [32, 32], [-17, 0]]
    assert scale.tolist() == pytest.approx([1 / 64, 0.002 / 64])


def test_rounding_that_knows_the_inputs_changes_the_products_less() -> None:
    dice = np.random.default_rng(0)
    inputs = dice.normal(size=(400, 6)) @ dice.normal(size=(6, 24))  # 24 channels that go together
    matrix = dice.normal(size=(24, 10)).astype(np.float32)

    def error(moments: np.ndarray | None) -> float:
        packed, scale = quantise(matrix, moments)
        return float(np.abs(inputs @ (packed * scale) - inputs @ matrix).mean())

    assert error(inputs.T @ inputs) < 0.5 * error(None)


def test_a_channel_is_calmed_as_far_as_it_is_loud() -> None:
    heard = Heard(np.array([1.0, 1.0, 1.0, 8.0]), np.eye(4))
    assert heard.calm().tolist() == [1.0, 1.0, 1.0, 4.0]


def test_the_kept_first_stage_gives_its_weights_back() -> None:
    dice = np.random.default_rng(0)
    base = {
        WORDS: dice.normal(size=(5, 4)).astype(np.float32),
        "a": dice.normal(size=(3, 4)).astype(np.float32),
    }
    change = dice.normal(size=(3, 4)).astype(np.float32) * 0.01
    weights = {
        WORDS: base[WORDS],
        "a": base["a"] + change,
        "head.bias": np.array([0.25], np.float32),
    }
    again = first_stage.unpack(base, first_stage.pack(base, weights))
    assert again.keys() == weights.keys()
    assert again["head.bias"].tolist() == [0.25]
    assert np.array_equal(again[WORDS], base[WORDS])
    # Half a step of a 15th of the row's largest change, and the last bit of a float.
    allowed = np.abs(change).max(axis=1, keepdims=True) / 30 + 1e-6
    assert (np.abs(again["a"] - weights["a"]) <= allowed).all()
