"""Sheets for people to fill in: they read back as the rows that were judged."""

from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import Context, Sample
from ragassay.datasets import open_rows
from ragassay.trust import write_sheet
from ragassay.trust.sampling import ChosenRow

SAMPLES = [
    Sample("plain", question="q", contexts=(Context("one"), Context("two")), response="r"),
    Sample("one context", question="q", contexts=(Context("[1] only"),), response="[1] r"),
    Sample(
        "a mark inside",
        question="q",
        contexts=(Context("x"), Context("y\n\n[2] z")),
        response="r",
    ),
    Sample("ids", question="q", contexts=(Context("t", id="d1"), Context("u")), response="r"),
    Sample("nothing found", question="q", contexts=(), response="r", cluster="k"),
    Sample("no retrieval", question="q", response="r", reference="[a note]"),
    Sample("a formula", question="=why?", contexts=(Context("c"),), response="-5", reference="'=x"),
    Sample(
        "more fields",
        question="q",
        response="r",
        expected_facts=("one", "two"),
        guidelines=("be kind",),
        relevant_ids={"d1": 1.0},
        slices={"kind": "x"},
        answerable=True,
    ),
]


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl"])
def test_a_sheet_reads_back_as_the_rows_that_were_judged(tmp_path: Path, name: str) -> None:
    chosen = [ChosenRow(sample.id, 0.5, "audit", "1", 1) for sample in SAMPLES]
    write_sheet(chosen, SAMPLES, tmp_path / name, name="groundedness")
    read = [row for row in open_rows(tmp_path / name) if isinstance(row, Sample)]
    assert [replace(row, line=0, labels={}) for row in read] == SAMPLES


def test_a_sheet_shows_contexts_numbered_where_that_says_all(tmp_path: Path) -> None:
    chosen = [ChosenRow("plain", 0.5, "audit", "1", 1)]
    write_sheet(chosen, SAMPLES, tmp_path / "sheet.csv", name="groundedness")
    assert '"[1] one\n\n[2] two"' in (tmp_path / "sheet.csv").read_text(encoding="utf-8")


def test_a_sheet_does_not_show_what_people_said_before(tmp_path: Path) -> None:
    sample = replace(SAMPLES[0], labels={"groundedness": 1.0}, feedback=(1.0,))
    chosen = [ChosenRow("plain", 0.5, "audit", "1", 1)]
    write_sheet(chosen, [sample], tmp_path / "sheet.csv", name="groundedness")
    header = (tmp_path / "sheet.csv").read_text(encoding="utf-8").splitlines()[0]
    assert '"labels"' not in header
    assert '"feedback"' not in header
