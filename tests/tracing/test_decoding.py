"""Exports in both encodings, whole and damaged."""

from __future__ import annotations

import base64
import copy
import json
import re
import time
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragassay.datasets.spans.rows import rows_of_trace
from ragassay.tracing.decoding import Batch, decode
from ragassay.tracing.json_records import Slow, fill
from ragassay.tracing.objects import span_object
from ragassay.tracing.otlp import messages
from ragassay.tracing.wire import BadExport, field
from support.otlp_json import openinference_request, request, span

TRACE = "5b8efff798038103d269b633813fc60c"
DEEP = 90


def protobuf(export: dict[str, Any]) -> bytes:
    """An export in JSON as protobuf, by the library's own conversion: its bytes are base64, so the
    ids are set apart.
    """
    plain = copy.deepcopy(export)
    ids: list[dict[str, str]] = []
    for resource in plain["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for each in scope["spans"]:
                ids.append(
                    {name: each.pop(name, "") for name in ("traceId", "spanId", "parentSpanId")}
                )
    message = json_format.ParseDict(
        plain, ExportTraceServiceRequest(), max_recursion_depth=2 * DEEP + 10
    )
    spans = [
        each
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for each in scope.spans
    ]
    for each, own in zip(spans, ids, strict=True):
        each.trace_id = bytes.fromhex(own["traceId"])
        each.span_id = bytes.fromhex(own["spanId"])
        each.parent_span_id = bytes.fromhex(own["parentSpanId"])
    return message.SerializeToString()


def objects(batch: Batch) -> list[dict[str, Any]]:
    return [span_object(stored.origin, stored.payload) for stored in batch.spans]


@pytest.mark.parametrize("is_json", [False, True])
def test_an_export_of_millions_of_empty_records_is_refused_before_they_are_looked_at(
    is_json: bool,
) -> None:
    def bodies() -> tuple[bytes, ...]:
        many = 1_000_000
        if is_json:
            spans = b"{}," * many + b"{}"
            lists = (b'{"scopeSpans":[{"spans":[%b]}]}' % spans, spans)
            return tuple(b'{"resourceSpans":[%b]}' % each for each in lists)
        spans, numbers = b"\x12\x00" * many, b"\x18\x00" * many
        resources = b"\x0a\x00" * many
        return (field(1, field(2, spans)), field(1, field(2, numbers)), resources)

    why = "more than 720,000 values" if is_json else "more than 50,000 records"
    for body in bodies():
        started = time.process_time()
        with pytest.raises(BadExport, match=why):
            decode("traces", body, is_json)
        assert time.process_time() - started < 10


def test_more_records_in_json_than_are_taken_are_refused() -> None:
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b]}]}]}' % (b"{}," * 60_000 + b"{}")
    with pytest.raises(BadExport, match="more than 50,000 records"):
        decode("traces", body, True)


def test_both_encodings_give_equal_spans_and_rows() -> None:
    export = openinference_request("Q?", "A", [("one", ["a", "b"]), ("two", ["b"])])
    export["resourceSpans"][0]["scopeSpans"][0]["spans"].append(
        span(TRACE, 90, 1, {"list": ["x", 1, 2.5, True], "object": {"inner": ["y"]}})
    )
    as_json = decode("traces", json.dumps(export).encode(), is_json=True)
    as_protobuf = decode("traces", protobuf(export), is_json=False)
    assert objects(as_json) == objects(as_protobuf)
    assert [each[:1] + each[2:] for each in as_json.spans] == [
        each[:1] + each[2:] for each in as_protobuf.spans
    ]
    (row,) = rows_of_trace(TRACE, objects(as_json))
    assert (row.turn.question, row.turn.response) == ("Q?", "A")
    assert row.turn.scope == "openinference.instrumentation.langchain"
    assert objects(as_json)[-1]["attributes"] == {
        "list": ["x", 1, 2.5, True],
        "object": {"inner": ["y"]},
    }


_TEXTS = st.text(max_size=20)
_VALUES = st.recursive(
    st.one_of(
        _TEXTS.map(lambda each: {"stringValue": each}),
        st.booleans().map(lambda each: {"boolValue": each}),
        st.integers(-(2**63), 2**63 - 1).map(lambda each: {"intValue": str(each)}),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda each: {"doubleValue": each}),
        st.binary(max_size=9).map(lambda b: {"bytesValue": base64.b64encode(b).decode()}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: {"arrayValue": {"values": each}}),
        st.lists(st.tuples(_TEXTS, inner), max_size=3).map(
            lambda pairs: {"kvlistValue": {"values": [_pair(*pair) for pair in pairs]}}
        ),
    ),
    max_leaves=6,
)


def _pair(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"key": key, "value": value}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(_TEXTS, _VALUES), max_size=5),
    _TEXTS,
    st.integers(0, 2**64 - 1),
    st.sampled_from(["", "0000000000000001", "00F067AA0BA902B7"]),
)
def test_whatever_a_span_holds_both_encodings_are_equal(pairs, name, ended, parent) -> None:
    each = {**span(TRACE, 1, None, {}), "name": name, "parentSpanId": parent}
    each["attributes"] = [_pair(*pair) for pair in pairs]
    each["endTimeUnixNano"] = str(ended)
    export = request([each])
    in_json = decode("traces", json.dumps(export).encode(), is_json=True)
    in_protobuf = decode("traces", protobuf(export), is_json=False)
    assert in_json.rejected == in_protobuf.rejected
    assert [stored[:6] for stored in in_json.spans] == [stored[:6] for stored in in_protobuf.spans]
    assert objects(in_json) == objects(in_protobuf)


def test_a_text_that_was_cut_in_a_character_does_not_cost_the_request() -> None:
    # An emoji beside half of one, an escaped backslash before "ud83d", and a cut in UTF-8.
    text = r"\\ud83d \ud83d\ude00 \ud83d"
    whole = json.dumps(request([span(TRACE, 1, None, {"input.value": "CUT"})])).encode()
    body = whole.replace(b"CUT", text.encode() + b" \xf0\x9f")
    (read,) = objects(decode("traces", body, is_json=True))
    assert read["attributes"]["input.value"] == "\\ud83d \U0001f600 \ufffd \ufffd"


@pytest.mark.parametrize("is_json", [True, False])
def test_each_span_that_cannot_be_taken_is_counted_and_the_others_are_taken(is_json: bool) -> None:
    good = span(TRACE, 1, None, {})
    bad = [
        {**good, "traceId": "0" * 32},
        {**good, "traceId": "ab"},
        {**good, "spanId": "0" * 16},
        {**good, "spanId": ""},
        {**good, "endTimeUnixNano": str(2**63)},
    ]
    export = request([good, *bad, span(TRACE, 2, 1, {})])
    body = json.dumps(export).encode() if is_json else protobuf(export)
    batch = decode("traces", body, is_json)
    assert [each.key.hex() for each in batch.spans] == [
        TRACE + "0000000000000001",
        TRACE + "0000000000000002",
    ]
    assert dict(batch.rejected) == {
        "the id of its trace is not 16 bytes, or zero": 2,
        "the id of its span is not 8 bytes, or zero": 2,
        "its times are beyond the year 2262": 1,
    }


def test_records_that_were_sent_to_the_other_path_are_refused_with_its_name() -> None:
    spans = protobuf(request([span(TRACE, 1, None, {"input.value": "Q?"})]))
    logs = ExportLogsServiceRequest()
    for name in ("gen_ai.choice", ""):  # of what is kept, and of any other program
        record = logs.resource_logs.add().scope_logs.add().log_records.add()
        record.event_name = name
        record.time_unix_nano = record.observed_time_unix_nano = 1_700_000_000_000_000_000
        record.body.string_value = "started"
        record.trace_id, record.span_id = bytes.fromhex(TRACE), (7).to_bytes(8, "big")
    as_traces = decode("traces", logs.SerializeToString(), is_json=False)
    assert dict(as_traces.rejected) == {"it is a log record: those go to /v1/logs": 2}
    as_logs = decode("logs", spans, is_json=False)
    assert dict(as_logs.rejected) == {"it is a span: those go to /v1/traces": 1}
    assert (as_traces.count, as_logs.count) == (0, 0)


def test_a_damaged_span_does_not_cost_the_others() -> None:
    export = ExportTraceServiceRequest.FromString(protobuf(request([span(TRACE, 1, None, {})])))
    whole = export.SerializeToString()
    # A second span of one byte that begins a field and ends.
    inner = export.resource_spans[0].scope_spans[0].SerializeToString() + b"\x12\x01\x0a"
    scope = b"\x12" + bytes([len(inner)]) + inner
    body = b"\x0a" + bytes([len(scope)]) + scope
    batch = decode("traces", body, is_json=False)
    assert (len(batch.spans), dict(batch.rejected)) == (1, {"it cannot be decoded": 1})
    batch = decode("traces", whole, is_json=False)
    assert (len(batch.spans), dict(batch.rejected)) == (1, {})


def deep_value(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "end"}
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    return value


@pytest.mark.parametrize("is_json", [True, False])
@pytest.mark.parametrize(("depth", "taken"), [(48, 2), (49, 2), (50, 1), (DEEP, 1)])
def test_a_value_that_is_too_deep_is_rejected_alone_in_both_encodings(
    depth: int, taken: int, is_json: bool
) -> None:
    deep = span(TRACE, 2, 1, {})
    deep["attributes"] = [{"key": "deep", "value": deep_value(depth)}]
    export = request([span(TRACE, 1, None, {}), deep])
    body = json.dumps(export).encode() if is_json else protobuf(export)
    batch = decode("traces", body, is_json)
    rejected = {"it cannot be decoded": 1} if taken == 1 else {}
    assert (len(batch.spans), dict(batch.rejected)) == (taken, rejected)


def named_as_protobuf(value: Any) -> Any:
    """An object of JSON with the names of its fields as protobuf writes them."""
    if isinstance(value, list):
        return [named_as_protobuf(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("[A-Z]", lambda each: f"_{each[0].lower()}", name): named_as_protobuf(each)
        for name, each in value.items()
    }


def test_the_names_of_protobuf_and_the_old_names_are_read_as_the_same() -> None:
    export = openinference_request("Q?", "A", [("one", ["a", "b"])])
    expected = decode("traces", json.dumps(export).encode(), is_json=True)
    assert expected.spans
    old = copy.deepcopy(export)
    for resource in old["resourceSpans"]:
        resource["instrumentationLibrarySpans"] = resource.pop("scopeSpans")
        for scope in resource["instrumentationLibrarySpans"]:
            scope["instrumentationLibrary"] = scope.pop("scope", {})
    for other in (named_as_protobuf(export), old, named_as_protobuf(old)):
        assert decode("traces", json.dumps(other).encode(), is_json=True) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"resourceSpans":' + b"[" * 100_000,
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [1]}',
        b'{"resourceLogs": []}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": 1}]}]}',
        b'{"resourceSpans": [{"resource": {}, "spans": [{}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"span": [{}]}]}]}',
        b"nothing",
    ],
)
def test_json_that_is_no_export_is_refused(body: bytes) -> None:
    with pytest.raises(BadExport):
        decode("traces", body, is_json=True)


def test_an_export_that_is_cut_short_is_refused() -> None:
    body = protobuf(openinference_request("Q?", "A", [("one", ["a"])]))
    for end in range(1, len(body)):
        with pytest.raises(BadExport):
            decode("traces", body[:end], is_json=False)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["traces", "logs"]), st.booleans())
def test_no_bytes_raise_anything_else(body: bytes, signal: Any, is_json: bool) -> None:
    try:
        batch = decode(signal, body, is_json)
    except BadExport:
        return
    assert batch.count >= 0


def logs(name: str, trace: str = TRACE) -> bytes:
    export = ExportLogsServiceRequest()
    record = export.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = name
    record.trace_id = bytes.fromhex(trace)
    record.span_id = bytes(7) + b"\x01"
    return export.SerializeToString()


def test_of_logs_only_what_belongs_to_a_span_is_kept() -> None:
    kept = decode("logs", logs("gen_ai.client.inference.operation.details"), is_json=False)
    assert (len(kept.logs), dict(kept.rejected)) == (1, {})
    other = decode("logs", logs("app.started"), is_json=False)
    assert dict(other.rejected) == {"only events named gen_ai.* are kept of logs": 1}
    homeless = decode("logs", logs("gen_ai.choice", trace=""), is_json=False)
    assert dict(homeless.rejected) == {"the id of its trace is not 16 bytes, or zero": 1}


def test_logs_that_are_sent_as_traces_are_all_rejected() -> None:
    batch = decode("traces", logs("gen_ai.choice"), is_json=False)
    assert (batch.count, sum(batch.rejected.values())) == (0, 1)


def test_only_a_true_value_says_that_a_trace_is_complete() -> None:
    def complete(value: object) -> bool:
        export = request([span(TRACE, 1, None, {"ragassay.trace.complete": value})])
        return decode("traces", json.dumps(export).encode(), is_json=True).spans[0].complete

    assert complete(True)
    assert not complete(False)
    assert not complete("ragassay.trace.complete")


SCALARS = (
    st.builds(lambda text: {"stringValue": text}, st.text(max_size=8))
    | st.builds(lambda flag: {"boolValue": flag}, st.booleans())
    | st.builds(lambda n: {"intValue": n}, st.integers(-(2**63), 2**63 - 1))
    | st.builds(lambda n: {"intValue": str(n)}, st.integers(-(2**63), 2**63 - 1))
    | st.builds(lambda x: {"doubleValue": x}, st.floats(allow_nan=False, allow_infinity=False))
    | st.builds(lambda n: {"doubleValue": n}, st.integers(-(2**60), 2**60))
    | st.builds(lambda raw: {"bytesValue": base64.b64encode(raw).decode()}, st.binary(max_size=5))
    | st.sampled_from(
        [
            {}, {"doubleValue": "NaN"}, {"doubleValue": "-Infinity"}, {"string_value": "snake"},
            {"stringValue": None}, {"unknown": 1}, {"intValue": "1e3"}, {"intValue": 1.0},
            {"stringValue": "a", "unknown": 2}, {"stringValue": 5}, {"boolValue": "true"},
            {"intValue": "٣"}, {"stringValue": "a", "intValue": "1"}, {"arrayValue": {}},
            {"arrayValue": {"values": None}}, {"arrayValue": {"values": [None]}},
            {"kvlistValue": {"values": [{}]}}, {"arrayValue": {"other": []}},
        ]
    )
)  # fmt: skip
KEYS = st.text(max_size=4) | st.none() | st.integers(0, 3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.builds(lambda each: {"arrayValue": {"values": each}}, st.lists(inner))
        | st.builds(
            lambda each: {"kvlistValue": {"values": [{"key": k, "value": v} for k, v in each]}},
            st.lists(st.tuples(st.text(max_size=3), inner), max_size=3),
        )
    ),
    max_leaves=6,
)
ATTRIBUTES: st.SearchStrategy[list[Any]] = st.lists(
    st.fixed_dictionaries({"key": KEYS, "value": VALUES | st.none()})
    | st.sampled_from([{}, {"key": "a"}, {"value": {}}, None, 3, {"key": "a", "other": 1}]),
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(ATTRIBUTES, ATTRIBUTES)
def test_attributes_are_read_as_protobufs_own_reader_of_json_reads_them(
    own: list[Any], of_an_event: list[Any]
) -> None:
    record = {"name": "n", "attributes": own, "events": [{"attributes": of_an_event, "name": "e"}]}

    def result(read: Any) -> bytes | None:
        message = messages().Span()
        try:
            read(message)
        except (BadExport, json_format.ParseError, TypeError, ValueError, AttributeError):
            return None
        return bytes(message.SerializeToString(deterministic=True))

    def library(message: Any) -> None:
        json_format.ParseDict(record, message, ignore_unknown_fields=True)

    assert result(lambda message: fill(message, record, Slow())) == result(library)


def json_export(attributes: str) -> bytes:
    spans = f'[{{"traceId":"{TRACE}","spanId":"00f067aa0ba902b7","attributes":{attributes}}}]'
    return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":{spans}}}]}}]}}'.encode()


@pytest.mark.parametrize(
    ("each", "count", "why"),
    [
        ("{}", 2_000_000, "720,000 values"),
        ("0", 3_000_000, "720,000 values"),
        ('{"key":"k","value":{"unknown":1}}', 60_000, "too long"),
        ('{"other":[]}', 150_000, "too long"),
    ],
)
def test_millions_of_values_in_json_are_refused_before_they_cost_time_or_memory(
    each: str, count: int, why: str
) -> None:
    body = json_export(f"[{','.join([each] * count)}]")
    began = time.process_time()
    with pytest.raises(BadExport, match=why):
        decode("traces", body, True)
    assert time.process_time() - began < 8


def test_a_span_of_a_hundred_thousand_attributes_is_taken_and_texts_count_once() -> None:
    pairs = ",".join(f'{{"key":"{n}","value":{{"intValue":"{n}"}}}}' for n in range(100_000))
    began = time.process_time()
    assert decode("traces", json_export(f"[{pairs}]"), True).count == 1
    assert time.process_time() - began < 4
    text = json.dumps({"key": "k", "value": {"stringValue": '{"a": [1, {}, "\\"", 2]}, ' * 40_000}})
    assert decode("traces", json_export(f"[{text}]"), True).count == 1
