"""Sheets and label files: labels come back as they were meant, mistakes are refused by line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.core import Context, DataError, HumanLabel, Sample, SetupError
from ragassay.trust.consensus import consensus, ties
from ragassay.trust.label_files import read_sheet, read_votes
from ragassay.trust.label_sheets import write_sheet
from ragassay.trust.sampling import ChosenRow
from support.examples import examples

SAMPLES = [
    Sample(
        "r1",
        question="Who?",
        contexts=(Context("Bell."), Context("Gray.")),
        response="Bell.",
        cluster="d1",
    ),
    Sample("r2", question="=1+1", contexts=None, response='-2, "he" said\nso'),
    Sample("=cmd|' /C calc'!A0", question="'=quoted", contexts=(), response="@x\ty"),
]
CHOSEN = [
    ChosenRow("r2", 0.125, "active", "2", 1),
    ChosenRow("=cmd|' /C calc'!A0", 1.0, "audit", "1", 1),
    ChosenRow("r1", 1 / 3, "active", "a/3", 2),
]


def sheet(path: Path, *rows: dict[str, Any]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return path


def filled(source: Path, target: Path, **labels: str) -> Path:
    """The sheet as people send it back: labels by row number from 1."""
    with source.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for place, value in labels.items():
        rows[int(place[1:]) - 1] |= {"label": value, "annotator": "Ada", "rationale": "it says so"}
    return sheet(target, *rows)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_sheet_goes_out_and_comes_back_with_ids_and_probabilities_exactly_as_they_were(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"sheet.{ending}"
    assert write_sheet(CHOSEN, SAMPLES, path, name="groundedness") == 3
    if ending == "csv":
        path = filled(path, path, r1="yes", r2="no", r3="1")
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row, label in zip(rows, ["yes", False, 1], strict=True):
            row |= {"label": label, "annotator": "Ada", "rationale": "it says so"}
        path.write_text("\n".join(map(json.dumps, rows)))
    found = read_sheet(path, known=[sample.id for sample in SAMPLES])
    assert found.labels == tuple(
        HumanLabel(
            row.id,
            "groundedness",
            "Ada",
            value,
            "it says so",
            row.stream,
            row.inclusion_probability,
            row.round,
            scale=(0.0, 1.0),
        )
        for row, value in zip(CHOSEN, [1.0, 0.0, 1.0], strict=True)
    )
    assert found.clusters == {"r1": "d1"}
    assert found.people == ("Ada",)
    assert found.unknown == ()


def test_people_do_not_see_what_the_judge_said_unless_it_is_asked_for(tmp_path: Path) -> None:
    write_sheet(CHOSEN, SAMPLES, tmp_path / "blind.jsonl", name="groundedness")
    rows = [json.loads(line) for line in (tmp_path / "blind.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [row.id for row in CHOSEN]
    assert "judge" not in rows[0]
    assert rows[2]["contexts"] == ["Bell.", "Gray."]
    assert rows[0]["label"] is rows[0]["annotator"] is rows[0]["rationale"] is None
    assert (rows[0]["metric"], rows[0]["scale"]) == ("groundedness", "0 or 1")
    write_sheet(
        CHOSEN, SAMPLES, tmp_path / "shown.csv", name="g", judge={"r1": "fail: nothing found"}
    )
    with (tmp_path / "shown.csv").open(newline="") as file:
        shown = list(csv.DictReader(file))
    assert [row["judge"] for row in shown] == ["", "", "fail: nothing found"]
    assert shown[2]["contexts"] == "[1] Bell.\n\n[2] Gray."


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(
        lambda text: text if text.strip() else "x"
    ),
    st.sampled_from(["", "=", "+", "-", "@", "\t", "\r", "\n", "'", "'=", "''="]),
)
def test_no_cell_of_a_sheet_is_a_formula_and_every_id_reads_back(
    tmp_path: Path, text: str, mark: str
) -> None:
    row_id, path = mark + text, tmp_path / "sheet.csv"
    write_sheet(
        [ChosenRow(row_id, 0.5, "audit", "1", 1)],
        [Sample(row_id, question=mark + text)],
        path,
        name=mark + "m",
    )
    with path.open(newline="", encoding="utf-8") as file:
        header, cells = list(csv.reader(file, strict=True))
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    cells[header.index("label")] = "1"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, cells])
    found = read_sheet(path, name="m")
    assert [label.row_id for label in found.labels] == [row_id]


def test_an_empty_label_is_a_row_not_labelled_yet(tmp_path: Path) -> None:
    path = sheet(
        tmp_path / "s.csv",
        {"id": "a", "label": ""},
        {"id": "b", "label": " "},
        {"id": "c", "label": "0"},
    )
    found = read_sheet(path)
    assert (found.unlabelled, len(found.labels)) == (2, 1)
    assert found.notes == ("not labelled yet: 2 rows",)


@pytest.mark.parametrize(
    ("cell", "scale", "value"),
    [
        ("yes", (0, 1), 1.0),
        ("FAIL", (0, 1), 0.0),
        ("Not supported", (0, 1), 0.0),
        ("true", (0, 1), 1.0),
        ("yes", (0, 1, 2, 3), 3.0),
        ("no", (1, 2, 3, 4), 1.0),
        ("2", (0, 1, 2, 3), 2.0),
        ("1,0", (0, 1), 1.0),
        (" 1 ", (0, 1), 1.0),
        ("-1", (-2, -1, 0, 1, 2), -1.0),
        ("7.25", (), 7.25),
        ("partial", (0, 0.5, 1), 0.5),
    ],
)
def test_numbers_and_words_are_read_on_the_scale(
    tmp_path: Path, cell: str, scale: tuple[float, ...], value: float
) -> None:
    found = read_sheet(sheet(tmp_path / "s.csv", {"id": "a", "label": cell}), scale=scale)
    assert [label.value for label in found.labels] == [value]


@pytest.mark.parametrize(
    "cell", ["2", "0.5", "nan", "inf", "partial", "maybe", "1 0", "1_0", "=1", "0x1", "1e999"]
)
def test_what_is_not_on_the_scale_is_refused_with_its_line(tmp_path: Path, cell: str) -> None:
    path = sheet(tmp_path / "s.csv", {"id": "a", "label": "1"}, {"id": "b", "label": cell})
    with pytest.raises(DataError, match=r"E0313(.|\n)*s\.csv:3") as error:
        read_sheet(path)
    assert repr(cell) in str(error.value)


def test_values_between_the_points_are_taken_where_they_are_asked_for(tmp_path: Path) -> None:
    path = sheet(tmp_path / "s.csv", {"id": "a", "label": "0.75"})
    assert read_sheet(path, between=True).labels[0].value == 0.75
    path = sheet(tmp_path / "s.csv", {"id": "a", "label": "1.75"})
    with pytest.raises(DataError, match=r"not on the scale \(0 to 1\)"):
        read_sheet(path, between=True)


def test_all_lines_that_are_wrong_are_named_at_once(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "label": "5", "inclusion_probability": "", "round": ""},
        {"id": "", "label": "1", "inclusion_probability": "", "round": ""},
        {"id": "c", "label": "1", "inclusion_probability": "1.5", "round": ""},
        {"id": "d", "label": "1", "inclusion_probability": "0", "round": ""},
        {"id": "e", "label": "1", "inclusion_probability": "x", "round": ""},
        {"id": "f", "label": "1", "inclusion_probability": "0,5", "round": "1.5"},
    ]
    with pytest.raises(DataError, match="6 rows cannot be read as labels") as error:
        read_sheet(sheet(tmp_path / "s.csv", *rows))
    for line in range(2, 7):
        assert f"s.csv:{line}:" in str(error.value)
    assert "no id" in str(error.value)


def test_a_broken_row_is_an_error_and_not_a_lost_label(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,label\na,1\nb,1,surplus\nc,0\n")
    with pytest.raises(DataError, match=r"between s\.csv:2 and line 4: 1 row cannot be read"):
        read_sheet(path)
    path.write_text("id,label\nb,1,surplus\na,1\n")
    with pytest.raises(DataError, match="between the beginning and line 3: 1 row cannot be read"):
        read_sheet(path)
    path.write_text("id,label\na,1\nb,1,surplus\n")
    with pytest.raises(DataError, match=r"after s\.csv:2: 1 row cannot be read"):
        read_sheet(path)


def test_one_person_may_not_label_a_row_twice_with_different_values(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "label": "1", "annotator": "Ada"},
        {"id": "a", "label": "0", "annotator": "Bob"},
        {"id": "a", "label": "yes", "annotator": "Ada "},
    ]
    found = read_sheet(sheet(tmp_path / "s.csv", *rows))
    assert [(label.annotator, label.value) for label in found.labels] == [
        ("Ada", 1.0),
        ("Bob", 0.0),
    ]
    assert found.repeated == 1
    rows.append({"id": "a", "label": "no", "annotator": "Ada"})
    with pytest.raises(
        DataError, match=r"E0314: Ada labelled(.|\n)*s\.csv:2 and s\.csv:5(.|\n)*1 and 0"
    ):
        read_sheet(sheet(tmp_path / "s.csv", *rows))
    # Together with mistakes of other kinds it is told with them, all at once.
    rows += [{"id": "b", "label": "maybe"}, {"id": "c", "label": "1"}, {"id": "c", "label": "0"}]
    with pytest.raises(DataError, match="E0313") as caught:
        read_sheet(sheet(tmp_path / "s.csv", *rows))
    assert caught.value.what == "3 rows cannot be read as labels."
    for place in ("s.csv:5", "s.csv:6: the label 'maybe'", "s.csv:8"):
        assert place in caught.value.why
    assert "Ada labelled the row 'a' twice, 1 and 0" in caught.value.why
    # Several of that kind alone keep their code.
    del rows[-3]
    with pytest.raises(DataError, match="E0314: 2 labels differ from another of the same"):
        read_sheet(sheet(tmp_path / "s.csv", *rows))
    # Without names they count as one person, unless the caller names who filled in the sheet.
    unnamed = sheet(tmp_path / "t.csv", {"id": "a", "label": "1"})
    assert read_sheet(unnamed, annotator="Cid").people == ("Cid",)


def test_unknown_ids_are_told_with_the_nearest_and_kept_apart(tmp_path: Path) -> None:
    path = sheet(tmp_path / "s.csv", {"id": "row-17", "label": "1"}, {"id": "row-1B", "label": "0"})
    found = read_sheet(path, known=["row-17", "row-18"])
    assert [label.row_id for label in found.labels] == ["row-17"]
    assert [label.row_id for label in found.foreign] == ["row-1B"]
    assert found.unknown == ("s.csv:3: 'row-1B' is not a known row. Did you mean 'row-18'?",)
    assert "not known and left out: 1 row" in found.notes
    with pytest.raises(DataError, match=r"E0315(.|\n)*s\.csv:2"):
        read_sheet(path, known=["other"])


def test_a_sheet_without_the_label_column_says_which_columns_it_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Did you mean 'labels'\?"):
        read_sheet(sheet(tmp_path / "s.csv", {"id": "a", "labels": "1"}))
    assert (
        read_sheet(sheet(tmp_path / "t.csv", {"id": "a", "Label": "1"}), scale=()).labels[0].name
        == "label"
    )


def test_a_sheet_can_only_be_written_of_rows_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="E0108"):
        write_sheet([ChosenRow("zz", 0.5, "audit", "1", 1)], SAMPLES, tmp_path / "s.csv", name="g")
    with pytest.raises(SetupError, match="E0101"):
        write_sheet(CHOSEN, SAMPLES, tmp_path / "s.xlsx", name="g")
    assert list(tmp_path.iterdir()) == []


def test_votes_of_several_people_in_one_cell_are_labels_of_each(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "group": "g1", "votes": {"faithfulness": [4, 3]}},
        {"id": "b", "group": "g1", "votes": {"faithfulness": [1, None, 2]}},
        {"id": "c", "votes": {}},
    ]
    found = read_votes(rows, "votes/faithfulness", scale=(1, 2, 3, 4))
    assert [(label.row_id, label.annotator, label.value) for label in found.labels] == [
        ("a", "annotator 1", 4.0),
        ("a", "annotator 2", 3.0),
        ("b", "annotator 1", 1.0),
        ("b", "annotator 3", 2.0),
    ]
    assert found.clusters == {"a": "g1", "b": "g1"}
    assert found.unlabelled == 1
    named = read_votes([{"id": "a", "votes": {"Ada": "yes", "Bob": "no"}}])
    assert [(label.annotator, label.value) for label in named.labels] == [
        ("Ada", 1.0),
        ("Bob", 0.0),
    ]
    with pytest.raises(DataError, match=r"row 1: the label '9'"):
        read_votes([{"id": "a", "votes": [9]}], scale=(1, 2))
    with pytest.raises(DataError, match="No row has labels in 'vote'"):
        read_votes(rows, "vote")


def test_rows_that_carry_labels_themselves_are_read_too() -> None:
    rows = [
        {"id": "a", "labels": {"label": "yes"}, "cluster": "d"},
        {"id": "b", "labels": {"other": 1.0}},
        {"id": "c", "labels": {"label": 0.0}},
    ]
    found = read_sheet(rows, label="labels/label")
    assert [(label.row_id, label.value) for label in found.labels] == [("a", 1.0), ("c", 0.0)]
    assert found.unlabelled == 1
    assert found.clusters == {"a": "d"}
    unlabelled = [{"id": f"r{line}", "labels": {}} for line in range(1, 7)]
    with pytest.raises(DataError, match="row 7"):
        read_sheet([*unlabelled, {"id": "a", "labels": {"label": 3.0}}], label="labels/label")


def test_a_tie_is_left_open_and_listed() -> None:
    def label(row_id: str, person: str, value: float) -> HumanLabel:
        return HumanLabel(
            row_id, "g", person, value, stream="audit", inclusion_probability=0.25, round=1
        )

    labels = [
        label("a", "x", 1),
        label("b", "x", 1),
        label("a", "y", 0),
        label("b", "y", 0),
        label("b", "z", 0),
        label("c", "x", 3),
    ]
    found = consensus(labels)
    assert [(one.row_id, one.value, one.people, one.values) for one in found] == [
        ("a", None, 2, (1, 0)),
        ("b", 0, 3, (1, 0, 0)),
        ("c", 3, 1, (3,)),
    ]
    assert ties(found) == ("a",)
    assert {(one.stream, one.inclusion_probability, one.round) for one in found} == {
        ("audit", 0.25, 1)
    }
    assert [one.value for one in consensus(labels, "mean")] == [0.5, pytest.approx(1 / 3), 3]
    assert [one.value for one in consensus(labels, "median")] == [0.5, 0, 3]
    with pytest.raises(SetupError, match="E0101"):
        consensus(labels, "mode")


def test_empty_lines_that_a_spreadsheet_left_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("id,label,annotator\na,1,ada\n,,\nb,0,ada\n,,\n")
    found = read_sheet(path)
    assert [(one.row_id, one.value) for one in found.labels] == [("a", 1.0), ("b", 0.0)]


def test_ids_in_a_column_of_another_name_are_found_where_they_are_those_of_known_rows() -> None:
    rows = [
        {"case": "T-1", "reviewer_verdict": "yes", "team": "north"},
        {"case": "T-2", "reviewer_verdict": "no", "team": "north"},
    ]
    known = ["T-1", "T-2", "T-3"]
    file = read_sheet(rows, label="reviewer_verdict", known=known)
    assert [(label.row_id, label.value) for label in file.labels] == [("T-1", 1.0), ("T-2", 0.0)]
    assert file.notes[0] == "read case as id: it holds ids of the rows"


def test_two_columns_of_known_ids_or_none_are_refused_with_the_name_to_give() -> None:
    both = [{"case": "T-1", "twin": "T-2", "label": 1}]
    with pytest.raises(DataError) as refused:
        read_sheet(both, known=["T-1", "T-2"])
    assert refused.value.code == "E0313"
    assert "call the column that holds the rows' ids `id`" in str(refused.value)
    with pytest.raises(DataError, match="the row has no id"):
        read_sheet([{"case": "X-1", "label": 1}], known=["T-1"])


def test_every_row_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    sheet = tmp_path / "labels.jsonl"
    sheet.write_text('{"id": "a", "label": 1}\n{no\n{no\n{no\n', encoding="utf-8")
    with pytest.raises(DataError, match="3 rows cannot be read as labels") as error:
        read_sheet(str(sheet))
    assert "3 rows cannot be read" in error.value.why
