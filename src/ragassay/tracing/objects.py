"""Stored spans and log records as the objects that rows are put together from."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

from ragassay.tracing.otlp import messages

Wanted = Callable[[str], bool]


def span_object(
    origin: bytes, payload: bytes, wanted: Wanted = lambda name: True
) -> dict[str, Any]:
    """A stored span in the form of OTLP's JSON, its attributes as plain values, with the name of
    the library that wrote it. wanted: which of its attributes to keep.
    """
    span = messages().Span.FromString(payload)
    status = span.status
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex() if any(span.parent_span_id) else "",
        "name": span.name,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _attributes(span.attributes, wanted),
        "events": [
            {
                "name": event.name,
                "timeUnixNano": event.time_unix_nano,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ],
        "status": {"code": status.code, "message": status.message},
        "scope": _library(origin),
    }


def log_object(payload: bytes) -> dict[str, Any]:
    """A stored log record likewise."""
    record = messages().LogRecord.FromString(payload)
    attributes = _attributes(record.attributes)
    body = _value(record.body)
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    return {
        "eventName": record.event_name or attributes.get("event.name"),
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "timeUnixNano": record.time_unix_nano or record.observed_time_unix_nano,
        "attributes": attributes,
    }


_LIBRARIES: dict[bytes, str] = {}
_MOST_LIBRARIES = 1_000


def _library(origin: bytes) -> str:
    """The name of the library of an origin."""
    name = _LIBRARIES.get(origin)
    if name is None:
        if len(_LIBRARIES) >= _MOST_LIBRARIES:
            _LIBRARIES.clear()
        described = messages().ResourceSpans.FromString(origin)
        name = described.scope_spans[0].scope.name if described.scope_spans else ""
        _LIBRARIES[origin] = name
    return name


def _attributes(pairs: Iterable[Any], wanted: Wanted = lambda name: True) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs if wanted(pair.key)}


def _value(value: Any) -> Any:
    """A value of OTLP; it is no deeper than what decoded it allows."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, kind)
