"""Rows from traces: spans as instrumentors send them, and as MLflow and Phoenix keep them."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import AppUsage, Context, Sample
from ragassay.datasets import open_rows
from support.rows import samples

RECORDED = Path(os.environ.get("RAGASSAY_DATA", "missing")).parent / "recorded/otlp_spans"
ANSWER = "Refunds are possible within 30 days [1]."


def span(id: str, parent: str | None, kind: str, **attributes: Any) -> dict[str, Any]:
    """A span of OpenInference; a double underscore in a name stands for a dot."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "span_id": id,
        "parent_id": parent,
        "start_time_unix_nano": int(id) * 10**9,
        "end_time_unix_nano": int(id) * 10**9 + 5 * 10**8,
        "attributes": {"openinference.span.kind": kind, **named},
    }


def llm(id: str, parent: str, prompt: int, completion: int) -> dict[str, Any]:
    tokens = {"llm__token_count__prompt": prompt, "llm__token_count__completion": completion}
    return span(id, parent, "LLM", llm__token_count__total=prompt + completion, **tokens)


def one(spans: list[dict[str, Any]]) -> Sample:
    (read,) = samples(open_rows([{"trace_id": "t", "spans": spans}]))
    return read


def test_tokens_are_summed_over_the_calls_of_models():
    # 42 + 10 and 9 + 2; the embedding's 3 are no call of a language model.
    root = span("1", None, "CHAIN", input__value="Q", output__value="A")
    embedding = span("4", "1", "EMBEDDING", llm__token_count__prompt=3)
    read = one([root, llm("2", "1", 42, 9), llm("3", "1", 10, 2), embedding])
    assert read.usage == AppUsage(52, 11, 63, None, 0.5)


def test_a_span_that_repeats_the_sum_of_those_inside_it_is_not_counted_twice():
    total = {"llm__token_count__prompt": 52, "llm__token_count__completion": 11}
    root = span("1", None, "CHAIN", input__value="Q", output__value="A", **total)
    # The second call is logged by the wrapper (3) and by the client inside it (4).
    spans = [root, llm("2", "1", 42, 9), llm("3", "1", 10, 2), llm("4", "3", 10, 2)]
    assert one(spans).usage == AppUsage(52, 11, 63, None, 0.5)


def test_what_a_retriever_inside_a_retriever_found_is_read_once():
    document = {
        "retrieval__documents__0__document__content": "P",
        "retrieval__documents__0__document__id": "d",
        "retrieval__documents__0__document__score": 0.5,
    }
    root = span("1", None, "CHAIN", input__value="Q", output__value="A")
    outer, inner = (
        span("2", "1", "RETRIEVER", **document),
        span("3", "2", "RETRIEVER", **document),
    )
    again = span("4", "1", "RETRIEVER", **document)
    assert one([root, outer, inner, again]).contexts == (Context("P", "d", 0.5),)


def test_the_row_s_own_columns_go_before_the_spans():
    root = span("1", None, "CHAIN", input__value="Q", output__value="A")
    row = {"question": "Own?", "answer": "Own.", "trace": {"spans": [root]}}
    (read,) = samples(open_rows([row]))
    assert (read.question, read.response, read.contexts) == ("Own?", "Own.", None)


def mlflow_span(
    id: str, parent: str | None, kind: str, inputs: Any, outputs: Any, **more: Any
) -> dict[str, Any]:
    """A span as MLflow 3 writes it: attributes are JSON in texts."""
    attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, **more}
    attributes["mlflow.spanOutputs"] = outputs
    return {
        "trace_id": "IzzUIxrqwMnvIFarIRva+w==",
        "span_id": id,
        "parent_span_id": parent,
        "name": kind.lower(),
        "start_time_unix_nano": 10**9,
        "end_time_unix_nano": 3 * 10**9,
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }


DOCUMENT = {"page_content": "Refunds within 30 days.", "metadata": {"doc_uri": "d0"}, "id": "d0"}
REPLY = {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]}
USAGE = {"mlflow.chat.tokenUsage": {"input_tokens": 42, "output_tokens": 9, "total_tokens": 51}}
MLFLOW: dict[str, Any] = {
    "info": {"trace_id": "tr-1", "state": "OK", "execution_duration_ms": 250},
    "data": {
        "spans": [
            mlflow_span("a", None, "CHAIN", {"question": "What is the window?"}, ANSWER),
            mlflow_span("b", "a", "RETRIEVER", {"q": "window"}, [DOCUMENT]),
            mlflow_span("c", "a", "CHAT_MODEL", {"messages": []}, REPLY, **USAGE),
            mlflow_span("d", "a", "CHAT_MODEL", {"messages": []}, REPLY, **USAGE),
        ]
    },
}


@pytest.mark.parametrize("layout", ["lines", "an array", "a column", "a column as text"])
def test_a_trace_of_mlflow_is_a_row(layout, tmp_path):
    path = tmp_path / ("rows.jsonl" if layout == "lines" else "rows.json")
    rows: dict[str, Any] = {
        "lines": MLFLOW,
        "an array": [MLFLOW],
        "a column": [{"id": "tr-1", "trace": MLFLOW}],
        "a column as text": [{"id": "tr-1", "trace": json.dumps(MLFLOW)}],
    }
    path.write_text(json.dumps(rows[layout]))
    (read,) = samples(open_rows(path))
    assert (read.id, read.question, read.response) == ("tr-1", "What is the window?", ANSWER)
    assert read.contexts == (Context("Refunds within 30 days.", "d0"),)
    # Two calls of 42 and 9 tokens.
    assert read.usage == AppUsage(84, 18, 102, None, 0.25)


def test_the_totals_that_mlflow_wrote_itself_go_before_the_sum_of_the_spans():
    metadata = {"mlflow.trace.tokenUsage": '{"input_tokens": 1, "output_tokens": 2}'}
    row = {**MLFLOW, "info": {**MLFLOW["info"], "trace_metadata": metadata}}
    (read,) = samples(open_rows([row]))
    assert read.usage is not None
    assert (read.usage.input_tokens, read.usage.output_tokens) == (1, 2)


def failing_trace() -> dict[str, Any]:
    """A trace of MLflow 3 that ended in an error, of a session."""
    root = mlflow_span("a", None, "CHAIN", {"question": "Why?"}, None)
    root["attributes"].pop("mlflow.spanOutputs")
    root["status"] = {"code": "STATUS_CODE_ERROR", "message": "ValueError: index away"}
    metadata = {"mlflow.trace.session": "s-1"}
    info = {"trace_id": "tr-2", "state": "ERROR", "trace_metadata": metadata}
    return {"info": info, "data": {"spans": [root]}}


def streamed_trace() -> dict[str, Any]:
    """A trace of MLflow 3 of a function that answers piece by piece."""
    root = mlflow_span("a", None, "CHAIN", {"question": "How long?"}, ["2.7 ", "km."])
    return {"info": {"trace_id": "tr-3", "state": "OK"}, "data": {"spans": [root]}}


def test_a_trace_of_mlflow_says_its_error_and_its_session():
    trace = failing_trace()
    (read,) = samples(open_rows([trace]))
    assert (read.question, read.response) == ("Why?", None)
    assert (read.error, read.cluster) == ("ValueError: index away", "s-1")
    # The state of the whole counts where the spans do not say it.
    del trace["data"]["spans"][0]["status"]
    (read,) = samples(open_rows([trace]))
    assert read.error == "the trace ended in the state ERROR"
    # Whoever got an answer met no error.
    answered = {**MLFLOW, "info": trace["info"]}
    (read,) = samples(open_rows([answered]))
    assert (read.response, read.error, read.cluster) == (ANSWER, None, "s-1")


def test_an_object_with_spans_says_its_error_and_its_session():
    root = span("1", None, "CHAIN", input__value="Q", session__id="s-1")
    root["status"] = {"code": 2, "message": "index away"}
    read = one([root])
    assert (read.response, read.error, read.cluster) == (None, "index away", "s-1")


def test_a_trace_of_mlflow_whose_root_is_not_there_yet_says_no_question():
    inner = mlflow_span("b", "a", "RETRIEVER", {"query": "length"}, [DOCUMENT])
    trace = {"info": {"trace_id": "tr-4", "state": "IN_PROGRESS"}, "data": {"spans": [inner]}}
    (read,) = samples(open_rows([trace]))
    assert (read.id, read.question, read.contexts) == ("tr-4", None, None)


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_the_table_of_mlflows_search_traces_has_ids_answers_and_errors(ending, tmp_path):
    outputs = [ANSWER, None, ["2.7 ", "km."]]
    rows = []
    for trace, output in zip([MLFLOW, failing_trace(), streamed_trace()], outputs, strict=True):
        inputs = json.loads(trace["data"]["spans"][0]["attributes"]["mlflow.spanInputs"])
        rows.append(
            {
                "trace_id": trace["info"]["trace_id"],
                "trace": json.dumps(trace),
                "state": trace["info"]["state"],
                "request": inputs,
                "response": output,
            }
        )
    path = write_table(tmp_path / f"traces{ending}", rows)
    read = {row.id: row for row in samples(open_rows(path))}
    assert [(name, row.response) for name, row in read.items()] == [
        ("tr-1", ANSWER),
        ("tr-2", None),
        ("tr-3", "2.7 km."),
    ]
    assert (read["tr-2"].question, read["tr-2"].error) == ("Why?", "ValueError: index away")
    assert read["tr-2"].cluster == "s-1"


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows as lines of JSON, or as a data frame writes them to CSV: an empty cell for what is not
    there, objects as Python prints them.
    """
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_table_of_spans_of_phoenix_says_the_same_as_text(ending, tmp_path):
    def flat(trace: str, id: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
        ids = {"context.trace_id": trace, "context.span_id": id, "parent_id": parent}
        named = {name.replace("__", "."): value for name, value in more.items()}
        return {**ids, "span_kind": kind, "start_time_unix_nano": int(id) * 10**9, **named}

    document = {"document.content": "It's 2.7 km long.", "document.id": "d1"}
    tokens = {"attributes.llm.token_count.prompt": 10.0}
    spans = [
        flat("t1", "1", None, "CHAIN", attributes__input__value="Q", attributes__output__value="A"),
        flat("t1", "2", "1", "RETRIEVER", **{"attributes.retrieval.documents": [document]}),
        flat("t1", "3", "1", "LLM", **tokens),
        flat("t2", "1", None, "CHAIN", attributes__input__value="Q", status_code="ERROR"),
    ]
    spans[3]["status_message"] = "index away"
    spans[3]["events"] = []
    good, failed = samples(open_rows(write_table(tmp_path / f"spans{ending}", spans)))
    assert (good.response, good.contexts) == ("A", (Context("It's 2.7 km long.", "d1"),))
    assert good.usage is not None
    assert good.usage.input_tokens == 10
    assert (failed.response, failed.error) == (None, "index away")


def observation(id: str, parent: str | None, type: str, **more: Any) -> dict[str, Any]:
    """An observation of Langfuse's interface. id: its second, too."""
    time = f"2026-11-28T10:00:0{id}.000Z"
    ids = {"id": id, "traceId": "t1", "parentObservationId": parent}
    return {**ids, "type": type, "startTime": time, "endTime": time, "level": "DEFAULT", **more}


def langfuse(output: object, observations: list[dict[str, Any]]) -> Sample:
    trace = {
        "id": "t1",
        "timestamp": "2026-11-28T10:00:00.000Z",
        "input": {"args": [], "kwargs": {"question": "How long?"}},
        "output": output,
        "sessionId": "s-1",
        "observations": observations,
    }
    (read,) = samples(open_rows([trace]))
    return read


def test_a_trace_of_langfuse_fails_with_its_outermost_observation():
    failure = {"level": "ERROR", "statusMessage": "index away"}
    failed = observation("1", None, "SPAN", **failure)
    search = observation("2", "1", "RETRIEVER", **failure)
    read = langfuse(None, [failed, search])
    assert (read.question, read.response, read.error) == ("How long?", None, "index away")
    # It was tried again, or it answered all the same.
    again = observation("3", None, "SPAN", output="2.7 km.")
    model = observation("4", "3", "GENERATION", output="2.7 km.")
    assert langfuse("2.7 km.", [failed, search]).error is None
    assert langfuse(None, [failed, again, model]).error is None


def test_a_trace_of_langfuse_that_was_streamed_is_a_row_with_the_whole_answer():
    read = langfuse(["2.7 ", "km."], [observation("1", None, "SPAN")])
    assert (read.question, read.response) == ("How long?", "2.7 km.")


def test_traces_of_langfuse_without_their_observations_say_what_to_export():
    trace = {"id": "t1", "timestamp": "2026-11-28T10:00:00.000Z", "observations": ["o1", "o2"]}
    data = open_rows([{**trace, "input": "How long?", "output": "2.7 km."}])
    (line,) = (line for line in data.scan().lines if line.startswith("contexts not recorded"))
    assert line.endswith("the list of traces has only their ids")
    # One that failed says so in its observations: here it is a question without an answer.
    (read,) = samples(open_rows([{**trace, "input": "How long?", "output": None}]))
    assert (read.question, read.response, read.error) == ("How long?", None, None)


def test_a_table_of_spans_is_one_row_a_trace(tmp_path):
    """As Phoenix exports spans: one a line, newest first."""
    spans = [
        llm("3", "1", 42, 9),
        span("2", "1", "RETRIEVER", output__value=json.dumps({"documents": [DOCUMENT]})),
        span("1", None, "CHAIN", input__value="Q", output__value=ANSWER),
    ]
    lines: list[dict[str, Any]] = []
    for trace in ("t1", "t2"):
        for each in spans:
            context = {"trace_id": trace, "span_id": each["span_id"]}
            rest = {key: value for key, value in each.items() if key != "span_id"}
            lines.append({"context": context, **rest})
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    data = open_rows(path)
    first, second = samples(data)
    assert (first.id, first.question, first.response) == ("t1", "Q", ANSWER)
    assert first.contexts == (Context("Refunds within 30 days.", "d0"),)
    assert first.usage == second.usage == AppUsage(42, 9, 51, None, 0.5)
    assert "put 6 spans of 2 traces together: 2 rows, one a user turn" in data.scan().lines
    # A data frame of Phoenix has the same as columns with dots.
    flat = [
        {
            "context.trace_id": line["context"]["trace_id"],
            "context.span_id": line["context"]["span_id"],
            "parent_id": line["parent_id"],
            "span_kind": line["attributes"]["openinference.span.kind"],
            "start_time_unix_nano": line["start_time_unix_nano"],
            "end_time_unix_nano": line["end_time_unix_nano"],
            **{f"attributes.{name}": value for name, value in line["attributes"].items()},
        }
        for line in lines
    ]
    assert samples(open_rows(flat)) == [first, second]


CHUNKS = {
    "d0": "Refunds within 30 days.",
    "d1": "Shipping costs 5 EUR.",
    "d2": "We sell shoes.",
    "d3": "Contact support by mail.",
}


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded spans are not here")
def test_recorded_spans_of_real_instrumentors_are_rows():
    traces: dict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(RECORDED / "spans.jsonl.gz", "rt") as lines:
        for record in map(json.loads, lines):
            if record["kind"] == "span":
                traces[record["res"].get("service.name"), record["trace"]].append(
                    {
                        "span_id": record["span"],
                        "parent_id": record["parent"],
                        "start_time_unix_nano": record["start"],
                        "end_time_unix_nano": record["end"],
                        "attributes": record["attrs"],
                    }
                )
    rows: dict[Any, list[Sample]] = defaultdict(list)
    for (service, _), spans in traces.items():
        read = one(spans)
        # Indexing and embeddings are traces of their own, without an answer.
        if read.response is not None:
            rows[service].append(read)
    # A plain chain, a streamed one, an agent with three calls of 42 and 9 tokens.
    plain, streamed, agent = sorted(rows["lc-oi"], key=lambda row: str(row.question), reverse=True)
    assert plain.question == "What is the refund window?"
    assert plain.response == ANSWER
    assert plain.contexts == tuple(Context(CHUNKS[name], name) for name in ("d2", "d0", "d1"))
    assert streamed.response == f"{ANSWER} "
    assert agent.question == "Refund window and shipping cost?"
    assert agent.usage is not None
    assert (agent.usage.input_tokens, agent.usage.output_tokens) == (126, 27)
    # LlamaIndex logs each call three times, one inside the other: 42 + 9 a call.
    tokens = [row.usage.total_tokens for row in rows["llamaindex"] if row.usage is not None]
    assert sorted(map(str, tokens)) == ["102", "51", "51"]
    assert all(len(row.contexts or ()) == 2 for row in rows["llamaindex"])
    # A retriever that found nothing.
    (haystack,) = rows["haystack"]
    assert (haystack.question, haystack.response) == ("refund window?", ANSWER)
    assert haystack.contexts == ()


def otlp_span(name: str, kind: str, parent: str = "", **attributes: object) -> dict:
    """A span as OTLP's JSON has it: 64-bit numbers are texts, values are named by their type."""

    def typed(value: object) -> dict:
        if isinstance(value, list):
            return {"arrayValue": {"values": [typed(each) for each in value]}}
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    named = {"openinference.span.kind": kind, **attributes}
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": name,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": "1795357052000000000",
        "endTimeUnixNano": "1795357053250000000",
        "attributes": [{"key": key, "value": typed(value)} for key, value in named.items()],
    }


OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": []},
            "scopeSpans": [
                {
                    "scope": {"name": "openinference"},
                    "spans": [
                        otlp_span(
                            "root",
                            "CHAIN",
                            **{"input.value": "How long is it?", "output.value": "2.7 km."},
                        ),
                        otlp_span(
                            "search",
                            "RETRIEVER",
                            "root",
                            **{"retrieval.documents.0.document.content": "It is 2.7 km long."},
                        ),
                        otlp_span(
                            "model",
                            "LLM",
                            "root",
                            **{"llm.token_count.prompt": 40, "llm.token_count.completion": 7},
                        ),
                    ],
                }
            ],
        }
    ]
}


@pytest.mark.parametrize("name", ["indented.json", "line.json", "lines.jsonl"])
def test_spans_in_the_json_of_otlp_are_rows_of_their_traces(name: str, tmp_path: Path) -> None:
    text = json.dumps(OTLP, indent=1 if name.startswith("indented") else None)
    (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    (row,) = open_rows(tmp_path / name)
    assert isinstance(row, Sample)
    assert (row.question, row.response) == ("How long is it?", "2.7 km.")
    assert [context.text for context in row.contexts or ()] == ["It is 2.7 km long."]
    assert row.usage is not None
    assert (row.usage.input_tokens, row.usage.output_tokens, row.usage.latency) == (40, 7, 1.25)


def test_a_run_of_langsmith_has_contexts_and_tokens_from_the_runs_inside_it() -> None:
    run = {
        "id": "r1",
        "run_type": "chain",
        "inputs": {"question": "How long is it?"},
        "outputs": {"answer": "2.7 km."},
        "child_runs": [
            {
                "id": "r2",
                "run_type": "chain",
                "inputs": {},
                "outputs": {},
                "child_runs": [
                    {
                        "id": "r3",
                        "run_type": "retriever",
                        "inputs": {"query": "long"},
                        "outputs": {
                            "documents": [
                                {"page_content": "It is 2.7 km long.", "metadata": {"id": "d1"}}
                            ]
                        },
                    }
                ],
            },
            {
                "id": "r4",
                "run_type": "llm",
                "inputs": {"messages": []},
                "outputs": {"generations": []},
                "prompt_tokens": 40,
                "completion_tokens": 7,
            },
        ],
    }
    (row,) = open_rows([run])
    assert isinstance(row, Sample)
    assert (row.question, row.response) == ("How long is it?", "2.7 km.")
    assert [context.text for context in row.contexts or ()] == ["It is 2.7 km long."]
    assert row.usage is not None
    assert (row.usage.input_tokens, row.usage.output_tokens) == (40, 7)
    # What the run itself says goes before what the runs inside it say.
    (named,) = open_rows([{**run, "prompt_tokens": 41, "outputs": {"answer": "x", "contexts": []}}])
    assert isinstance(named, Sample)
    assert named.contexts == ()
    assert named.usage is not None
    assert named.usage.input_tokens == 41


def test_retrieval_without_texts_is_no_empty_retrieval() -> None:
    spans = [otlp_span("search", "", **{"gen_ai.operation.name": "retrieval"})]
    spans[0]["attributes"].pop(0)
    spans.append(otlp_span("root", "CHAIN", **{"input.value": "q?", "output.value": "a"}))
    (row,) = open_rows([{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}])
    assert isinstance(row, Sample)
    assert row.contexts is None
