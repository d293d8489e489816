"""Raw records, which are told by the same names as the Samples of the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.datasets import open_records, open_rows, walk_path


def test_records_and_samples_of_one_file_have_the_same_ids_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"qid": 7, "question": "a"}\n{"question": "b"}\n\n{"qid": "x", "question": "c"}\n'
    )
    records = [(row_id, line) for line, row_id, _ in open_records(str(path))]
    assert (
        records
        == [(row.id, row.line) for row in open_rows(str(path))]
        == [("7", 1), ("row-2", 2), ("x", 4)]
    )


def test_an_id_column_of_another_name_is_read_where_the_mapping_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,key,label\n1,a,0\n1,b,1\n")
    assert [row_id for _, row_id, _ in open_records(str(path), mapping={"id": "key"})] == ["a", "b"]


def test_a_row_that_cannot_be_read_is_counted_and_not_yielded(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a"}\n[1]\n{"id": "b"}\n')
    records = open_records(str(path))
    assert [row_id for _, row_id, _ in records] == ["a", "b"]
    assert [(reason[:5], count) for reason, count in records.bad.items()] == [("E0302", 1)]


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        ("a", 1),
        ("b/c", 2),
        ("b.c", 2),
        ("d/0", 3),
        ("e.f", 4),
        ("b/x", None),
        ("d/9", None),
        ("a/b", None),
    ],
)
def test_a_path_walks_into_objects_and_lists_and_a_whole_name_comes_first(
    path: str, cell: object
) -> None:
    assert walk_path({"a": 1, "b": {"c": 2}, "d": [3], "e.f": 4}, path) == cell
