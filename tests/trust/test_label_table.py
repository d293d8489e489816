"""Labels and recorded verdicts, read from any file as they stand; bad input is never guessed at."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragassay.core import DataError, NothingToDo, RagAssayError, Sample, SetupError
from ragassay.trust.label_table import NO_WINNER, number_of, read_labels


def row(row_id: str, label: object = 1, **others: Any) -> dict[str, Any]:
    return {"id": row_id, "label": label, **others}


def test_one_set_of_rows_reads_the_same_from_jsonl_gz_csv_and_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": f"r{i}", "label": i % 2, "gpt": (i + 1) % 2 if i else None, "group": f"g{i // 2}"}
        for i in range(6)
    ]
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for name in ("rows.jsonl.gz", "rows.csv", "rows.parquet"):
        found = read_labels(str(tmp_path / name), judges=["gpt"])
        assert found.ids == tuple(f"r{i}" for i in range(6)), name
        assert found.label.tolist() == [0, 1, 0, 1, 0, 1]
        assert found.cluster.tolist() == [0, 0, 1, 1, 2, 2]
        assert found.cluster_field == "group"
        assert np.isnan(found.recorded["gpt"][0])
        assert found.recorded["gpt"][1:].tolist() == [0, 1, 0, 1, 0]


def test_a_judge_is_a_key_of_judges_first_then_a_path_into_it_then_a_column() -> None:
    rows = [row("a", judges={"x/y": 1, "x": {"y": 0, "z": [0.25, 0.5]}}, col="yes")]
    found = read_labels(rows, judges=["x/y", "x/z", "col"])
    assert found.recorded["x/y"].tolist() == [1.0]
    assert found.recorded["x/z"].tolist() == [[0.25, 0.5]]
    assert found.recorded["col"].tolist() == [1.0]


def test_every_recorded_judge_is_read_where_a_star_asks_for_it_also_one_that_starts_late() -> None:
    found = read_labels(
        [row("a", judges={"one": 1}), row("b", judges={"two": 0, "one": 0})], judges=["*"]
    )
    assert found.recorded["one"].tolist() == [1.0, 0.0]
    assert np.isnan(found.recorded["two"][0])
    assert found.recorded["two"][1] == 0.0


def test_a_pair_without_a_winner_is_not_the_same_as_no_pair() -> None:
    found = read_labels([row("a", judges={"j": [None, 2]}), row("b", judges={})], judges=["j"])
    assert found.recorded["j"][0].tolist() == [NO_WINNER, 2.0]
    assert np.isnan(found.recorded["j"][1]).all()


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (True, 1.0),
        ("Yes", 1.0),
        ("not_supported", 0.0),
        ("Partially-Supported", 0.5),
        (" 2.5 ", 2.5),
        (3, 3.0),
        ("PASS", 1.0),
        ("maybe", None),
        ("nan", None),
        (float("inf"), None),
        ([1], None),
        (10**400, None),
    ],
)
def test_words_and_digits_are_numbers_and_nothing_else_is(
    written: object, number: float | None
) -> None:
    assert number_of(written) == number


def test_labels_in_words_are_said_to_have_been_read_so() -> None:
    found = read_labels([row("a", "supported"), row("b", "not_supported")])
    assert found.label.tolist() == [1.0, 0.0]
    assert found.notes == ("read the labels supported as 1, not_supported as 0",)


def test_a_label_may_be_nested_in_an_object_or_a_list() -> None:
    rows = [{"id": "a", "labels": {"faithfulness": 3}, "votes": [1, 0]}]
    assert read_labels(rows, label="labels/faithfulness").label.tolist() == [3.0]
    assert read_labels(rows, label="labels.faithfulness").label.tolist() == [3.0]
    assert read_labels(rows, label="votes/1").label.tolist() == [0.0]


def test_filters_keep_rows_by_raw_fields_and_one_field_twice_means_either() -> None:
    rows = [row("a", split="test", k=1), row("b", split="dev", k=1.0), row("c", split="train", k=2)]
    assert read_labels(rows, where=["split=test"]).ids == ("a",)
    assert read_labels(rows, where=["split=test", "split=dev"]).ids == ("a", "b")
    assert read_labels(rows, where=["split=dev", "k=1"]).ids == ("b",)


def test_rows_without_a_label_are_counted_and_left_out() -> None:
    found = read_labels([row("a"), row("b", None), row("c", " ")])
    assert found.ids == ("a",)
    assert found.rows == 3
    assert "2 of 3 rows have no label and are left out" in found.notes


def test_slices_are_named_in_order_and_cluster_of_its_own_is_given_where_a_row_has_none() -> None:
    rows = [row("a", slice="z", group="g"), row("b", slice="y"), row("c", slice="z", group="g")]
    found = read_labels(rows)
    assert found.slice is not None
    assert [found.slice_names[i] for i in found.slice] == ["z", "y", "z"]
    assert found.slice_names == ("y", "z")
    assert found.cluster.tolist() == [0, 1, 0]
    assert any("have no group" in note for note in found.notes)
    assert read_labels(rows, slice="", cluster="").slice is None
    assert read_labels(rows, slice="", cluster="").clusters == 3


def test_a_row_that_repeats_another_word_for_word_counts_once_and_a_second_label_is_refused(
    tmp_path: Path,
) -> None:
    assert len(read_labels([row("a"), row("a"), row("b")])) == 2
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "label": 1}\n{"id": "b", "label": 1}\n{"id": "a", "label": 0}\n')
    with pytest.raises(DataError) as caught:
        read_labels(str(path))
    assert caught.value.code == "E0314"
    assert caught.value.why == "1 and 0"
    assert "rows.jsonl:1" in caught.value.where
    assert "rows.jsonl:3" in caught.value.where


def test_two_different_rows_under_one_id_are_refused_even_with_one_label() -> None:
    with pytest.raises(DataError) as caught:
        read_labels([row("q", response="x"), row("q", response="y")])
    assert caught.value.code == "E0306"


@pytest.mark.parametrize(
    ("rows", "options", "code", "words"),
    [
        ([row("a", "maybe")], {}, "E0313", "are no numbers"),
        ([row("a"), row("b", 7)], {"scale": [0, 1, 2, 3]}, "E0313", "row 2 has 7"),
        ([row("a", None)], {}, "E0313", "No row has a label"),
        ([row("a")], {"label": "lable"}, "E0205", "Did you mean 'label'?"),
        ([row("a", judges={"gpt-4": 1})], {"judges": ["gpt4"]}, "E0205", "Did you mean 'gpt-4'?"),
        ([row("a", judges={"x": {"y": 1}})], {"judges": ["x"]}, "E0205", "x/y"),
        ([row("a", judges={"x": "hm"})], {"judges": ["x"]}, "E0205", "no verdicts"),
        ([row("a")], {"judges": ["*"]}, "E0205", "no recorded judges"),
        ([row("a", j=1), row("b", j=[1, 2])], {"judges": ["j"]}, "E0303", "partly pairs"),
        ([row("a", split="dev")], {"where": ["split=test"]}, "E0309", "none has split=test"),
        ([row("a", split="dev")], {"where": ["splt=test"]}, "E0205", "Did you mean 'split'?"),
        ([row("a")], {"where": ["split"]}, "E0101", "--where split=test"),
        ([row("a")], {"cluster": "gruop"}, "E0205", "No row has a field 'gruop'"),
    ],
)
def test_what_cannot_be_read_is_explained(
    rows: list[Any], options: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(RagAssayError) as caught:
        read_labels(rows, **options)
    assert isinstance(caught.value, DataError | SetupError | NothingToDo)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_line_that_is_no_json_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "label": 1}\n{broken\n{"label": 0}\n')
    found = read_labels(str(path))
    assert found.ids == ("a", "row-3")
    assert any(note.startswith("1 row cannot be read (E0301") for note in found.notes)


def test_rows_as_ragassay_writes_them_hold_their_label_and_slice_one_level_down() -> None:
    samples = [
        Sample("a", labels={"label": 1.0}, slices={"slice": "x"}, cluster="c"),
        Sample("b", labels={"label": 0.0}),
    ]
    found = read_labels(samples)
    assert found.label.tolist() == [1.0, 0.0]
    assert found.slice_names == ("(none)", "x")
    assert found.cluster_field == "cluster"


def test_constructed_labels_are_counted_and_said() -> None:
    found = read_labels([row("a", label_kind="constructed"), row("b")])
    assert found.constructed == 1
    assert "1 label is constructed, not given by people" in found.notes
