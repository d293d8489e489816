"""A span as rows are made of it, read from every form in which spans are kept: OTLP's JSON, tables
of Phoenix, MLflow's traces, runs of LangSmith, observations of Langfuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from ragassay.datasets.spans import names

MOST_SPANS = 100_000
"""Spans of one trace that are read; what is beyond them is counted as left out."""
MOST_ATTRIBUTES = 2_000
_DEEPEST_VALUE = 40
_DEEPEST_RUN = 60
_MOST_DOTS = 8
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(slots=True, eq=False)
class Span:
    """One span. start, end: nanoseconds since 1970, 0 where it does not
    say. attributes: by
    their dotted names. children: in the order of their starts. error: what it failed with, None
    where it did not. scope: the library that wrote it.
    """

    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    kind: str
    error: str | None = None
    scope: str = ""
    children: list[Span] = field(default_factory=list)
    holder: Span | None = None

    def value(self, keys: Sequence[str]) -> Any:
        """The first of these attributes that says something, with what is written as JSON in a
        text parsed.
        """
        for name in keys:
            value = self.attributes.get(name)
            if value is not None and value != names.HIDDEN:
                return parsed(value)
        return None

    def source(self, keys: Sequence[str]) -> str:
        """The name of the attribute that `value` reads."""
        for name in keys:
            value = self.attributes.get(name)
            if value is not None and value != names.HIDDEN:
                return name
        return ""

    @property
    def order(self) -> tuple[int, int, str]:
        """By start, the longer one first; the id where times are equal, so that the order in which
        spans arrive never matters.
        """
        return self.start, -self.end, self.id


def spans_in(trace: Mapping[str, object]) -> list[Mapping[str, Any]]:
    """The spans of a trace: its list `spans`, that of its `data`, or its observations; none where
    it has none.
    """
    if isinstance(trace.get("observations"), list):
        return _spans_of_langfuse(trace)
    data = trace.get("data")
    for holder in (trace, data if isinstance(data, dict) else {}):
        spans = parsed(holder.get("spans"))
        if isinstance(spans, list):
            found: list[Mapping[str, Any]] = []
            found += [span for span in spans[:MOST_SPANS] if isinstance(span, dict)]
            if found and all("run_type" in span for span in found):
                return [_span_of_run(run) for run in _runs_in(found)][:MOST_SPANS]
            return found
    return []


def read_span(raw: Mapping[str, Any], number: int = 0) -> Span:
    """The span of an object in any of the forms. number: its place in its list, which stands for
    an id or a time that it does not have.
    """
    if "startTime" in raw and "traceId" in raw and "type" in raw:
        raw = span_of_observation(raw)
    context = raw.get("context")
    ids = context if isinstance(context, dict) else raw
    own = ids.get("span_id") or raw.get("context.span_id") or raw.get("spanId") or number
    parent = raw.get("parent_span_id") or raw.get("parent_id") or raw.get("parentSpanId")
    attributes = dict(_flat(attributes_of(raw), ""))
    # Phoenix has the kind beside the attributes.
    kind = raw.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault(names.KINDS[0], kind)
    return Span(
        str(own),
        str(parent or ""),
        str(raw.get("name") or ""),
        _time(raw, _STARTS, number),
        _time(raw, _ENDS, 0),
        attributes,
        kind_of(attributes),
        _error(raw),
        str(raw.get("scope") or ""),
    )


def kind_of(attributes: Mapping[str, Any]) -> str:
    """LLM, RETRIEVER, RERANKER, EMBEDDING, TOOL, AGENT, CHAIN ...; "" for a span that is none of
    them, as those of web servers.
    """
    for name in names.KINDS:
        said = parsed(attributes.get(name))
        if isinstance(said, str) and said:
            return names.KIND_OF.get(said.upper(), said.upper())
    operation = attributes.get(names.OPERATION)
    if isinstance(operation, str) and operation in names.OPERATION_KIND:
        return names.OPERATION_KIND[operation]
    said = attributes.get(names.TRACELOOP_KIND)
    if isinstance(said, str) and said:
        return names.KIND_OF.get(said.upper(), said.upper())
    asked = attributes.get(names.REQUEST_TYPE)
    if isinstance(asked, str) and asked in names.REQUEST_KIND:
        return names.REQUEST_KIND[asked]
    # A span that says no kind, and what a model was asked or said.
    said = (name for name in attributes if name.endswith(".content"))
    return "LLM" if any(name.startswith(names.NUMBERED) for name in said) else ""


def parsed(value: Any) -> Any:
    """What a text says as JSON; the text itself where it is none."""
    if isinstance(value, str) and value[:1] in ('"', "{", "["):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def attributes_of(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes as an object: as they are, of OTLP's list of keys and values, or of columns
    that begin with "attributes.".
    """
    attributes = parsed(raw.get("attributes"))
    if isinstance(attributes, dict):
        return attributes
    if isinstance(attributes, list):
        pairs = [each for each in attributes[:MOST_ATTRIBUTES] if isinstance(each, dict)]
        return {str(each.get("key")): otlp_value(each.get("value")) for each in pairs}
    prefix = "attributes."
    return {key.removeprefix(prefix): cell for key, cell in raw.items() if key.startswith(prefix)}


def otlp_value(value: Any, depth: int = 0) -> Any:
    """The value of OTLP's JSON: {"stringValue": ...}, {"intValue": "7"}, {"arrayValue": ...} ...;
    None for what lies too deep.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None if isinstance(value, dict) else value
    if depth > _DEEPEST_VALUE:
        return None
    ((kind, inner),) = value.items()
    if kind == "arrayValue" and isinstance(inner, dict):
        return [otlp_value(each, depth + 1) for each in inner.get("values") or ()]
    if kind == "kvlistValue" and isinstance(inner, dict):
        pairs = [each for each in inner.get("values") or () if isinstance(each, dict)]
        return {str(each.get("key")): otlp_value(each.get("value"), depth + 1) for each in pairs}
    if kind == "intValue":
        try:
            return int(inner)
        except (TypeError, ValueError):
            return inner
    return inner


def _flat(fields: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Objects in objects by dotted names, beside themselves."""
    for key, value in list(fields.items())[:MOST_ATTRIBUTES]:
        name = f"{prefix}{key}"
        yield name, value
        if isinstance(value, dict) and name.count(".") < _MOST_DOTS:
            yield from _flat(value, f"{name}.")


_STARTS = ("start_time_unix_nano", "startTimeUnixNano", "start_time")
_ENDS = ("end_time_unix_nano", "endTimeUnixNano", "end_time")
_UNITS = ((1e17, 1), (1e14, 10**3), (1e11, 10**6), (0, 10**9))
"""(least value, nanoseconds of one) of times since 1970 in nano-, micro-, milliseconds, seconds."""


def _time(raw: Mapping[str, Any], keys: Sequence[str], default: int) -> int:
    """The first of these times in nanoseconds since 1970; the default without one."""
    for name in keys:
        value = raw.get(name)
        if isinstance(value, str):
            value = _time_in_text(value)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e20:
            # What is named so is in nanoseconds; a plain `start_time` may be in any unit.
            factor = 1 if name.endswith(("nano", "Nano")) else _factor(value)
            return int(value * factor)
    return default


def _factor(value: float) -> int:
    return next(factor for least, factor in _UNITS if value >= least)


def _time_in_text(value: str) -> int | datetime | None:
    # As an integer: a float holds nanoseconds since 1970 to the nearest 256.
    if value.isdecimal():
        return int(value) if len(value) < 20 else None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _error(raw: Mapping[str, Any]) -> str | None:
    """What a span failed with: the message of its status, or of the exception that it recorded."""
    status = raw.get("status")
    message = raw.get("status_message")
    code = raw.get("status_code")
    if isinstance(status, dict):
        code, message = status.get("code", code), status.get("message", message)
    if code not in (2, "2", "ERROR", "STATUS_CODE_ERROR"):
        return None
    return _without_traceback(str(message or _exception(raw) or "error"))


def _without_traceback(message: str) -> str:
    """An error as OpenInference writes it, without what Python printed of the exception: that names
    files of the application, and nobody reads it in a row.
    """
    said, found, _ = message.partition(_TRACEBACK)
    return said.strip() or message if found else message


def _exception(raw: Mapping[str, Any]) -> str | None:
    events = parsed(raw.get("events"))
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            said = attributes_of(event).get("exception.message")
            if isinstance(said, str):
                return said
    return None


def _runs_in(runs: Sequence[Mapping[str, Any]], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """LangSmith's runs with those inside them."""
    for run in runs:
        yield run
        inside = run.get("child_runs")
        if isinstance(inside, list) and depth < _DEEPEST_RUN:
            children = [child for child in inside if isinstance(child, dict)]
            yield from _runs_in(children, depth + 1)


def _span_of_run(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run of LangSmith as a span of OpenInference."""
    kind = names.RUN_KINDS.get(str(run.get("run_type")), "CHAIN")
    return {
        "span_id": run.get("id"),
        # A run without the id of its parent is inside one all the same: no root with a duration.
        "parent_id": run.get("parent_run_id") or "parent",
        "name": run.get("name"),
        "start_time": run.get("start_time"),
        "attributes": {
            "openinference.span.kind": kind,
            "input.value": run.get("inputs"),
            "output.value": run.get("outputs"),
            "llm.token_count.prompt": run.get("prompt_tokens"),
            "llm.token_count.completion": run.get("completion_tokens"),
            "llm.token_count.total": run.get("total_tokens"),
            "llm.cost.total": run.get("total_cost"),
        },
    }


def _spans_of_langfuse(trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A trace of Langfuse's interface: the trace itself is the root of its observations."""
    root = str(trace.get("id") or "trace")
    observations = [each for each in trace["observations"][:MOST_SPANS] if isinstance(each, dict)]
    spans = [span_of_observation(each, root) for each in observations]
    # The list of traces has the ids of the observations alone: a trace that was given something is
    # taken for the application's, also where it failed and gave nothing.
    is_whole = len(observations) == len(trace["observations"][:MOST_SPANS])
    failed = _failed_observation(spans, root) if trace.get("output") is None else {}
    begins = [str(each["start_time"]) for each in spans if each.get("start_time")]
    ends = [str(each["end_time"]) for each in spans if each.get("end_time")]
    whole = {
        "span_id": root,
        "name": trace.get("name"),
        "start_time": min(begins, default=trace.get("timestamp")),
        "end_time": max(ends, default=None),
        "scope": "langfuse" if is_whole else "langfuse list",
        "status": failed.get("status"),
        "attributes": {
            "openinference.span.kind": "CHAIN" if is_whole or not trace.get("input") else "AGENT",
            "input.value": trace.get("input"),
            "output.value": trace.get("output"),
            "session.id": trace.get("sessionId"),
        },
    }
    return [whole, *spans]


def _failed_observation(spans: Sequence[Mapping[str, Any]], root: str) -> Mapping[str, Any]:
    """The last of the outermost observations of a trace, where it failed and gave nothing; empty
    where it did not. A trace of Langfuse has no level of its own.
    """
    outer = [each for each in spans if each["parent_id"] == root]
    last = max(outer, key=lambda each: str(each.get("start_time")), default={})
    has_failed = bool(last) and last["status"]["code"] == 2
    return last if has_failed and last["attributes"]["output.value"] is None else {}


def span_of_observation(observation: Mapping[str, Any], root: str = "") -> Mapping[str, Any]:
    """An observation of Langfuse as a span of OpenInference. root: the id of the trace, where it is
    a span too.
    """
    usage = observation.get("usageDetails") or observation.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    costs = observation.get("costDetails")
    cost = costs.get("total") if isinstance(costs, dict) else None
    failed = observation.get("level") == "ERROR"
    return {
        "traceId": observation.get("traceId"),
        "span_id": observation.get("id"),
        "parent_id": observation.get("parentObservationId") or root,
        "name": observation.get("name"),
        "start_time": observation.get("startTime"),
        "end_time": observation.get("endTime"),
        "scope": "langfuse",
        "status": {
            "code": 2 if failed else 0,
            "message": observation.get("statusMessage"),
        },
        "attributes": {
            "langfuse.observation.type": observation.get("type"),
            "input.value": observation.get("input"),
            "output.value": observation.get("output"),
            "session.id": observation.get("sessionId"),
            "llm.token_count.prompt": usage.get("input"),
            "llm.token_count.completion": usage.get("output"),
            "llm.token_count.total": usage.get("total"),
            "llm.cost.total": observation.get("calculatedTotalCost") or cost,
        },
    }


def sorted_bytes(fields: Mapping[str, Any]) -> bytes:
    """Fields as JSON, the same bytes for the same fields in whatever order they stand."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(fields, option=options, default=str)
