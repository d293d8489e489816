"""Agreement on stretches of text, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring.stretch_agreement import MarkedRow, joined, stretch_figures, without


def values(rows: list[MarkedRow]) -> dict[str, float | None]:
    return {figure.name: figure.value for figure in stretch_figures(rows, draws=200)}


def test_characters_and_stretches_are_counted_over_all_rows() -> None:
    rows = [
        # People mark 20 characters in two stretches, the judge 15: 10 and 2 of them are right.
        MarkedRow(((0, 10), (30, 40)), ((0, 10), (38, 43)), "a"),
        # Nothing is unsupported, and the judge marks 5.
        MarkedRow((), ((5, 10),), "b"),
        # The judge misses a stretch of 4.
        MarkedRow(((1, 5),), (), "c"),
    ]
    got = values(rows)
    assert got["character precision"] == pytest.approx(12 / 20)
    assert got["character recall"] == pytest.approx(12 / 24)
    assert got["character F1"] == pytest.approx(2 * 0.6 * 0.5 / 1.1)
    # Of the judge's three stretches one is at least half right (2 of 5 is not); of people's three
    # one is found (2 of 10 is not).
    assert got["stretch precision"] == pytest.approx(1 / 3)
    assert got["stretch recall"] == pytest.approx(1 / 3)


def test_what_the_judge_did_not_judge_counts_neither_way() -> None:
    got = values([MarkedRow(((0, 10), (20, 30)), ((0, 10),), "a", unjudged=((18, 40),))])
    assert got["character recall"] == 1.0
    assert without(((0, 10), (20, 30)), ((5, 8), (18, 22))) == ((0, 5), (8, 10), (22, 30))


def test_a_side_that_marks_nothing_has_no_figure_and_few_clusters_no_interval() -> None:
    figures = {f.name: f for f in stretch_figures([MarkedRow((), ((0, 5),), "a")] * 3, draws=100)}
    assert figures["character recall"].value is None
    assert "people mark nothing" in figures["character recall"].reason
    assert figures["character precision"].value == 0.0
    assert figures["character precision"].interval is None
    assert "1 effective clusters" in figures["character precision"].reason


def test_the_interval_goes_by_clusters_and_holds_the_truth() -> None:
    # Each row has one stretch of people; the judge finds it with a chance that its cluster shares.
    held = 0
    widths = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        rows = []
        for cluster in range(40):
            chance = rng.beta(3, 2)  # mean .6
            for _ in range(5):
                found = ((0, 10),) if rng.random() < chance else ()
                rows.append(MarkedRow(((0, 10),), found, str(cluster)))
        recall = stretch_figures(rows, draws=200, seed=seed)[1]
        assert recall.interval is not None
        held += recall.interval.low <= 0.6 <= recall.interval.high
        widths.append(recall.interval.high - recall.interval.low)
    assert held >= 0.9 * 120
    # Rows taken as independent would reach .068 to either side; clusters of icc 1/6 widen that.
    assert np.mean(widths) / 2 > 0.068


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_joined_stretches_mark_the_same_characters_once(pairs: list[tuple[int, int]]) -> None:
    marked = joined(pairs)
    characters = {at for start, end in pairs for at in range(start, end)}
    assert {at for start, end in marked for at in range(start, end)} == characters
    assert sum(end - start for start, end in marked) == len(characters)
