"""Labels of people correct what rules say of declining responses."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import DataError
from ragassay.stress.labels import read_label_sheet

TOWNS = ("Halden", "Brook", "Corvin", "Dunmore", "Elster", "Farrow", "Gresham", "Holt")
THINGS = ("bridge", "mill", "station", "theatre", "harbour", "tower", "chapel")
ROWS = [
    {
        "id": f"{town} {thing}",
        "question": f"When was the {town} {thing} opened?",
        "reference": str(1800 + 3 * place + number),
        "contexts": [f"The {town} {thing} was opened in {1800 + 3 * place + number}."],
        "cluster": town,
    }
    for (place, town), (number, thing) in product(enumerate(TOWNS), enumerate(THINGS))
]
UNSEEN = "That one beats me."
"""A way to decline that no rule knows."""


def app(question: str, contexts: list[str]) -> str:
    """Answers what its passages hold, and declines the rest, in two of five towns so that no rule
    sees it.
    """
    for text in contexts:
        if text.startswith(question.removeprefix("When was the ").split(" opened")[0], 4):
            return text
    return UNSEEN if question.split()[3][0] in "HBC" else "I do not know."


def test_labels_of_a_sample_tell_what_the_rules_did_not_see(tmp_path: Path) -> None:
    sheet, store = tmp_path / "sheet.csv", tmp_path / "store.db"
    asked: dict[str, Any] = {"tests": ["rejection"], "store": store}
    first = ragassay.stress_test(app, ROWS, label_sheet=sheet, **asked)
    assert first.rejection is not None
    seen = first.rejection.rejected.value
    assert seen is not None
    assert seen < 0.7
    assert [finding.weakness for finding in first.findings] == ["answers what it cannot know"]

    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {"id", "question", "response", "declines"}
    for row in rows:
        is_no = row["response"] in (UNSEEN, "I do not know.")
        row["declines"] = "yes" if is_no else "no"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)

    again = ragassay.stress_test(None, ROWS, recorded=first.run, labels=sheet, **asked)
    assert again.rejection is not None
    corrected = again.rejection.corrected
    assert corrected is not None
    assert corrected.labelled == len(rows) == 112
    # Every unanswerable question was declined, and no answerable one.
    assert corrected.rejected.value == 1.0
    assert corrected.answered.value == corrected.over_refused.value == 0.0
    assert again.findings == ()
    assert any("Corrected by 112 labels of people" in str(block) for block in again.blocks())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "no columns"),
        ("id,declines\nx,\n", "no row has"),
        ("id,declines\nx,perhaps\n", "'perhaps'"),
    ],
)
def test_a_sheet_without_labels_is_an_error_that_says_why(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "sheet.csv").write_text(text)
    with pytest.raises(DataError, match="E1108") as caught:
        read_label_sheet(tmp_path / "sheet.csv")
    assert why in str(caught.value)


def test_a_sheet_is_read_with_the_semicolons_that_a_spreadsheet_gave_it(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(
        "id;question;response;declines\nx;Which, then?;No, sir.;yes\n"
    )
    assert read_label_sheet(tmp_path / "sheet.csv") == {"x": True}


def test_labels_of_another_test_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,declines\nsomewhere|negative,yes\n")
    with pytest.raises(DataError, match="E1108"):
        ragassay.stress_test(
            app,
            ROWS[:14],
            tests=["rejection"],
            labels=tmp_path / "sheet.csv",
            store=tmp_path / "store.db",
        )
