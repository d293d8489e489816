"""Vectors of words, the energy test of two sets, and the map."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.scoring.energy import energy_test
from ragassay.scoring.point_map import point_map
from ragassay.scoring.word_vectors import principal_axes, word_vectors, words_of


def test_texts_of_the_same_words_have_the_same_vector_and_others_not() -> None:
    a, b, c, empty = word_vectors(
        ["Lost card?", "card LOST", "opening hours of the library", "the a of"]
    )
    assert a @ b == pytest.approx(1.0)
    assert abs(float(a @ c)) < 0.6
    assert not empty.any()
    assert words_of("Where is the Café, please?") == ["café"]


def test_the_axes_of_points_on_a_line_lie_along_it() -> None:
    line = np.outer(np.arange(10, dtype=np.float32), np.array([3, 4, 0], dtype=np.float32))
    mean, axes, share = principal_axes(line, 1)
    assert mean == pytest.approx([13.5, 18.0, 0.0])
    assert axes[0] == pytest.approx([0.6, 0.8, 0.0], abs=1e-6)
    assert share == pytest.approx(1.0)


def test_the_energy_distance_of_two_points_is_that_of_hand_arithmetic() -> None:
    # All distances across 1, none within: (2 * 1 - 0 - 0) / (2 * 1) = 1.
    first, later = np.zeros((4, 1)), np.ones((4, 1))
    found = energy_test(first, later, (np.arange(4), np.arange(4, 8)))
    assert found.size == pytest.approx(1.0)
    # Of the 70 ways to choose four of eight sessions two are as extreme: p is near 2 / 70.
    assert found.p is not None
    assert found.p < 0.08


def test_rows_that_repeat_inside_sessions_are_no_shift() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(60):
        session = np.repeat(np.arange(40), 5)
        rows = np.repeat(rng.normal(size=(40, 3)), 5, axis=0)
        found = energy_test(rows[:100], rows[100:], (session[:100], session[100:]))
        assert found.p is not None
        alarms += found.p <= 0.05
    # 5 % of 60 is 3; more than 8 come one time in 250.
    assert alarms <= 8


def test_a_shift_is_found_with_the_rows_that_lie_farthest() -> None:
    rng = np.random.default_rng(6)
    earlier = rng.normal(size=(60, 2))
    later = rng.normal(size=(30, 2))
    later[7] += 9
    found = energy_test(earlier, later + 1.5, (np.arange(60), np.arange(60, 90)))
    assert found.p is not None
    assert found.p < 0.02
    assert found.farthest[0] == 7
    few = energy_test(earlier, later[:3], (np.arange(60), np.zeros(3, dtype=int) + 99))
    assert few.p is None


def test_topics_are_clusters_and_the_same_seed_gives_the_same_bytes() -> None:
    rng = np.random.default_rng(1)
    topics = [[f"t{topic}w{word}" for word in range(8)] for topic in range(4)]
    truth = rng.integers(0, 4, 800)
    texts = [" ".join(rng.choice(topics[topic], 5)) for topic in truth.tolist()]
    made, again = point_map(word_vectors(texts), seed=3), point_map(word_vectors(texts), seed=3)
    assert made.places.tobytes() == again.places.tobytes()
    assert made.cluster.tobytes() == again.cluster.tobytes()
    assert made.places.min() == 0
    assert made.places.max() == 1
    pure = sum(
        int(np.bincount(truth[made.cluster == number]).max())
        for number in range(int(made.cluster.max()) + 1)
    )
    assert pure / len(texts) > 0.9


def test_vectors_that_are_all_alike_are_one_cluster() -> None:
    made = point_map(word_vectors(["same words here"] * 50))
    assert set(made.cluster.tolist()) == {0}
    with pytest.raises(ValueError):
        point_map(word_vectors(["one"]))
