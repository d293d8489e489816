"""Exports as what is stored: spans and log records out of both encodings of OTLP, each of them
checked, and those that cannot be taken counted with the reason.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from ragassay.store.spans import SPAN_BYTES, TRACE_BYTES, StoredLog, StoredSpan
from ragassay.tracing import wire
from ragassay.tracing.json_records import Slow, TooManyValues, check_values, fill
from ragassay.tracing.otlp import messages
from ragassay.tracing.wire import BadExport, Part

Signal = Literal["traces", "logs"]

MOST_SPAN_BYTES = 4 << 20
"""Bytes of one span or log record."""
_LATEST = 2**63 - 1
"""Nanoseconds: the largest time that a database holds."""
COMPLETE = b"ragassay.trace.complete"
"""Attribute of a span that says that nothing more comes for its trace."""
CONTENT_EVENTS = "gen_ai."
"""Beginning of the names of the log records that hold what their span does not."""
_NO_ID = "the id of its {} is not {} bytes, or zero"


@dataclass(slots=True)
class Batch:
    """What one request holds. rejected: reason -> how many records were not taken."""

    spans: list[StoredSpan] = field(default_factory=list)
    logs: list[StoredLog] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    size: int = 0

    @property
    def count(self) -> int:
        """How many records were taken."""
        return len(self.spans) + len(self.logs)


class _Refused(ValueError):
    """A record that is not taken, and why."""


def decode(signal: Signal, body: bytes, is_json: bool) -> Batch:
    """The records of an export. Raises BadExport where it is none."""
    parts = _parts_in_json(signal, body) if is_json else wire.parts_of(body)
    batch = Batch()
    for part in parts:
        for record in part.records:
            try:
                if signal == "traces":
                    batch.spans.append(_span(record, part.origin))
                else:
                    batch.logs.append(_log(record))
            except _Refused as refused:
                batch.rejected[_of_other_signal(signal, record) or str(refused)] += 1
            else:
                batch.size += len(record)
    return batch


def _of_other_signal(signal: Signal, payload: bytes) -> str:
    """Why a record is refused that belongs to the other path; "" for one that does not."""
    kinds = messages()
    try:
        if signal == "traces":
            log = kinds.LogRecord.FromString(payload)
            is_log = len(log.trace_id) == TRACE_BYTES or log.observed_time_unix_nano
            return "it is a log record: those go to /v1/logs" if is_log else ""
        span = kinds.Span.FromString(payload)
    except kinds.DecodeError:
        return ""
    is_span = len(span.trace_id) == TRACE_BYTES and len(span.span_id) == SPAN_BYTES
    return "it is a span: those go to /v1/traces" if is_span else ""


def _span(payload: bytes, origin: bytes) -> StoredSpan:
    """A span as it is stored. Raises _Refused."""
    span = _read(messages().Span, payload)
    if len(span.trace_id) != TRACE_BYTES or not any(span.trace_id):
        raise _Refused(_NO_ID.format("trace", TRACE_BYTES))
    if len(span.span_id) != SPAN_BYTES or not any(span.span_id):
        raise _Refused(_NO_ID.format("span", SPAN_BYTES))
    started, ended = span.start_time_unix_nano, span.end_time_unix_nano
    if started > _LATEST or ended > _LATEST:
        raise _Refused("its times are beyond the year 2262")
    return StoredSpan(
        span.trace_id + span.span_id,
        origin,
        not any(span.parent_span_id),
        COMPLETE in payload and _says_complete(span),
        started,
        ended,
        payload,
    )


def _says_complete(span: Any) -> bool:
    name = COMPLETE.decode()
    return any(each.key == name and each.value.bool_value for each in span.attributes)


def _log(payload: bytes) -> StoredLog:
    """A log record as it is stored. Raises _Refused."""
    record = _read(messages().LogRecord, payload)
    if not _event_name(record).startswith(CONTENT_EVENTS):
        raise _Refused("only events named gen_ai.* are kept of logs")
    if len(record.trace_id) != TRACE_BYTES or not any(record.trace_id):
        raise _Refused(_NO_ID.format("trace", TRACE_BYTES))
    return StoredLog(record.trace_id, payload)


def _event_name(record: Any) -> str:
    if record.event_name:
        return str(record.event_name)
    # Before the name had a field of its own, it was an attribute.
    names = [each.value.string_value for each in record.attributes if each.key == "event.name"]
    return str(names[0]) if names else ""


def _read(kind: Any, payload: bytes) -> Any:
    if len(payload) > MOST_SPAN_BYTES:
        raise _Refused(f"it is larger than {MOST_SPAN_BYTES >> 20} MiB")
    try:
        return kind.FromString(payload)
    except messages().DecodeError:
        raise _Refused("it cannot be decoded") from None


Names = tuple[str, ...]
"""A field in JSON: as OTLP writes it, as protobuf's JSON may have it, and as it was called once."""

_JSON_NAMES: Mapping[Signal, tuple[Names, Names, Names]] = {
    "traces": (
        ("resourceSpans", "resource_spans"),
        (
            *("scopeSpans", "scope_spans"),
            *("instrumentationLibrarySpans", "instrumentation_library_spans"),
        ),
        ("spans",),
    ),
    "logs": (
        ("resourceLogs", "resource_logs"),
        (
            *("scopeLogs", "scope_logs"),
            *("instrumentationLibraryLogs", "instrumentation_library_logs"),
        ),
        ("logRecords", "log_records", "logs"),
    ),
}
_SCOPE = ("scope", "instrumentationLibrary", "instrumentation_library")
_BESIDE = {"resource", "schemaUrl", "schema_url", *_SCOPE}
"""What may stand in place of a list that is empty."""
_IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")


def _parts_in_json(signal: Signal, body: bytes) -> list[Part]:
    """The records of an export in JSON, each in the encoding of protobuf. Raises BadExport."""
    export = _json(body)
    outer, scopes, records = _JSON_NAMES[signal]
    if not isinstance(export, dict):
        raise BadExport(f"it is no object with a list {outer[0]}")
    if export and not any(name in export for name in outer):
        raise BadExport(f"it has no {outer[0]}")
    kind = messages().Span if signal == "traces" else messages().LogRecord
    parts: list[Part] = []
    left, slow = wire.MOST_RECORDS, Slow()
    for resource in _objects(export, outer):
        left -= 1
        if left < 0:
            raise wire.too_many()
        described = _from_json(messages().Resource, resource.get("resource") or {}, slow)
        for scope in _objects(resource, scopes):
            named: Any = next((scope[name] for name in _SCOPE if scope.get(name)), {})
            library = _from_json(messages().Scope, named, slow)
            origin = wire.origin_of(described, library)
            left -= 1 + len(_listed(scope, records))
            if left < 0:
                raise wire.too_many()
            encoded = [_record_from_json(kind, each, slow) for each in _listed(scope, records)]
            parts.append(Part(origin, encoded))
    return parts


# An escape of JSON: a pair of surrogates, half of one, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_HALF_PAIR = 6
"""Characters of half a pair as an escape."""


def _json(body: bytes) -> Any:
    """What a body says. Raises BadExport."""
    check_values(body)
    try:
        return orjson.loads(body)
    except ValueError:
        pass
    # A text that was cut in the middle of a character, as JavaScript does it, must not cost the
    # whole request.
    whole = body.decode("utf-8", "replace").encode()
    mended = bytearray(whole)
    for escape in _ESCAPE.finditer(whole):
        if escape.end() - escape.start() == _HALF_PAIR:
            mended[escape.start() : escape.end()] = b"\\ufffd"  # as many bytes
    try:
        return orjson.loads(mended)
    except ValueError as error:
        raise BadExport(f"it is no JSON: {str(error)[:100]}") from None


def _listed(holder: Mapping[str, Any], names: Names) -> list[Any]:
    given = [holder[name] for name in names if name in holder]
    if not given and holder.keys() - _BESIDE:
        # What stands under another name would be acknowledged and lost.
        raise BadExport(f"it has no {names[0]}")
    values: list[Any] = []
    for each in given:
        if not isinstance(each, list | None):
            raise BadExport(f"its {names[0]} are no list")
        values += each or []
    return values


def _objects(holder: Mapping[str, Any], names: Names) -> list[dict[str, Any]]:
    values = _listed(holder, names)
    if not all(isinstance(value, dict) for value in values):
        raise BadExport(f"its {names[0]} are not objects")
    return values


def _from_json(kind: Any, value: Any, slow: Slow) -> bytes:
    """A record, or a part of the envelope, in the encoding of protobuf. Raises BadExport."""
    if not isinstance(value, Mapping):
        raise BadExport("a part of it is no object")
    message = kind()
    fill(message, value, slow)
    return bytes(message.SerializeToString())


def _record_from_json(kind: Any, value: Any, slow: Slow) -> bytes:
    """A span or log record in the encoding of protobuf; bytes that cannot be decoded where it is
    none, so that it is counted as one that was not taken. Raises TooManyValues.
    """
    try:
        return _from_json(kind, _with_ids(value), slow)
    except TooManyValues:
        raise
    except (BadExport, ValueError, TypeError, AttributeError):
        return _UNREADABLE


_UNREADABLE = b"\xff"


def _with_ids(value: Mapping[str, Any]) -> dict[str, Any]:
    """A record with ids as protobuf's JSON has bytes: OTLP writes them in hex digits instead."""
    given = dict(value)
    for name in _IDS:
        if given.get(name):
            given[name] = base64.b64encode(bytes.fromhex(given[name])).decode()
    links = given.get("links")
    if links:
        given["links"] = [_with_ids(link) for link in links]
    return given
