"""Content of spans that arrived in log records: GenAI's conventions keep it there where they are
set so, as one record for a call of a model, or, in their older form, as one for each message.
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
    contents: dict[Key, Mapping[str, Any]] = {}
    weights: dict[Key, tuple[int, bytes]] = {}
    messages: dict[Key, list[_Logged]] = {}
    for record in records:
        attributes = attributes_of(record)
        name = record.get("eventName") or record.get("event_name") or attributes.get("event.name")
        key = _key(record)
        if name == names.CONVERSATION_EVENT:
            # Of several about one call the last one, and not the one that came last.
            weight = _time(record), sorted_bytes(attributes)
            if weight >= weights.get(key, weight):
                contents[key], weights[key] = attributes, weight
            continue
        message = _message(str(name), record, attributes)
        if message is not None:
            messages.setdefault(key, []).append(message)
    for key, logged in messages.items():
        contents[key] = {**_conversation(logged), **contents.get(key, {})}
    if not contents:
        return
    for trace_id, spans in traces.items():
        for position, span in enumerate(spans):
            said = contents.get((trace_id, str(span.get("spanId"))))
            if said is not None:
                spans[position] = {**span, "attributes": {**said, **attributes_of(span)}}


def _key(record: Mapping[str, Any]) -> Key:
    trace = record.get("traceId") or record.get("trace_id") or ""
    return str(trace), str(record.get("spanId") or record.get("span_id"))


def _message(name: str, record: Mapping[str, Any], attributes: Mapping[str, Any]) -> _Logged | None:
    """The message of a log record; None where it is none, or its content was not recorded."""
    if name not in names.MESSAGE_EVENTS:
        return None
    body = otlp_value(record.get("body"))
    said: Any = {**(body if isinstance(body, dict) else {}), **attributes}
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
    for name in ("timeUnixNano", "observedTimeUnixNano"):
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
