"""What the trace says that a row carries: its totals, its times, and what its spans hold.

Read are MLflow's traces (version 2: info.execution_time_ms, info.request_metadata; version 3:
info.execution_duration_ms, info.execution_duration, info.trace_metadata) with the totals that
MLflow keeps in their metadata as JSON: mlflow.trace.tokenUsage and mlflow.trace.cost. Without a
duration, that of the root span counts; without totals, those of the spans (see `spans`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeGuard

import orjson

from ragassay.datasets.cells import Problem, Problems
from ragassay.datasets.source import show
from ragassay.datasets.spans import (
    fields_of_spans,
    figures_of_spans,
    spans_in,
    unread_of_spans,
)
from ragassay.datasets.unread import is_named

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s", re.ASCII)
_TOKENS = ("input_tokens", "output_tokens", "total_tokens")

# Some thirty thousand years and thirty years: beyond them the value is no duration of an answer,
# but a time since 1970 or damage.
_MOST_MILLISECONDS = 1e15
_MOST_NANOSECONDS = 10**18

_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (0, 1))
"""(least value, how many a second) of times since 1970 in nano-, micro-, milliseconds, seconds."""


def totals(trace: object, notes: Counter[str]) -> dict[str, object]:
    """Usage fields of a trace, as `whole_trace` takes it. Empty where it says nothing.

    A trace that cannot be read is noted and says nothing: it is beside the row, not the row.
    """
    whole = whole_trace(trace)
    if whole is None:
        notes["traces could not be read"] += 1
        return {}
    info = _info(whole)
    metadata: dict[str, object] = {}
    # Version 2's name, then version 3's.
    for key in ("request_metadata", "trace_metadata"):
        metadata |= _metadata(info.get(key))
    figures: dict[str, object] = {**figures_of_spans(spans_in(whole))}
    # The totals of the whole trace, which MLflow writes at its end, go before sums of spans.
    figures |= _tokens_and_cost(metadata)
    latency = _duration(info, whole)
    if latency is not None:
        figures["latency"] = latency
    if not figures:
        notes["traces have no totals"] += 1
    return figures


def said_by_spans(trace: object) -> dict[str, Any]:
    """Those of question, response, contexts, error and cluster that a trace says: its spans, else
    what describes the whole of it.
    """
    whole = whole_trace(trace)
    if whole is None:
        return {}
    said = fields_of_spans(spans_in(whole))
    info = _info(whole)
    session = _metadata(info.get("trace_metadata")).get("mlflow.trace.session")
    if session:
        said.setdefault("cluster", session)
    if info.get("state") == "ERROR" and "response" not in said:
        said.setdefault("error", "the trace ended in the state ERROR")
    return said


SPAN_PREFIX = "spans."
"""How the columns are named that stand for what spans gave."""


def span_columns(outputs: Mapping[str, object]) -> dict[str, object]:
    """What spans gave that may be the contexts, as columns of the row: nothing reads them but
    `--map contexts=spans.NAME`. Texts alone where the span is named so.
    """
    return {
        f"{SPAN_PREFIX}{name}": output
        for name, output in outputs.items()
        if not isinstance(output, str) or is_named(name, "contexts")
    }


def columns_of_trace(trace: object) -> dict[str, object]:
    """The columns that `span_columns` makes of a trace in which no retrieval is known."""
    whole = whole_trace(trace)
    return {} if whole is None else span_columns(unread_of_spans(spans_in(whole)))


def whole_trace(trace: object) -> Mapping[str, object] | None:
    """A trace as an object: of an object, its JSON, a list of spans, or an object with to_dict();
    None for what is no trace.
    """
    whole = _parsed(trace)
    if not isinstance(whole, dict | list) and callable(getattr(trace, "to_dict", None)):
        try:
            whole = trace.to_dict()  # type: ignore[attr-defined]
        except Exception:  # a stranger's object; what it cannot say is noted
            return None
    if isinstance(whole, list) and whole and all(isinstance(span, dict) for span in whole):
        return {"spans": whole}
    return whole if isinstance(whole, dict) else None


def _info(trace: Mapping[str, object]) -> Mapping[str, object]:
    """The part of a trace that describes the whole of it; the trace itself where it has none."""
    for key in ("info", "trace_info"):
        part = trace.get(key)
        if isinstance(part, dict):
            return part
    return trace


def _tokens_and_cost(metadata: Mapping[str, object]) -> dict[str, object]:
    figures: dict[str, object] = {}
    usage = _parsed(metadata.get("mlflow.trace.tokenUsage"))
    if isinstance(usage, dict):
        for name in _TOKENS:
            if usage.get(name) is not None:
                figures[name] = usage[name]
    cost = _parsed(metadata.get("mlflow.trace.cost"))
    # As an object it is split by input and output, beside the total.
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    if cost is not None:
        figures["cost"] = cost
    return figures


def _parsed(value: object) -> object:
    if isinstance(value, str):
        try:
            return orjson.loads(value)
        except ValueError:
            return None
    return value


def _metadata(value: object) -> dict[str, object]:
    """Metadata as an object, also from the list of key and value that MLflow's REST API of version
    2 gives.
    """
    value = _parsed(value)
    if isinstance(value, list):
        entries = [part for part in value if isinstance(part, dict)]
        return {str(entry.get("key")): entry.get("value") for entry in entries}
    return value if isinstance(value, dict) else {}


def _duration(info: Mapping[str, object], trace: Mapping[str, object]) -> float | None:
    """Seconds that the trace took, None where nothing says it."""
    for key in ("execution_duration_ms", "execution_time_ms", "execution_duration"):
        value = info.get(key)
        if isinstance(value, str):
            # JSON made of protobuf writes a duration as "1.25s".
            match = _DURATION.fullmatch(value)
            if match:
                return float(match[1])
        elif _is_number(value) and 0 <= value < _MOST_MILLISECONDS:
            return value / 1000
    return _duration_of_root_span(spans_in(trace))


def _duration_of_root_span(spans: Sequence[Mapping[str, object]]) -> float | None:
    for span in spans:
        if span.get("parent_id") or span.get("parent_span_id") or span.get("parentSpanId"):
            continue
        start = _nanoseconds(span, "start_time_unix_nano", "startTimeUnixNano", "start_time")
        end = _nanoseconds(span, "end_time_unix_nano", "endTimeUnixNano", "end_time")
        if start is not None and end is not None and 0 <= end - start < _MOST_NANOSECONDS:
            return (end - start) / 1e9
        times = _moment(span.get("start_time")), _moment(span.get("end_time"))
        if times[0] is not None and times[1] is not None and times[1] >= times[0]:
            return round(times[1] - times[0], 6)
    return None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nanoseconds(span: Mapping[str, object], *keys: str) -> int | None:
    """The first of these that is a whole number."""
    for key in keys:
        value = span.get(key)
        if type(value) is int:
            return value
        if isinstance(value, str) and value.isdecimal() and len(value) < 20:
            return int(value)  # as JSON made of protobuf writes 64 bits
    return None


def seconds_between(start: object, end: object, problems: Problems) -> float | None:
    """Seconds from start to end: ISO 8601 texts (UTC where they name no zone), datetimes, or
    seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size. A time
    that is none of these is a problem.
    """
    times: list[float] = []
    for field, value in (("start_time", start), ("end_time", end)):
        moment = _moment(value)
        if moment is None:
            problems.append(Problem("E0303", f"{field} is no time", show(value)))
        else:
            times.append(moment)
    if len(times) < 2:
        return None
    if times[1] < times[0]:
        problems.append(Problem("E0303", "end_time is before start_time", show(end)))
        return None
    return round(times[1] - times[0], 6)


def _moment(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        try:
            return value.timestamp()
        except (OverflowError, ValueError):
            return None
    # 1e20 nanoseconds are the year 5138: what is larger is no time.
    if _is_number(value) and 0 <= value < 1e20:
        for least, a_second in _UNITS:
            if value >= least:
                return value / a_second
    return None
