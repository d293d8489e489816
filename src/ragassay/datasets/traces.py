"""Usage by the trace that a row carries: its totals and its times.

Read are MLflow's traces (version 2: info.execution_time_ms, info.request_metadata; version 3:
info.execution_duration_ms, info.execution_duration, info.trace_metadata) with the totals that
MLflow keeps in their metadata as JSON: mlflow.trace.tokenUsage and mlflow.trace.cost. Without a
duration, that of the root span counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from ragassay.datasets.cells import Problem, Problems
from ragassay.datasets.source import show

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s", re.ASCII)
_TOKENS = ("input_tokens", "output_tokens", "total_tokens")


def totals(trace: object, notes: Counter[str]) -> dict[str, object]:
    """Usage fields of a trace: an object, its JSON, or an object with to_dict(). Empty where it
    says nothing.

    A trace that cannot be read is noted and says nothing: it is beside the row, not the row.
    """
    whole = _parsed(trace)
    if not isinstance(whole, dict) and callable(getattr(trace, "to_dict", None)):
        try:
            whole = trace.to_dict()  # type: ignore[attr-defined]
        except Exception:  # a stranger's object; what it cannot say is noted below
            whole = None
    if not isinstance(whole, dict):
        notes["traces could not be read"] += 1
        return {}
    info = next(
        (part for key in ("info", "trace_info") if isinstance(part := whole.get(key), dict)), whole
    )
    metadata: dict[str, object] = {}
    for key in ("request_metadata", "trace_metadata"):
        metadata |= _named(info.get(key))
    found: dict[str, object] = {}
    usage = _parsed(metadata.get("mlflow.trace.tokenUsage"))
    if isinstance(usage, dict):
        found |= {name: usage[name] for name in _TOKENS if usage.get(name) is not None}
    cost = _parsed(metadata.get("mlflow.trace.cost"))
    if (cost := cost.get("total_cost") if isinstance(cost, dict) else cost) is not None:
        found["cost"] = cost
    if (latency := _duration(info, whole)) is not None:
        found["latency"] = latency
    if not found:
        notes["traces have no totals"] += 1
    return found


def _parsed(value: object) -> object:
    if isinstance(value, str):
        try:
            return orjson.loads(value)
        except ValueError:
            return None
    return value


def _named(value: object) -> dict[str, object]:
    """Metadata as an object, also from the list of key and value that MLflow's REST API of version
    2 gives.
    """
    value = _parsed(value)
    if isinstance(value, list):
        return {str(part.get("key")): part.get("value") for part in value if isinstance(part, dict)}
    return value if isinstance(value, dict) else {}


def _duration(info: Mapping[str, object], whole: Mapping[str, object]) -> float | None:
    for key in ("execution_duration_ms", "execution_time_ms", "execution_duration"):
        value = info.get(key)
        if isinstance(value, str) and (
            match := _DURATION.fullmatch(value)
        ):  # protobuf's JSON: "1.25s"
            return float(match[1])
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
            return value / 1000
    data = whole.get("data")
    spans = data.get("spans") if isinstance(data, dict) else None
    for span in spans if isinstance(spans, list) else ():
        if not isinstance(span, dict) or span.get("parent_id") or span.get("parent_span_id"):
            continue
        start = _nanoseconds(span, "start_time_unix_nano", "start_time")
        end = _nanoseconds(span, "end_time_unix_nano", "end_time")
        if start is not None and end is not None and 0 <= end - start < 10**18:
            return (end - start) / 1e9
    return None


def _nanoseconds(span: Mapping[str, object], *keys: str) -> int | None:
    """The first of these that is a whole number."""
    for key in keys:
        value = span.get(key)
        if type(value) is int:
            return value
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
        try:
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        except (OverflowError, ValueError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e20:
        scale = next(
            s for least, s in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (0, 1)) if value >= least
        )
        return value / scale
    return None
