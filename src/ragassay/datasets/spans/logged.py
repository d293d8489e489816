"""Content of spans that arrived in log records or stands in their events: GenAI's conventions keep
it there where they are set so, as one record for a call of a model, or, in older forms, as one for
each message or one for each side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ragassay.datasets.spans import names
from ragassay.datasets.spans.span import attributes_of, otlp_value, parsed, sorted_bytes

Key = tuple[str, str]
"""Ids of a trace and of a span."""


class _Logged(NamedTuple):
    """A message of a log record, in the order of its fields: by time, and in equal times as a
    conversation goes.
    """

    time: int
    rank: int
    text: bytes
    is_answer: bool
    message: Mapping[str, Any]


def add_logged_content(
    traces: Mapping[str, list[dict[str, Any]]], records: Collection[Mapping[str, Any]]
) -> None:
    """Give spans the content that arrived in log records instead, in whatever order those came.
    What a span says itself goes before. traces: id -> spans.
    """
    of_span: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        of_span.setdefault(_key(record), []).append(record)
    contents = {key: _content_of(told) for key, told in of_span.items()}
    if not contents:
        return
    for trace_id, spans in traces.items():
        for position, span in enumerate(spans):
            said = contents.get((trace_id, str(span.get("spanId"))))
            if said:
                spans[position] = {**span, "attributes": {**said, **attributes_of(span)}}


def with_event_content(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """The span with what its own events say was asked and answered. What its attributes say goes
    before.
    """
    events = parsed(span.get("events"))
    told = [
        {**event, "eventName": event["name"]}
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and event.get("name") in names.CONTENT_EVENTS
    ]
    said = _content_of(told) if told else {}
    return {**span, "attributes": {**said, **attributes_of(span)}} if said else span


def _content_of(records: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What records about one span say, as the attributes that it would have had."""
    conversation: Mapping[str, Any] = {}
    last: tuple[int, bytes] = (0, b"")
    listed: dict[str, Any] = {}
    messages: list[_Logged] = []
    for record in records:
        attributes = attributes_of(record)
        name = record.get("eventName") or record.get("event_name") or attributes.get("event.name")
        if name == names.CONVERSATION_EVENT:
            # Of several about one call the last one, and not the one that came last.
            weight = _time(record), sorted_bytes(attributes)
            if weight >= last:
                conversation, last = attributes, weight
        elif name in names.LIST_EVENTS:
            listed |= _list(str(name), attributes)
        elif message := _message(str(name), record, attributes):
            messages.append(message)
    return {**_conversation(messages), **listed, **conversation}


def _list(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """All messages of one side, of an event that holds them together."""
    key, role = names.LIST_EVENTS[name]
    said = parsed(attributes.get(key))
    if isinstance(said, str) and said:
        said = [{"role": role, "content": said}]
    side = names.INPUT_MESSAGES if role == "user" else names.OUTPUT_MESSAGES
    return {side[0]: said} if isinstance(said, list) and said else {}


def _key(record: Mapping[str, Any]) -> Key:
    trace = record.get("traceId") or record.get("trace_id") or ""
    return str(trace), str(record.get("spanId") or record.get("span_id"))


def _message(name: str, record: Mapping[str, Any], attributes: Mapping[str, Any]) -> _Logged | None:
    """The message of a log record; None where it is none, or its content was not recorded."""
    if name not in names.MESSAGE_EVENTS:
        return None
    body = otlp_value(record.get("body"))
    written = parsed(attributes.get(names.EVENT_CONTENT))
    said: Any = {}
    for fields in (body, written, attributes):
        said |= fields if isinstance(fields, Mapping) else {}
    if name == names.ANSWER_EVENT:
        said = parsed(said.get("message"))
    content = said.get("content") if isinstance(said, dict) else None
    if not content:
        return None
    role = names.MESSAGE_EVENTS[name]
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "tool":
        message = {"role": role, "parts": [{"type": "tool_call_response", "response": content}]}
    text = sorted_bytes(message)
    rank = list(names.MESSAGE_EVENTS).index(name)
    return _Logged(_time(record), rank, text, name == names.ANSWER_EVENT, message)


def _time(record: Mapping[str, Any]) -> int:
    for name in ("timeUnixNano", "observedTimeUnixNano", "time_unix_nano"):
        try:
            time = int(record.get(name) or 0)
        except (TypeError, ValueError):
            continue
        if time:
            return time
    return 0


def _conversation(logged: Iterable[_Logged]) -> dict[str, Any]:
    """The messages as the attributes that a span would have had."""
    ordered = sorted(logged, key=lambda each: each[:3])
    said: dict[str, Any] = {}
    asked = [each.message for each in ordered if not each.is_answer]
    answers = [each.message for each in ordered if each.is_answer]
    if asked:
        said[names.INPUT_MESSAGES[0]] = asked
    if answers:
        said[names.OUTPUT_MESSAGES[0]] = answers
    return said
