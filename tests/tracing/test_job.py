"""Rows of received spans: whatever the order of arrival, with the content of log records, and as a
source to evaluate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ragassay.core import DataError, NothingToDo, SetupError
from ragassay.datasets import open_rows
from ragassay.datasets.spans.names import is_read
from ragassay.store import Store
from ragassay.tracing.decoding import decode
from ragassay.tracing.job import AssemblyJob, Patience
from ragassay.tracing.objects import span_object
from ragassay.tracing.received import snapshot
from support.otlp_json import genai_request, openinference_spans, request, span, value
from support.rows import samples

TRACE = "5b8efff798038103d269b633813fc60c"
SCOPE = "openinference.instrumentation.langchain"
SPANS = openinference_spans("Q?", "A", [("one", ["a", "b"]), ("two", ["b", "c"])], TRACE)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def put(store: Store, spans: list[dict[str, Any]], now: float, scope: str = SCOPE) -> None:
    """Store spans as the endpoint does."""
    batch = decode("traces", json.dumps(request(spans, scope)).encode(), is_json=True)
    store.span_records.put(batch.spans, batch.logs, int(now * 1000))


def stored_rows(store: Store) -> list[dict[str, Any]]:
    return [orjson.loads(row.payload) for row in store.span_records.rows(0, 2**60)]


def test_a_row_has_where_its_fields_were_read_and_each_retrieval_with_its_query(
    store: Store,
) -> None:
    clock = Clock()
    put(store, SPANS, clock.now)
    job = AssemblyJob(store.span_records, now=clock)
    assert job.catch_up() == 0
    clock.now += 30
    assert job.catch_up() == 1
    (row,) = stored_rows(store)
    assert row["row"]["id"] == TRACE
    assert row["sources"]["contexts"] == "documents of 2 retrievals"
    assert row["retrievals"] == [
        {"query": "one", "documents": 2},
        {"query": "two", "documents": 2},
    ]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(SPANS), cut=st.integers(0, len(SPANS)))
def test_every_order_of_arrival_ends_in_the_same_row(
    tmp_path_factory: pytest.TempPathFactory, order: list[dict[str, Any]], cut: int
) -> None:
    clock = Clock()
    with Store.open(tmp_path_factory.mktemp("order") / "store.db") as store:
        job = AssemblyJob(store.span_records, now=clock)
        # The first ones are put together without the others, which come late.
        put(store, order[:cut], clock.now)
        clock.now += 700
        job.catch_up()
        put(store, order[cut:], clock.now)
        clock.now += 30
        job.catch_up()
        (row,) = stored_rows(store)
    assert row["row"]["question"] == "Q?"
    assert row["row"]["response"] == "A"
    assert len(row["row"]["contexts"]) == 3


def _process(name: str, scope: str, **records: list[dict[str, Any]]) -> dict[str, Any]:
    """What one process exports. records: its spans, or its logRecords."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]}
    outer = "scopeSpans" if "spans" in records else "scopeLogs"
    return {"resource": resource, outer: [{"scope": {"name": scope}, **records}]}


def _log(number: int, question: str, answer: str, time: int) -> dict[str, Any]:
    """The content of a call of a model, in a log record of its own."""
    said = [("input", "user", question), ("output", "assistant", answer)]
    attributes = [
        {
            "key": f"gen_ai.{side}.messages",
            "value": value(
                json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
            ),
        }
        for side, role, text in said
    ]
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "eventName": "gen_ai.client.inference.operation.details",
        "timeUnixNano": str(time),
        "attributes": attributes,
    }


KIND, OPERATION = "openinference.span.kind", "gen_ai.operation.name"
GENAI = "opentelemetry.instrumentation.genai.openai"
FOUND = {KIND: "RETRIEVER", "input.value": "bridge", "output.value": json.dumps([{"text": "b"}])}
SHARED = span(TRACE, 2, 1, {}, name="GET /answer")
# One turn over four processes: a web server, an application, a search service whose clock is half
# a second behind, and a service that calls the model and keeps the texts in log records. The
# application's span has the id of its caller's, as those of Zipkin do.
ARRIVALS: list[tuple[str, str, dict[str, Any]]] = [
    ("web", "http", span(TRACE, 1, None, {}, name="POST /chat")),
    ("web", "http", SHARED),
    ("app", SCOPE, {**SHARED, "endTimeUnixNano": str(int(SHARED["endTimeUnixNano"]) + 5)}),
    ("app", SCOPE, span(TRACE, 3, 2, {KIND: "CHAIN"})),
    ("search", SCOPE, {**span(TRACE, 4, 3, FOUND), "startTimeUnixNano": "1795357051500000000"}),
    ("models", GENAI, span(TRACE, 5, 3, {OPERATION: "chat", "gen_ai.usage.input_tokens": 7})),
    ("models", GENAI, span(TRACE, 6, 3, {OPERATION: "chat", "gen_ai.usage.input_tokens": 9})),
    ("models", "", _log(5, "How long?", "bridge", 1)),
    ("models", "", _log(6, "How long?", "27 m", 2)),
    ("models", "", _log(6, "How long?", "2.7 km", 3)),
]


def _arrive(store: Store, arrivals: list[tuple[str, str, dict[str, Any]]], now: float) -> None:
    """One export of a collector that took it from several processes, of each signal."""
    spans = [_process(name, by, spans=[one]) for name, by, one in arrivals if "name" in one]
    logs = [_process(name, by, logRecords=[one]) for name, by, one in arrivals if "name" not in one]
    for signal, key, parts in (("traces", "resourceSpans", spans), ("logs", "resourceLogs", logs)):
        batch = decode(signal, json.dumps({key: parts}).encode(), is_json=True)  # type: ignore[arg-type]
        assert not batch.rejected
        store.span_records.put(batch.spans, batch.logs, int(now * 1000))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    order=st.permutations(ARRIVALS),
    again=st.lists(st.sampled_from(ARRIVALS), max_size=4),
    cuts=st.sets(st.integers(1, len(ARRIVALS) + 3), max_size=4),
)
def test_spans_and_logs_of_several_processes_end_in_the_same_row_in_every_order(
    tmp_path_factory: pytest.TempPathFactory,
    order: list[tuple[str, str, dict[str, Any]]],
    again: list[tuple[str, str, dict[str, Any]]],
    cuts: set[int],
) -> None:
    clock = Clock()
    arrivals = [*order, *again]
    with Store.open(tmp_path_factory.mktemp("order") / "store.db") as store:
        job = AssemblyJob(store.span_records, now=clock)
        for begin, end in pairwise([0, *sorted(cuts), len(arrivals) + 3]):
            _arrive(store, arrivals[begin:end], clock.now)
            clock.now += 700
            job.catch_up()
        (row,) = stored_rows(store)
    assert row["row"]["question"] == "How long?"
    assert row["row"]["response"] == "2.7 km"
    assert row["row"]["contexts"] == [{"text": "b"}]
    assert row["row"]["usage"]["input_tokens"] == 16
    assert row["scope"] == SCOPE
    assert row["retrievals"] == [{"query": "bridge", "documents": 1}]


def test_content_in_log_records_is_that_of_their_spans(store: Store) -> None:
    clock = Clock()
    export = genai_request(TRACE)
    batch = decode("traces", json.dumps(export).encode(), is_json=True)
    store.span_records.put(batch.spans, [], int(clock.now * 1000))
    logs = ExportLogsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = "gen_ai.client.inference.operation.details"
    record.trace_id = bytes.fromhex(TRACE)
    record.span_id = (3).to_bytes(8, "big")
    for key, role, text in (
        ("gen_ai.input.messages", "user", "Q?"),
        ("gen_ai.output.messages", "assistant", "A"),
    ):
        attribute = record.attributes.add()
        attribute.key = key
        message = [{"role": role, "parts": [{"type": "text", "content": text}]}]
        attribute.value.string_value = json.dumps(message)
    received = decode("logs", logs.SerializeToString(), is_json=False)
    store.span_records.put([], received.logs, int(clock.now * 1000))
    AssemblyJob(store.span_records, Patience(quiet_s=0), clock).catch_up()
    (row,) = stored_rows(store)
    assert (row["row"]["question"], row["row"]["response"]) == ("Q?", "A")
    assert row["missing"] == {"contexts": "no texts"}


def test_content_in_events_is_that_of_their_spans(store: Store) -> None:
    (request,) = genai_request(TRACE)["resourceSpans"]
    for scope in request["scopeSpans"]:
        for each in scope["spans"]:
            if any(pair["value"] == {"stringValue": "chat"} for pair in each["attributes"]):
                each["events"] = [
                    {
                        "name": f"gen_ai.content.{name}",
                        "attributes": [{"key": f"gen_ai.{name}", "value": {"stringValue": text}}],
                    }
                    for name, text in (("prompt", "Q?"), ("completion", "A"))
                ]
    batch = decode("traces", json.dumps({"resourceSpans": [request]}).encode(), is_json=True)
    store.span_records.put(batch.spans, [], 1_000)
    AssemblyJob(store.span_records).catch_up(everything=True)
    (row,) = stored_rows(store)
    assert (row["row"]["question"], row["row"]["response"]) == ("Q?", "A")


def contexts(path: Path) -> list[list[str]]:
    """The texts that each row of a file has as contexts."""
    return [[each.text for each in row.contexts or ()] for row in samples(open_rows(path))]


def test_no_row_is_made_of_a_part_of_a_trace_that_is_too_large(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = openinference_spans("Small?", "A", [("one", ["a"])], "7" * 32)
    put(store, [*SPANS, *other], 1_000)
    monkeypatch.setattr("ragassay.tracing.job.MOST_TRACE_BYTES", 1_200)
    job = AssemblyJob(store.span_records)
    job.catch_up(everything=True)
    assert [row["row"]["question"] for row in stored_rows(store)] == ["Small?"]
    assert "ragassay_traces_too_large_total 1" in job.lines()
    assert "ragassay_traces_waiting 0" in job.lines()


def test_rows_of_a_trace_as_it_was_before_replace_none_of_what_it_is_now(store: Store) -> None:
    root, *others = SPANS
    put(store, [root], 1_000.0)
    store.span_records.index_traces()
    (slow,) = store.span_records.ready(2_000_000, 0, 0, 10)
    put(store, others, 1_001.0)
    AssemblyJob(store.span_records, now=lambda: 2_000.0).catch_up(everything=True)
    whole = stored_rows(store)
    assert whole[0]["row"]["contexts"]
    # Another process had read the trace before the others came, and is slow to store its row.
    assert store.span_records.put_rows([(slow, [orjson.dumps({"row": {"id": "old"}})])]) == 0
    assert stored_rows(store) == whole


def test_what_rows_are_not_made_of_takes_no_room(store: Store) -> None:
    noisy = [{**each, "attributes": [*each["attributes"], *NOTES]} for each in SPANS]
    put(store, noisy, 1_000)
    AssemblyJob(store.span_records).catch_up(everything=True)
    (row,) = stored_rows(store)
    assert (row["row"]["question"], row["row"]["response"]) == ("Q?", "A")
    spans = store.span_records.read_trace(
        bytes.fromhex(TRACE), 100, lambda origin, span: span_object(origin, span, is_read)
    )
    assert {
        name for each in spans for name in each["attributes"] if name.startswith("note")
    } == set()


NOTES = [{"key": f"note.{n}", "value": {"stringValue": "x" * 1000}} for n in range(50)]


def test_the_root_is_read_of_a_trace_with_too_many_spans(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Parents end after their children: the root comes last, and has the largest id here.
    root = {**SPANS[0], "spanId": "f" * 16}
    inner = [{**each, "parentSpanId": "f" * 16} for each in SPANS[1:]]
    put(store, [*inner, root], 1_000)
    monkeypatch.setattr("ragassay.tracing.job.MOST_SPANS", 2)
    AssemblyJob(store.span_records).catch_up(everything=True)
    (row,) = stored_rows(store)
    assert (row["row"]["question"], row["row"]["response"]) == ("Q?", "A")


def test_a_clock_that_was_set_back_holds_no_trace_up(store: Store) -> None:
    clock = Clock()
    put(store, SPANS, clock.now + 86_400)
    assert AssemblyJob(store.span_records, Patience(quiet_s=30), clock).catch_up() == 1


def test_rows_of_a_period_are_a_file_that_does_not_change_when_late_spans_come(
    store: Store,
) -> None:
    clock = Clock()
    put(store, SPANS[:3], clock.now)
    job = AssemblyJob(store.span_records, Patience(quiet_s=0), clock)
    job.catch_up()
    first = snapshot(store, "traces:last-1h", clock.now)
    assert contexts(first.path) == [["a", "b"]]
    assert first.path.stat().st_mode & 0o077 == 0
    clock.now += 60
    put(store, SPANS[3:], clock.now)
    job.catch_up()
    second = snapshot(store, "traces:last-1h", clock.now)
    assert second.path != first.path
    assert contexts(second.path) == [["a", "b", "c"]]
    assert contexts(first.path) == [["a", "b"]]
    # The same rows are the same file.
    assert snapshot(store, "traces:all", clock.now).path == second.path


def test_traces_in_which_nobody_asked_anything_are_counted(store: Store) -> None:
    clock = Clock()
    put(store, SPANS, clock.now)
    embedding = {"gen_ai.operation.name": "embeddings"}
    put(store, [span("e" * 32, 1, None, embedding)], clock.now)
    AssemblyJob(store.span_records, Patience(quiet_s=0), clock).catch_up()
    lines = snapshot(store, "traces:all", clock.now).lines
    assert any(line.startswith("left out 1 trace in which nobody asked") for line in lines)


def test_a_period_without_rows_says_what_is_stored(store: Store) -> None:
    with pytest.raises(NothingToDo) as caught:
        snapshot(store, "traces:last-24h")
    assert "0 spans are stored" in caught.value.why
    with pytest.raises(SetupError) as wrong:
        snapshot(store, "traces:yesterday")
    assert wrong.value.code == "E0101"


def test_received_spans_without_content_name_what_to_set(store: Store) -> None:
    clock = Clock()
    spans = genai_request(TRACE)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    put(store, spans, clock.now, "opentelemetry.instrumentation.genai.langchain")
    AssemblyJob(store.span_records, Patience(quiet_s=0), clock).catch_up()
    with pytest.raises(DataError) as caught:
        snapshot(store, "traces:all", clock.now)
    assert caught.value.code == "E0319"
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in caught.value.fix


def test_what_is_older_than_is_kept_is_deleted(store: Store) -> None:
    clock = Clock()
    put(store, SPANS, clock.now)
    patience = Patience(quiet_s=0, keep_days=1)
    job = AssemblyJob(store.span_records, patience, clock)
    job.catch_up()
    clock.now += 86_401
    job._step()
    assert set(store.span_records.counts().values()) == {0}
