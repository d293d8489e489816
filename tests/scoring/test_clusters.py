"""Rows that belong together, as whole numbers."""

from __future__ import annotations

import numpy as np

from ragassay.scoring import clusters


def test_names_are_numbered_as_they_come_and_a_row_without_one_is_its_own() -> None:
    assert clusters.codes(["b", "a", None, "b", None]).tolist() == [0, 1, 2, 0, 3]
    assert clusters.codes([]).tolist() == []


def test_where_no_clusters_are_given_every_row_is_its_own() -> None:
    given = np.array([4, 4, 7])
    assert clusters.row_clusters(given, 3) is given
    assert clusters.row_clusters(None, 3).tolist() == [0, 1, 2]


def test_fewer_than_ten_clusters_are_warned_of() -> None:
    assert clusters.few_clusters_note(9) == "only 9 clusters: read the interval with care"
    assert (
        clusters.few_clusters_note(9, "intervals")
        == "only 9 clusters: read the intervals with care"
    )
    assert clusters.few_clusters_note(10) == ""
