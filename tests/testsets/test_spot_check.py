"""People check a sample: the sheet is stratified, and the error rate goes with the set."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import DataError, SetupError
from ragassay.report.tables import Table
from ragassay.testsets.plan import apportion, read_types
from ragassay.testsets.reports import question_table, set_report
from ragassay.testsets.set_files import read_set, write_set
from ragassay.testsets.spot_check import read_labels, stratified, with_labels, write_sheet
from ragassay.testsets.values import Question, SetInfo, Turn
from support.small_town import PAGES, write_pages

INFO = SetInfo("docs", 200, 0, "offline", "offline", 100)


def questions(count: int) -> list[Question]:
    """Of every five one is unanswerable."""
    return [
        Question(
            f"q{n}",
            f"=When was number {n} built?",
            "" if n % 5 == 0 else "1912",
            "unanswerable" if n % 5 == 0 else "simple",
            answerable=n % 5 != 0,
        )
        for n in range(count)
    ]


def test_the_sheet_holds_the_types_in_proportion() -> None:
    chosen = stratified(questions(100), 20, 0)
    assert Counter(question.type for question in chosen) == {"simple": 16, "unanswerable": 4}
    assert chosen == stratified(questions(100), 20, 0)


def filled(path: Path, said: dict[str, str]) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["accept"] = said.get(row["id"], "")
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)


def test_labels_give_an_error_rate_with_its_exact_bound(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert write_sheet(sheet, questions(10), 0) == 10
    # A text that a spreadsheet would take for a formula is none.
    assert "'=When was" in sheet.read_text()
    filled(sheet, {f"q{n}": "no" if n == 1 else "Yes" for n in range(10)})
    labels = read_labels(sheet, questions(10))
    info, labelled = with_labels(INFO, questions(10), labels)
    checked = info.spot_check
    assert checked is not None
    assert [question.accepted for question in labelled] == [n != 1 for n in range(10)]
    # Clopper & Pearson for 1 of 10 at 95 %: .0025 to .4450.
    assert (checked.checked, checked.rejected) == (10, 1)
    assert checked.low == pytest.approx(0.00253, abs=1e-5)
    assert checked.high == pytest.approx(0.44502, abs=1e-5)
    assert "people rejected 1 of 10" in info.note()


@pytest.mark.parametrize(
    ("said", "why"),
    [({"q1": "perhaps"}, "perhaps"), ({}, "no row has a yes or no")],
)
def test_a_sheet_that_says_neither_is_an_error_with_its_line(tmp_path, said, why) -> None:
    sheet = tmp_path / "sheet.csv"
    write_sheet(sheet, questions(3), 0)
    filled(sheet, said)
    with pytest.raises(DataError, match="E0805") as caught:
        read_labels(sheet, questions(3))
    assert why in str(caught.value)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_sheet_is_read_with_the_separator_that_a_spreadsheet_gave_it(tmp_path, mark) -> None:
    sheet = tmp_path / "sheet.csv"
    head, row = ["id", "question", "accept"], ["q1", '"When, then?"', "no"]
    text = "\ufeff" + mark.join(head) + "\r\n" + mark.join(row) + "\r\n"
    sheet.write_text(text, encoding="utf-8")
    assert read_labels(sheet, questions(3)) == {"q1": False}


def test_another_file_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="E0805"):
        read_labels(tmp_path / "rows.csv", questions(3))


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = questions(3)
    asked.append(Question("f", "And when?", "1912", "multi-turn", history=(Turn("Who?", "Ada"),)))
    write_set(tmp_path / "set.jsonl", INFO, asked)
    assert read_set(tmp_path / "set.jsonl") == (INFO, asked)


def test_rows_without_what_a_set_keeps_are_no_set(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "1", "question": "When?"}) + "\n")
    with pytest.raises(DataError, match="E0804"):
        ragassay.check_testset(tmp_path / "rows.jsonl")


def test_a_set_is_checked_without_its_documents_as_far_as_that_goes(tmp_path: Path) -> None:
    documents = [{"id": name, "text": text} for name, text in PAGES.items()]
    ragassay.make_testset(documents, size=4, types=["simple"], out=tmp_path / "set.jsonl")
    found = ragassay.check_testset(tmp_path / "set.jsonl", real=["when was it built"] * 30)
    assert found.failing == 0
    assert any("the documents are not at" in note for note in found.notes)
    absent = {figure.name for figure in found.figures if figure.value is None}
    assert absent == {"words taken from the source", "found first by BM25", "documents covered"}
    assert found.likeness is not None
    assert found.likeness.auc is None  # four questions are too few for a classifier
    again = ragassay.check_testset(tmp_path / "set.jsonl", docs=documents)
    assert all(figure.value is not None for figure in again.figures)


def test_quotas_add_up_to_the_size() -> None:
    # 10 over 1/3, 1/3, 1/3: the largest remainder decides, by name where they are equal.
    assert apportion({"a": 1, "b": 1, "c": 1}, 10) == {"a": 4, "b": 3, "c": 3}
    assert read_types(["simple=3,unanswerable=1"]) == {"simple": 0.75, "unanswerable": 0.25}
    for wrong in (["simpel"], ["simple=0"], ["simple=x"]):
        with pytest.raises(ragassay.RagAssayError, match="E0803"):
            read_types(wrong)


def test_labels_that_were_not_read_in_are_not_written_over(tmp_path: Path) -> None:
    write_pages(tmp_path / "docs")
    path, sheet = tmp_path / "set.jsonl", tmp_path / "sheet.csv"
    made = ragassay.make_testset(tmp_path / "docs", size=6, out=path)
    ragassay.check_testset(path, sheet=sheet)
    ragassay.check_testset(path, sheet=sheet)  # nobody has filled it in
    first = made.questions[0].id
    sheet.write_text(f"id,accept\n{first},no\n")
    with pytest.raises(DataError, match="E0808"):
        ragassay.check_testset(path, sheet=sheet)
    ragassay.check_testset(path, labels=sheet)
    ragassay.check_testset(path, sheet=sheet)
    # Nor is the set that they are in.
    before = path.read_bytes()
    with pytest.raises(DataError, match="E0808"):
        ragassay.make_testset(tmp_path / "docs", size=6, out=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "given",
    [
        *({"size": 0}, {"size": 100_001}, {"words": 0}, {"words": -1}, {"concurrency": 0}),
        *({"max_calls": -1}, {"max_cost": -0.5}, {"max_cost": float("nan")}),
    ],
)
def test_numbers_out_of_their_range_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="E0803"):
        ragassay.make_testset(["The Harbour Museum was founded in 1912."], **given)


def test_what_users_asked_covers_no_document_and_lowers_no_share() -> None:
    asked = ["where can I park near the museum", "is there a lift in the ferry hall"]
    made = ragassay.make_testset(
        list(PAGES.values()), size=6, types=["simple"], real=asked, real_share=0.4
    )
    alone = ragassay.make_testset(list(PAGES.values()), size=4, types=["simple"])
    covered = {figure.name: figure.value for figure in made.figures}["documents covered"]
    assert covered == {figure.name: figure.value for figure in alone.figures}["documents covered"]


def test_printed_commands_can_be_copied_and_the_page_holds_the_questions(tmp_path: Path) -> None:
    path = tmp_path / "my set.jsonl"
    made = ragassay.make_testset(list(PAGES.values()), size=4, out=path)
    printed = [str(block) for block in set_report(made)]
    assert f"  ragassay testset check '{path}' --sheet sheet.csv" in printed
    (table,) = [block for block in question_table(made.questions) if isinstance(block, Table)]
    assert [row[2] for row in table.rows] == [question.question for question in made.questions]
    assert made.questions[0].evidence[0].quote in table.rows[0][4]


def test_rows_of_a_sheet_that_were_left_empty_are_told(tmp_path: Path) -> None:
    path, sheet = tmp_path / "set.jsonl", tmp_path / "sheet.csv"
    made = ragassay.make_testset(list(PAGES.values()), size=4, types=["simple"], out=path)
    first, second, *_ = made.questions
    sheet.write_text(f"id,accept\n{first.id},no\n{second.id},\n")
    found = ragassay.check_testset(path, labels=sheet)
    assert any(note.startswith("1 of 2 rows of the sheet have neither") for note in found.notes)
    sheet.write_text(f"id,accept\n{first.id},no\n{second.id},yes\n")
    found = ragassay.check_testset(path, labels=sheet)
    assert not any("of the sheet" in note for note in found.notes)
