"""Parts of a Parquet file: the rows that each holds, and what is read for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ragassay.datasets import open_rows


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """1,000 rows in row groups of 100; row 305 has no text where one is due."""
    rows = [
        {
            "id": f"r{i}",
            "question": f"Question {i}?",
            "contexts": [f"Context {i}."],
            "response": f"Answer {i}.",
        }
        for i in range(1000)
    ]
    rows[305]["contexts"] = [None]  # type: ignore[list-item]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=100)
    return path


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1000), (0, 100), (100, 200), (99, 101), (250, 777), (990, 2000), (0, 1)]
)
def test_a_part_holds_what_reading_everything_gives_there(
    table: Path, start: int, stop: int
) -> None:
    dataset = open_rows(table)
    everything = list(enumerate(dataset))
    assert dataset.cuttable
    assert list(dataset.between(start, stop)) == everything[start:stop]


def test_a_part_behind_the_last_row_is_empty(table: Path) -> None:
    assert list(open_rows(table).between(1000, 1100)) == []


def test_row_groups_before_a_part_are_not_read(table: Path) -> None:
    dataset = open_rows(table)
    damaged = bytearray(table.read_bytes())
    damaged[4:2000] = bytes(1996)  # within the first row group
    table.write_bytes(damaged)
    assert [row.id for _, row in dataset.between(500, 503)] == ["r500", "r501", "r502"]


def test_lines_whose_columns_no_schema_names_are_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "Q?", "response": "A."}\n')
    assert not open_rows(path).cuttable


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "environment", "pool"),
    [
        ("", {}, "system"),  # which gives back what it frees
        (
            "import pyarrow; pyarrow.set_memory_pool(pyarrow.mimalloc_memory_pool())",
            {},
            "mimalloc",
        ),  # the host's choice
        ("", {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc"),
    ],
)
def test_arrows_memory_is_the_systems_unless_the_host_has_chosen(
    tmp_path: Path, first: str, environment: dict[str, str], pool: str
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"question": ["Q"]}), path)
    code = (
        f"{first}\nfrom ragassay.datasets import"
        f" open_rows\nprint(len(list(open_rows({str(path)!r}))))\n"
    )
    code += "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == ["1", pool], done.stderr
