"""Rows in memory and in columnar files: lists, generators, pandas, Arrow, Parquet, and what stands
in for the rest.
"""

import contextlib
import gc
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import BadRow, Context, DataError, NothingToDo, RagAssayError, Sample, SetupError
from ragassay.datasets import Dataset, open_rows, to_record
from ragassay.datasets.memory import Spooled
from support.examples import examples
from support.present import present
from support.rows import samples

ROWS = [
    {"id": "a", "question": "Q", "contexts": ["c", "d"], "response": "A", "labels": {"ok": 1.0}},
    {"id": "b", "question": "R", "contexts": [], "response": "", "labels": {"ok": 0.0}},
]
SAMPLES = [
    Sample("a", "Q", (Context("c"), Context("d")), "A", labels={"ok": 1.0}, line=1),
    Sample("b", "R", (), "", labels={"ok": 0.0}, line=2),
]


class Streams:
    """What polars shows of itself: the Arrow stream interface."""

    def __init__(self, table):
        self.table = table

    def __iter__(self):
        return iter(self.table.columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class HuggingFace:
    column_names = ("id", "question", "contexts", "response", "labels")

    def __iter__(self):
        return iter(ROWS)


def write(tmp_path, kind):
    table = pa.Table.from_pylist(ROWS)
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=1)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return path


def _columns_of_rows() -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {}
    for name in ROWS[0]:
        columns[name] = [row[name] for row in ROWS]
    return columns


SOURCES = {
    "a list of dicts": lambda _: ROWS,
    "a tuple of Samples": lambda _: tuple(SAMPLES),
    "a generator": lambda _: (row for row in ROWS),
    "a dict of columns": lambda _: _columns_of_rows(),
    "a pandas frame": lambda _: pd.DataFrame(ROWS),
    "a pandas frame with a named index": lambda _: pd.DataFrame(ROWS).set_index("id"),
    "numpy arrays in a frame": lambda _: pd.DataFrame(
        [{**r, "contexts": np.array(r["contexts"], dtype=object)} for r in ROWS]
    ),
    "an Arrow table": lambda _: pa.Table.from_pylist(ROWS),
    "an Arrow batch": lambda _: pa.RecordBatch.from_pylist(ROWS),
    "an Arrow reader": lambda _: pa.Table.from_pylist(ROWS).to_reader(),
    "an Arrow stream (polars)": lambda _: Streams(pa.Table.from_pylist(ROWS)),
    "a Hugging Face dataset": lambda _: HuggingFace(),
    "Parquet": lambda tmp: write(tmp, "parquet"),
    "Feather": lambda tmp: write(tmp, "feather"),
    "an Arrow stream file": lambda tmp: write(tmp, "arrow"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_rows_come_from_every_kind_of_source_again_and_again(name, tmp_path):
    data = open_rows(SOURCES[name](tmp_path))
    assert isinstance(data, Dataset)
    assert list(data) == SAMPLES
    assert list(data) == SAMPLES
    scan = data.scan()
    assert (scan.rows, scan.bad) == (2, 0)
    assert scan.source == (
        "memory" if not list(tmp_path.iterdir()) else str(next(tmp_path.iterdir()))
    )


def test_the_hash_of_rows_in_memory_follows_their_content_not_their_container():
    assert open_rows(ROWS).scan().source_hash == open_rows(pd.DataFrame(ROWS)).scan().source_hash
    assert open_rows(ROWS).scan().source_hash != open_rows(ROWS[:1]).scan().source_hash


def test_nan_and_na_of_a_frame_mean_absent():
    frame = pd.DataFrame(
        {
            "question": ["Q", "R"],
            "response": ["A", None],
            "cost": [np.nan, 1.5],
            "label": pd.array([1, None], "Int64"),
        }
    )
    first, second = samples(open_rows(frame))
    assert (first.usage, first.labels) == (None, {"label": 1.0})
    assert (second.response, present(second.usage).cost, second.labels) == (None, 1.5, {})


def test_a_gap_is_absent_also_in_a_generator_over_a_frame():
    frame = pd.DataFrame({"question": ["Q"], "cost": [np.nan]})
    (sample,) = open_rows(dict(row) for _, row in frame.iterrows())
    assert sample == Sample("row-1", "Q", line=1)


def test_ids_that_a_frame_turned_into_floats_are_whole_again():
    first, second = open_rows(pd.DataFrame({"id": [7, None], "question": ["Q", "R"]}))
    assert (first.id, second.id) == ("7", "row-2")


def test_a_large_table_keeps_its_order_over_batches():
    frame = pd.DataFrame({"id": range(3000), "question": ["Q"] * 3000})
    for source in (frame, pa.Table.from_pandas(frame)):
        assert [s.id for s in open_rows(source)] == [str(n) for n in range(3000)]


@pytest.mark.slow
def test_a_generator_is_stored_in_a_file_that_is_removed_with_the_dataset():
    data = open_rows(
        row
        for row in [
            *ROWS,
            42,
            {"question": float("inf")},
            {"question": "\ud800"},
            {"question": object()},
        ]
    )
    assert isinstance(data._reader, Spooled)
    path = data._reader.path
    assert path.exists()
    codes = [item.code for item in data if isinstance(item, BadRow)]
    assert codes == ["E0302", "E0304", "E0305", "E0303"]
    del data
    gc.collect()
    assert not path.exists()


def test_a_failing_generator_leaves_no_file_and_its_own_error():
    def rows():
        yield ROWS[0]
        raise OSError("the database went away")

    with pytest.raises(OSError, match="the database went away"):
        open_rows(rows())


def test_a_circular_or_strange_row_is_a_bad_row():
    loop: dict = {"question": "Q"}
    loop["self"] = loop
    good, bad, worse = open_rows([{"question": "Q"}, 42, {"question": b"bytes"}])
    assert isinstance(good, Sample)
    assert isinstance(bad, BadRow)
    assert isinstance(worse, BadRow)
    assert (bad.code, worse.code) == ("E0302", "E0303")
    assert isinstance(next(iter(open_rows([loop]))), Sample)
    good, bad = open_rows(r for r in [{"question": "Q"}, loop])
    assert isinstance(bad, BadRow)
    assert bad.code == "E0302"


def test_bytes_in_an_arrow_text_column_are_a_bad_row_only_there():
    raw = pa.array([b"good", b"b\xff", b"fine"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    table = pa.table({"question": text})
    first, bad, last = open_rows(table)
    assert isinstance(bad, BadRow)
    (first, last) = samples([first, last])
    assert (first.question, bad.code, last.question) == ("good", "E0305", "fine")


def test_a_map_column_is_read_as_graded_ids():
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"question": ["Q"], "relevant_ids": pa.array([[("a", 2), ("b", 0)]], kind)})
    (sample,) = samples(open_rows(table))
    assert sample.relevant_ids == {"a": 2.0, "b": 0.0}


def test_nothing_in_memory_is_nothing_to_do():
    sources: tuple[object, ...] = (
        [],
        iter([]),
        pd.DataFrame({"question": []}),
        pa.table({"question": pa.array([], pa.string())}),
    )
    for source in sources:
        with pytest.raises(NothingToDo):
            open_rows(source)


def test_splits_and_double_columns_are_refused():
    with pytest.raises(SetupError, match=r"rows\['train'\]"):
        open_rows({"train": HuggingFace(), "test": HuggingFace()})
    with pytest.raises(DataError) as caught:
        open_rows(pd.DataFrame([["a", "b"]], columns=["question", "question"]))
    assert caught.value.code == "E0310"


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match=r"pip install 'ragassay\[arrow\]'") as caught:
        open_rows(path)
    assert caught.value.code == "E0105"


def test_a_damaged_parquet_file_is_a_data_error(tmp_path):
    path = write(tmp_path, "parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + bytes(len(whole) // 3) + whole[8 + len(whole) // 3 :])
    with pytest.raises(DataError) as caught:
        list(open_rows(path))
    assert caught.value.code == "E0310"


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 10_000), st.integers(0, 255), st.sampled_from(["parquet", "feather", "arrow"])
)
def test_a_damaged_byte_in_a_columnar_file_is_never_a_crash(place, byte, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), kind)
        data = bytearray(path.read_bytes())
        data[place % len(data)] = byte
        path.write_bytes(data)
        with contextlib.suppress(RagAssayError):
            assert all(isinstance(item, Sample | BadRow) for item in open_rows(path))


def test_a_record_is_readable_json_like():
    assert to_record(SAMPLES[0]) == ROWS[0]


def test_blank_rows_of_a_data_frame_are_skipped_and_counted():
    gap = float("nan")
    frame = pd.DataFrame({"question": ["Who?", None, gap], "response": ["Ana.", gap, " "]})
    rows = open_rows(frame)
    assert [row.id for row in rows] == ["row-1"]
    assert "skipped 2 rows in which every cell is empty" in rows.scan().lines
