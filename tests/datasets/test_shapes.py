"""Rows of other tools beyond their plain columns: conversations, logs, labels, traces, times,
errors, saved folders.
"""

from __future__ import annotations

import contextlib
import csv
import json
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragassay.core import AppUsage, BadRow, Context, DataError, NothingToDo, Sample, SetupError
from ragassay.datasets import from_record, open_rows, to_record
from ragassay.datasets.names import ALIASES
from support.examples import examples
from support.present import present
from support.rows import bad_rows, samples

CONVERSATION = [
    {"type": "human", "content": "Hello"},
    {"type": "ai", "content": "Hi."},
    {"type": "human", "content": "Why?"},
    {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {}}]},
    {"type": "tool", "content": "found"},
    {"type": "ai", "content": "Because."},
]
CASES: dict[str, tuple[dict[str, object], str, dict[str, object]]] = {
    "Ragas, a conversation": (
        {"user_input": CONVERSATION, "reference": "R"},
        "Ragas",
        {"question": "Why?", "response": "Because.", "reference": "R"},
    ),
    "Ragas, a conversation that the user ended": (
        {"user_input": CONVERSATION[:3]},
        "Ragas",
        {"question": "Why?", "response": None},
    ),
    "Ragas, texts with ids": (
        {
            "user_input": "Q",
            "retrieved_contexts": ["c", "d"],
            "retrieved_context_ids": [7, "x"],
            "reference_context_ids": ["x"],
        },
        "Ragas",
        {"contexts": (Context("c", "7"), Context("d", "x")), "relevant_ids": {"x": 1.0}},
    ),
    "Ragas, a ranking of ids and nothing else": (
        {"retrieved_context_ids": ["a", "b"], "reference_context_ids": ["b"]},
        "Ragas",
        {"contexts": (Context("", "a"), Context("", "b")), "relevant_ids": {"b": 1.0}},
    ),
    "DeepEval with its costs": (
        {
            "input": "Q",
            "actual_output": "A",
            "token_cost": 0.5,
            "completion_time": 2.0,
            "input_token_count": 3,
            "output_token_count": 4,
            "metadata": {"labels": {"ok": True}},
        },
        "DeepEval",
        {"usage": AppUsage(3, 4, None, 0.5, 2.0), "labels": {"ok": 1.0}},
    ),
    "MLflow, a row that retrieved and did not answer": (
        {
            "inputs": {"query": "Q"},
            "outputs": {"response": None, "retrieved_context": [{"content": "c"}]},
        },
        "MLflow",
        {"question": "Q", "response": None, "contexts": (Context("c"),)},
    ),
    "Agent Evaluation's result table": (
        {
            "request": "Q",
            "response": "A",
            "agent/latency_seconds": 2.5,
            "agent/total_token_count": 7,
            "agent/total_input_token_count": 3,
            "agent/total_output_token_count": 4,
        },
        "Databricks Agent Evaluation",
        {"usage": AppUsage(3, 4, 7, None, 2.5)},
    ),
    "ARES with labels": (
        {
            "Question": "Q",
            "Document": '["one text"]',
            "Answer": "A",
            "Context_Relevance_Label": 1.0,
            "Answer_Relevance_Label": None,
            "Answer_Faithfulness_Label": "[[No]]",
        },
        "ARES",
        {
            "question": "Q",
            "response": "A",
            "contexts": (Context('["one text"]'),),
            "labels": {"Context_Relevance_Label": 1.0, "Answer_Faithfulness_Label": "[[No]]"},
        },
    ),
    "ARES without labels": (
        {"Query": "Q", "Document": "d", "Answer": "A"},
        "ARES",
        {"question": "Q", "contexts": (Context("d"),), "response": "A"},
    ),
    "Phoenix, a span": (
        {
            "context.span_id": "s",
            "attributes.input.value": "Q",
            "attributes.output.value": "A",
            "attributes.llm.token_count.prompt": 3,
            "attributes.llm.token_count.completion": 4,
            "attributes.llm.token_count.total": 7,
            "start_time": "2026-01-01T00:00:00.25+00:00",
            "end_time": "2026-01-01T00:00:02Z",
            "status_code": "ERROR",
            "status_message": "boom",
        },
        "Phoenix",
        {"usage": AppUsage(3, 4, 7, None, 1.75), "error": "boom"},
    ),
    "LangSmith, an example": (
        {"id": "e", "dataset_id": "d", "inputs": {"question": "Q"}, "outputs": {"answer": "R"}},
        "LangSmith",
        {"id": "e", "question": "Q", "response": None, "reference": "R"},
    ),
    "LangSmith, a run": (
        {
            "id": "r",
            "run_type": "chain",
            "inputs": {"question": "Q"},
            "outputs": {"output": "A"},
            "reference_outputs": {"answer": "R"},
            "total_tokens": 7,
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_cost": "0.25",
            "start_time": 1_700_000_000_000,
            "end_time": 1_700_000_001_500,
            "error": None,
        },
        "LangSmith",
        {
            "id": "r",
            "question": "Q",
            "response": "A",
            "reference": "R",
            "error": None,
            "usage": AppUsage(3, 4, 7, 0.25, 1.5),
        },
    ),
    "LangSmith, the table of an experiment": (
        {
            "inputs.question": "Q",
            "outputs.answer": "A",
            "error": "Timeout()",
            "reference.answer": "R",
            "feedback.correct": 1,
            "execution_time": 2.5,
            "example_id": "e",
            "id": "r",
        },
        "LangSmith",
        {
            "id": "r",
            "question": "Q",
            "response": "A",
            "reference": "R",
            "error": "Timeout()",
            "cluster": "e",
            "usage": AppUsage(latency=2.5),
        },
    ),
    "Inspect, a sample of a dataset": (
        {
            "id": 7,
            "input": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}],
            "target": ["R", "R2"],
            "metadata": {"contexts": ["c"], "answerable": True},
        },
        "Inspect",
        {
            "id": "7",
            "question": "Q",
            "reference": "R",
            "contexts": (Context("c"),),
            "answerable": True,
        },
    ),
    "Inspect, a sample of a log": (
        {
            "id": "x",
            "epoch": 1,
            "input": [{"role": "user", "content": [{"type": "text", "text": "Q"}]}],
            "target": "R",
            "output": {
                "model": "m",
                "choices": [],
                "completion": "A",
                "time": 2.5,
                "usage": {
                    "input_tokens": 3,
                    "output_tokens": 4,
                    "total_tokens": 7,
                    "input_tokens_cache_read": 1,
                },
            },
            "scores": {
                "match": {"value": "C", "explanation": "same"},
                "f1": {"value": 0.5},
                "many": {"value": [1, 2]},
            },
            "metadata": {},
            "error": {"message": "limit", "traceback": "..."},
        },
        "Inspect",
        {
            "question": "Q",
            "response": "A",
            "labels": {"match": "C", "f1": 0.5},
            "error": "limit",
            "usage": AppUsage(3, 4, 7, None, 2.5),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_recognised_and_read(name, tmp_path):
    row, shape, expected = CASES[name]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    data = open_rows(path)
    (sample,) = data
    assert isinstance(sample, Sample), sample
    assert {field: getattr(sample, field) for field in expected} == expected
    assert data.scan().lines[0] == f"looks like {shape} rows"
    assert list(open_rows([row])) == [sample]


LAYOUTS = {
    "an indented array": lambda rows: json.dumps(rows, indent=2),
    "an array on one line": lambda rows: json.dumps(rows),
    "an array inside an object": lambda rows: json.dumps({"version": 3, "results": rows}),
    "an indented object": lambda rows: json.dumps({"results": rows, "stats": {"n": 2}}, indent=1),
}


@pytest.mark.parametrize("with_ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_every_layout_of_a_file_reads_as_its_lines_do(name, layout, with_ids, tmp_path):
    plain = {key: cell for key, cell in CASES[name][0].items() if key not in ALIASES["id"]}
    plain.pop("id", None)
    ids = [{"id": "a"}, {"id": "b"}] if with_ids else [{}, {}]
    rows = [{**given, **plain} for given in ids]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "rows.json").write_text(LAYOUTS[layout](rows))
    expected = samples(open_rows(tmp_path / "rows.jsonl"))
    data = open_rows(tmp_path / "rows.json")
    assert samples(data) == expected
    assert [s.id for s in expected] == (["a", "b"] if with_ids else ["row-1", "row-2"])
    assert (data.scan().rows, data.scan().bad) == (2, 0)


def test_the_whole_log_of_inspect_and_the_whole_file_of_ragchecker_are_read(tmp_path):
    log = {
        "version": 2,
        "results": {"scores": []},
        "samples": [CASES["Inspect, a sample of a log"][0]],
    }
    (tmp_path / "log.json").write_text(json.dumps(log, indent=1))
    assert samples(open_rows(tmp_path / "log.json"))[0].labels == {"match": "C", "f1": 0.5}
    row = {
        "query_id": "1",
        "query": "Q",
        "gt_answer": "R",
        "response": "A",
        "retrieved_context": [],
    }
    whole = {"results": [row], "metrics": {"overall_metrics": {}}}
    (tmp_path / "checked.json").write_text(json.dumps(whole))
    assert list(open_rows(tmp_path / "checked.json")) == [Sample("1", "Q", (), "A", "R", line=1)]


def test_map_still_wins_over_a_recognised_shape():
    row = {"inputs": {"question": "Q"}, "outputs": {"answer": "R"}, "dataset_id": "d", "other": "A"}
    (sample,) = samples(open_rows([row], mapping={"response": "other"}))
    assert (sample.response, sample.reference) == ("A", "R")
    row = {"inputs": {"question": "Q"}, "outputs": "R"}
    (sample,) = samples(open_rows([row], mapping={"reference": "outputs"}))
    assert (sample.response, sample.reference) == (None, "R")


def test_times_are_read_where_a_tool_means_the_run_by_them_or_map_says_so():
    row = {"question": "Q", "start_time": "00:12", "end_time": "00:15"}  # a clip of a film, say
    data = open_rows([row])
    assert samples(data)[0].usage is None
    assert "ignored start_time, end_time" in data.scan().lines
    zone = datetime(2026, 1, 1, tzinfo=UTC)
    mapped = {"question": "Q", "from": zone, "to": zone + timedelta(seconds=2)}
    (sample,) = samples(open_rows([mapped], mapping={"start_time": "from", "end_time": "to"}))
    assert sample.usage == AppUsage(latency=2.0)


SPAN = {"context.span_id": "s", "attributes.input.value": "Q"}


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("2026-01-01T00:00:02", "2026-01-01T00:00:01", "end_time is before start_time"),
        ("yesterday", "2026-01-01", "start_time is no time"),
        (1.0, [2], "end_time is no time"),
        (True, 2.0, "start_time is no time"),
    ],
)
def test_an_invalid_time_makes_a_bad_row(start, end, says):
    (bad,) = open_rows([{**SPAN, "start_time": start, "end_time": end}])
    assert isinstance(bad, BadRow)
    assert says in bad.what


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_the_unit_of_times_since_1970_follows_from_their_size(unit):
    start = 1_700_000_000 * unit
    row = {**SPAN, "start_time": start, "end_time": start + 3 * unit}
    (sample,) = samples(open_rows([row]))
    assert present(sample.usage).latency == pytest.approx(3.0)


def trace(**info):
    return {"info": {"trace_id": "tr-1", "state": "OK", **info}, "data": {"spans": []}}


TOKENS = '{"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}'
TRACES = {
    "version 3": (
        trace(
            execution_duration_ms=1250,
            trace_metadata={
                "mlflow.trace.tokenUsage": TOKENS,
                "mlflow.trace.cost": '{"total_cost": 0.25}',
            },
        ),
        AppUsage(3, 4, 7, 0.25, 1.25),
    ),
    "version 3 in protobuf's JSON": (trace(execution_duration="1.25s"), AppUsage(latency=1.25)),
    "version 2": (
        trace(
            execution_time_ms=1250,
            request_metadata=[{"key": "mlflow.trace.tokenUsage", "value": TOKENS}],
        ),
        AppUsage(3, 4, 7, None, 1.25),
    ),
    "only spans": (
        {
            "info": {},
            "data": {
                "spans": [
                    {"parent_span_id": "a", "start_time_unix_nano": 0, "end_time_unix_nano": 1},
                    {
                        "parent_span_id": None,
                        "start_time_unix_nano": 10**9,
                        "end_time_unix_nano": 3 * 10**9,
                    },
                ]
            },
        },
        AppUsage(latency=2.0),
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_the_totals_of_a_trace_are_the_usage_of_its_row(name):
    value, usage = TRACES[name]
    row = {"inputs": {"question": "Q"}, "outputs": "A"}
    for form in (value, json.dumps(value)):
        (sample,) = samples(open_rows([{**row, "trace": form}]))
        assert sample.usage == usage
    columns = {"latency": 9.0, "total_tokens": 1}
    (sample,) = samples(open_rows([{**row, "trace": value, **columns}]))
    own = present(sample.usage)
    assert (own.latency, own.total_tokens) == (9.0, 1)  # the row's own columns win


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("tr-123", "1 trace could not be read"),
        ([1], "1 trace could not be read"),
        (trace(), "1 trace has no totals"),
    ],
)
def test_a_trace_that_says_nothing_is_noted_and_the_row_is_read(value, note):
    data = open_rows([{"question": "Q", "trace": value}])
    assert list(data) == [Sample("row-1", "Q", line=1)]
    assert data.scan().notes == (note,)


def test_a_trace_object_in_memory_is_asked_for_its_dict():
    class Trace:
        def to_dict(self):
            return trace(execution_duration_ms=500)

    (sample,) = samples(open_rows([{"question": "Q", "trace": Trace()}]))
    assert sample.usage == AppUsage(latency=0.5)


def test_a_negative_total_in_a_trace_is_a_bad_row():
    row = {"question": "Q", "trace": trace(trace_metadata={"mlflow.trace.cost": "-1"})}
    (bad,) = bad_rows(open_rows([row]))
    assert (bad.code, bad.what) == ("E0303", "row 1: trace.cost is negative")


def test_milliseconds_become_seconds():
    (sample,) = samples(open_rows([{"question": "Q", "latency_ms": 1500}]))
    assert sample.usage == AppUsage(latency=1.5)


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "info",
                    "data",
                    "spans",
                    "trace_metadata",
                    "mlflow.trace.tokenUsage",
                    "total_tokens",
                    "key",
                    "value",
                    "execution_duration_ms",
                    "message",
                    "role",
                    "content",
                    "choices",
                    "outputs",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
COLUMNS = [
    "trace",
    "error",
    "inputs",
    "outputs",
    "start_time",
    "end_time",
    "latency_ms",
    "metadata",
    "scores",
    "target",
    "input",
    "output",
    "run_type",
    "user_input",
    "retrieved_context_ids",
    "document",
    "answer_relevance_label",
]


@pytest.mark.slow
@example({"error": [[]]})
@given(st.dictionaries(st.sampled_from(COLUMNS), json_like, max_size=6))
@settings(max_examples=examples(200), deadline=None)
def test_any_json_in_the_columns_of_any_tool_is_a_sample_or_a_bad_row(row):
    with contextlib.suppress(SetupError):  # two columns for one field
        (item,) = open_rows([{"question": "Q", **row}])
        assert isinstance(item, Sample | BadRow)
        if isinstance(item, Sample):
            json.dumps(to_record(item), allow_nan=False)


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("boom", "boom"),
        ("", None),
        (None, None),
        (False, None),
        (True, "true"),
        (0, None),
        ([], None),
        ({}, None),
        ({"message": "m"}, "m"),
        ({"code": 5}, "an error without a message"),
        (["first", "second"], "first"),
        (0.3, None),
        ([[]], "an error without a message"),
        ([{"detail": "d"}], "d"),
    ],
)
@pytest.mark.parametrize("column", ["error", "app_error", "exception"])
def test_what_the_application_said_when_it_failed_is_read(column, cell, error):
    (sample,) = samples(open_rows([{"question": "Q", column: cell}]))
    assert sample.error == error


def test_an_error_travels_in_the_record_and_a_number_in_its_column_is_noted():
    sample = Sample("a", "Q", error="boom")
    assert to_record(sample) == {"id": "a", "question": "Q", "error": "boom"}
    assert from_record(to_record(sample)) == sample
    assert open_rows([{"question": "Q", "error": 0.3}]).scan().notes == (
        "1 error cell holds no text and was not read",
    )


def test_uuids_and_decimals_of_objects_in_memory_are_read():
    key = uuid.UUID(int=7)
    row = {"id": key, "question": "Q", "total_cost": Decimal("0.25")}
    (sample,) = samples(open_rows([row]))
    assert (sample.id, present(sample.usage).cost) == (str(key), 0.25)


ROWS = [{"id": f"r{n}", "question": f"Q{n}", "contexts": ["c"] * (n % 3)} for n in range(10)]


def save(folder, rows, shards):
    """What Dataset.save_to_disk (datasets 5.2) leaves: Arrow streams, state.json and
    dataset_info.json.
    """
    folder.mkdir(parents=True)
    names = []
    for shard in range(shards):
        part = pa.Table.from_pylist(rows[shard::shards])
        names.append(f"data-{shard:05d}-of-{shards:05d}.arrow")
        with (
            pa.OSFile(str(folder / names[-1]), "wb") as sink,
            pa.ipc.new_stream(sink, part.schema) as writer,
        ):
            writer.write_table(part)
    state = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": "0",
        "_format_type": None,
    }
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_a_dataset_that_hugging_face_saved_is_read_shard_after_shard(tmp_path):
    data = open_rows(save(tmp_path / "saved", ROWS, 2))
    assert [(row.id, row.line) for row in data] == list(
        zip([f"r{n}" for n in (*range(0, 10, 2), *range(1, 10, 2))], range(1, 11), strict=True)
    )
    scan = data.scan()
    assert (scan.rows, scan.bad) == (10, 0)
    assert scan.lines[-1] == "a dataset saved by Hugging Face datasets"
    assert scan.source_hash == open_rows(tmp_path / "saved").scan().source_hash


def test_a_saved_dataset_with_splits_names_them(tmp_path):
    save(tmp_path / "both" / "train", ROWS, 1)
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(SetupError, match="several splits") as caught:
        open_rows(tmp_path / "both")
    assert (caught.value.why, caught.value.fix) == ("train, test", "choose one: both/train")
    assert open_rows(tmp_path / "both" / "train").scan().rows == 10
    (tmp_path / "both" / "dataset_dict.json").write_text("{")
    with pytest.raises(SetupError, match="several splits"):
        open_rows(tmp_path / "both")


@pytest.mark.parametrize(
    "state",
    [
        "",
        "[]",
        "{}",
        '{"_data_files": [{"filename": "../secret.arrow"}]}',
        '{"_data_files": [{"filename": "none.arrow"}]}',
        '{"_data_files": [7]}',
        '{"_data_files": [{"filename": 7}]}',
    ],
)
def test_a_broken_state_of_a_saved_dataset_is_an_error(tmp_path, state):
    folder = save(tmp_path / "saved", ROWS, 1)
    (tmp_path / "secret.arrow").write_bytes((folder / "data-00000-of-00001.arrow").read_bytes())
    (folder / "state.json").write_text(state)
    with pytest.raises(DataError, match=r"state.json cannot be read"):
        open_rows(folder)


def test_a_saved_dataset_without_rows_or_with_a_broken_shard_is_an_error(tmp_path):
    folder = save(tmp_path / "saved", ROWS, 1)
    shard = folder / "data-00000-of-00001.arrow"
    shard.write_bytes(b"no arrow")
    with pytest.raises(DataError, match="cannot be read"):
        open_rows(folder)
    (folder / "state.json").write_text('{"_data_files": []}')
    with pytest.raises(NothingToDo):
        open_rows(folder)


CHUNKS = ("Rebuilt in 1869 after a fire.", "Tickets from 10 a.m.")


@pytest.mark.parametrize(
    ("cell", "contexts"),
    [
        ("|".join(CHUNKS), CHUNKS),
        (CHUNKS[0], CHUNKS[:1]),
        ('["a | b", "c"]', ("a | b", "c")),
        ("['a | b']", ("a | b",)),
        (f"{CHUNKS[0]}|", (f"{CHUNKS[0]}|",)),
    ],
    ids=["joined", "one", "JSON", "repr", "one and a mark"],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_contexts_that_deepeval_joined_are_split_and_it_is_said(tmp_path, ending, cell, contexts):
    row = {"input": "Q?", "actual_output": "A", "expected_output": "R", "retrieval_context": cell}
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
    else:
        path.write_text(json.dumps(row))
    rows = open_rows(path)
    (sample,) = samples(rows)
    assert tuple(chunk.text for chunk in present(sample.contexts)) == contexts
    is_split = cell == "|".join(CHUNKS)
    said = ("1 cell of contexts was split at |, as DeepEval does",) if is_split else ()
    assert rows.scan().notes == said


def test_a_mark_in_the_contexts_of_other_tools_splits_nothing():
    (sample,) = samples(open_rows([{"question": "Q", "contexts": "a|b", "response": "A"}]))
    assert [chunk.text for chunk in present(sample.contexts)] == ["a|b"]
