"""Exports: JSON lines, CSV, Parquet, the Arrow table and JUnit XML, read back by other programs."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pyarrow.parquet
import pytest

from ragassay.core import EnvironmentFailure, SetupError
from ragassay.report import export, scores_frame, scores_table, write_junit
from support.present import present


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_jsonl_holds_one_record_per_row_and_metric(store, mixed, tmp_path):
    path = tmp_path / "out.jsonl"
    n = export(store, mixed, "jsonl", path)
    records = lines(path)
    assert n == len(records) == 7 * 4 + 1
    failed = next(r for r in records if r["id"] == "row-3" and r["metric"] == "groundedness")
    assert failed["value"] == 0.5
    assert (failed["status"], failed["asked"], failed["judged"], failed["verdict"]) == (
        "judged",
        2,
        2,
        "fail",
    )
    assert (failed["pass_mark"], failed["parts"], failed["cause"]) == (0.9, 2, "ungrounded")
    assert "says nothing of the kind" in failed["rationale"]
    quote = "The limit is 20 requests a minute."
    assert failed["evidence"] == [{"context": 0, "start": 0, "end": len(quote), "quote": quote}]
    lost = next(r for r in records if r["id"] == "row-5" and r["metric"] == "groundedness")
    assert (lost["value"], lost["status"], lost["verdict"]) == (None, "unparsed", "undecided")
    assert lost["reason"]
    bad = records[-1]
    assert (bad["id"], bad["metric"], bad["status"]) == ("line-8", None, "bad_row")
    assert bad["reason"].startswith("E0301")


def test_csv_and_jsonl_say_the_same(store, mixed, tmp_path):
    export(store, mixed, "jsonl", tmp_path / "a.jsonl")
    export(store, mixed, "csv", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = lines(tmp_path / "a.jsonl")
    assert len(rows) == len(wanted)
    for row, record in zip(rows, wanted, strict=True):
        assert row["id"] == record["id"]
        assert row["value"] == ("" if record["value"] is None else str(record["value"]))
        assert json.loads(row["evidence"]) == record["evidence"]


def test_no_cell_of_a_csv_is_a_formula(make, save, store):
    for start in "=+-@\t\r":
        row = make.row(0, f"{start}cmd|' /C calc'!A0")
        out = io.StringIO()
        export(store, save([row], f"run{ord(start)}"), "csv", out)
        for cells in list(csv.reader(io.StringIO(out.getvalue(), newline="")))[1:]:
            assert not any(cell[:1] in set("=+-@\t\r") for cell in cells)


def test_parquet_and_jsonl_say_the_same(store, mixed, tmp_path):
    export(store, mixed, "jsonl", tmp_path / "a.jsonl")
    assert export(store, mixed, "parquet", tmp_path / "a.parquet") == 29
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist() == lines(
        tmp_path / "a.jsonl"
    )


def test_hostile_texts_survive_the_round_trip(make, save, store, tmp_path):
    hostile = 'quote " comma , line\nbreak \u2028 NUL? no, \x1b[31m </script> 😀'
    run = save([make.row(0, "x", sentences=((hostile, 0),), contexts=(hostile,), quote=hostile)])
    export(store, run, "jsonl", tmp_path / "a.jsonl")
    record = next(r for r in lines_of(tmp_path / "a.jsonl") if r["metric"] == "groundedness")
    assert record["evidence"][0]["quote"] == hostile


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_the_arrow_table_has_a_row_per_score(store, mixed):
    table = scores_table(store, mixed)
    assert table.column_names == [
        "id",
        "index",
        "metric",
        "value",
        "status",
        "reason",
        "asked",
        "judged",
        "coverage",
        "verdict",
        "pass_mark",
        "probability",
        "rationale",
        "error",
        "cause",
        "flags",
        "better",
    ]
    assert table.num_rows == 28
    frame = table.to_pandas()
    lost = frame[(frame.id == "row-5") & (frame.metric == "groundedness")].iloc[0]
    assert lost.coverage == 0.0
    assert lost.error == "no readable verdict: the reply held no verdict"
    assert frame[frame.metric == "groundedness"].value.count() == 6
    failed = frame[(frame.id == "row-3") & (frame.metric == "groundedness")].iloc[0]
    assert (failed.rationale, failed.error) == ("Context 1 says nothing of the kind (claim 2).", "")


def test_the_data_frame_is_the_table_and_needs_no_pyarrow(store, mixed, monkeypatch):
    table = scores_table(store, mixed).to_pandas()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = scores_frame(store, mixed)
    assert list(frame.columns) == list(table.columns)
    for name in ("id", "metric", "value", "verdict", "rationale", "error", "cause"):
        pairs = zip(frame[name], table[name], strict=True)
        assert all(mine == theirs or (pd.isna(mine) and pd.isna(theirs)) for mine, theirs in pairs)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match="E0105") as caught:
        scores_frame(store, mixed)
    assert caught.value.fix == "pip install pandas"


def test_without_pyarrow_the_error_says_what_to_install(store, mixed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match="E0105") as caught:
        export(store, mixed, "parquet", tmp_path / "a.parquet")
    assert "ragassay[arrow]" in caught.value.fix


def test_an_unknown_format_names_the_nearest(store, mixed, tmp_path):
    with pytest.raises(SetupError, match="Did you mean 'jsonl'"):
        export(store, mixed, "json", tmp_path / "a")


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_exporting_into_a_missing_folder_is_an_error(store, mixed, tmp_path, format):
    with pytest.raises(EnvironmentFailure, match="E0107"):
        export(store, mixed, format, tmp_path / "no" / "where.x")


def test_junit_has_a_suite_per_metric_and_a_case_per_row(store, mixed, tmp_path):
    path = tmp_path / "junit.xml"
    write_junit(store, mixed, path)
    root = ElementTree.parse(path).getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == [
        "chunk_relevance",
        "groundedness",
        "answer_relevance",
        "latency",
        "rows",
    ]
    groundedness = suites["groundedness"]
    assert [groundedness.get(k) for k in ("tests", "failures", "errors", "skipped")] == [
        "7",
        "2",
        "1",
        "0",
    ]
    cases = {case.get("name"): case for case in groundedness.iter("testcase")}
    assert cases["row-1"].find("failure") is None
    failure = present(cases["row-3"].find("failure"))
    assert present(failure.get("message")).startswith(
        "groundedness is 0.500, passes at ≥ 90 % of claims; ungrounded"
    )
    assert "It was raised to 90 in May." in present(failure.text)
    assert present(cases["row-5"].find("error")).get("type") == "unparsed"
    # What does not apply is no case: a skipped one would look like a test that was left out.
    left_out = present(suites["answer_relevance"].find("properties/property"))
    assert (left_out.get("name"), left_out.get("value")) == ("not applicable", "1 row")
    assert suites["answer_relevance"].get("tests") == "6"
    assert present(suites["rows"].find("testcase/error")).get("type") == "E0301"
    # A figure without a pass mark is nothing that could pass or fail.
    assert suites["latency"].get("skipped") == "7"
    skipped = present(suites["latency"].find("testcase/skipped"))
    assert present(skipped.get("message")).endswith("; no verdict")
    assert [root.get(k) for k in ("tests", "failures", "errors", "skipped")] == [
        "28",
        "3",
        "2",
        "7",
    ]


def test_junit_of_hostile_texts_still_parses(make, save, store, tmp_path):
    hostile = "\x00\x0b\ufffe ]]> <a href='x'>&amp; \x1b[31m"
    run = save([make.row(0, "x", sentences=((hostile, 0),), contexts=(hostile,))])
    write_junit(store, run, tmp_path / "j.xml")
    ElementTree.parse(tmp_path / "j.xml")
    with pytest.raises(EnvironmentFailure, match="E0107"):
        write_junit(store, run, tmp_path / "no" / "j.xml")
