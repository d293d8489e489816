"""Labels of several people as one a row."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.core import HumanLabel
from ragassay.runs.decisions import DECIDED
from ragassay.runs.joined_labels import joined_labels
from ragassay.scoring.correction import RowLabel, RunRow, corrected_metric

RIGHT = {"ada": 0.95, "bob": 0.9, "cem": 0.6}


def labels(rows: int, people: list[str], seed: int = 1) -> tuple[list[HumanLabel], dict[str, bool]]:
    """Of people who are right with their chance, on rows of which 70 % pass."""
    rng = np.random.default_rng(seed)
    truth = {f"r{number}": bool(rng.random() < 0.7) for number in range(rows)}
    given = [
        HumanLabel(row, "groundedness", name, float(passes is bool(rng.random() < RIGHT[name])))
        for row, passes in truth.items()
        for name in people
    ]
    return given, truth


def test_labels_of_three_become_one_a_row_by_how_often_each_errs() -> None:
    given, truth = labels(120, ["ada", "bob", "cem"])
    joined = joined_labels(given)
    assert joined.model is not None
    assert [label.row_id for label in joined.labels] == list(truth)
    assert joined.noise > 0
    by_name = {person.name: person for person in joined.model.people}
    assert by_name["cem"].sensitivity < by_name["ada"].sensitivity
    # Ada and Cem differ, Bob has no say: it is Ada who is believed.
    alone = [label for label in given if label.row_id != "r0"]
    alone += [HumanLabel("r0", "groundedness", name, v) for name, v in (("ada", 1.0), ("cem", 0.0))]
    (first,) = [label for label in joined_labels(alone).labels if label.row_id == "r0"]
    assert first.value > 0.7
    (note,) = joined.notes("their mean")
    assert note.startswith("120 rows have labels of several people, who differ on ")
    assert "Dawid and Skene" in note


def test_one_label_a_row_and_labels_of_two_people_stay_as_they_are() -> None:
    single, _ = labels(40, ["ada"])
    assert joined_labels(single).labels == single
    assert joined_labels(single).notes("their mean") == ()
    two, _ = labels(40, ["ada", "cem"])
    joined = joined_labels(two)
    assert joined.model is None
    assert joined.labels == two
    (note,) = joined.notes("their mean")
    assert note.endswith("their mean counts (2 people cannot show which of them errs; three can)")


def test_a_decision_by_somebody_who_saw_the_labels_counts_as_known() -> None:
    given, _ = labels(60, ["ada", "bob", "cem"])
    decided = HumanLabel("r0", "groundedness", DECIDED + "dee", 0.0)
    others = [HumanLabel("r0", "groundedness", name, 1.0) for name in RIGHT]
    rest = [label for label in given if label.row_id != "r0"]
    joined = joined_labels([*others, decided, *rest])
    assert joined.model is not None
    assert {label.row_id: label.value for label in joined.labels}["r0"] == 0


def test_a_row_with_a_decision_alone_counts_as_it_was_decided() -> None:
    given, _ = labels(60, ["ada", "bob", "cem"])
    alone = [HumanLabel(f"d{v:.0f}", "groundedness", DECIDED + "dee", v) for v in (0.0, 1.0)]
    joined = joined_labels([*alone, *given])
    assert joined.model is not None
    by_row = {label.row_id: label.value for label in joined.labels}
    assert (len(by_row), by_row["d0"], by_row["d1"]) == (62, 0.0, 1.0)


def test_labels_of_rows_outside_are_left_as_they_are() -> None:
    given, _ = labels(60, ["ada", "bob", "cem"])
    outside = [HumanLabel("elsewhere", "groundedness", name, 1.0) for name in ("ada", "bob")]
    inside = {label.row_id for label in given}
    joined = joined_labels([*given, *outside], rows=inside)
    assert [label for label in joined.labels if label.row_id == "elsewhere"] == outside
    assert len(joined.labels) == 62


def test_the_corrected_rate_is_wider_where_the_labels_err() -> None:
    given, truth = labels(120, ["ada", "bob", "cem"])
    joined = joined_labels(given)
    rows = [RunRow(row, float(passes)) for row, passes in truth.items()]
    rows += [RunRow(f"more {number}", float(number % 10 < 7)) for number in range(300)]
    taken = [RowLabel(one.row_id, one.value) for one in joined.labels]
    sure = corrected_metric(rows, taken, metric="pass rate of groundedness")
    wider = corrected_metric(
        rows, taken, metric="pass rate of groundedness", joining=joined.joining()
    )
    assert wider.estimate.value == pytest.approx(sure.estimate.value)
    narrow, wide = sure.estimate.interval, wider.estimate.interval
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low
    assert wide.high > narrow.high
    assert wider.warnings[0].startswith("120 rows have labels of several people")
