"""Results of a watch as OpenTelemetry has them: an event gen_ai.evaluation.result per row and
metric, stored with the trace and, where that is asked for, sent to a collector; and the results and
ratings that others send in the same form.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ragassay.store import Store
from ragassay.store.spans import NumberedLog, StoredLog
from ragassay.store.watches import JUDGED, Rating, WatchRow
from ragassay.tracing.objects import log_object
from ragassay.tracing.otlp import messages
from ragassay.watch.targets import NotSent, post

EVENT = "gen_ai.evaluation.result"
OURS = "ragassay.watch"
"""Attribute of the events of a watch: its name."""
_NAME, _VALUE, _LABEL, _WHY = (
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.value",
    "gen_ai.evaluation.score.label",
    "gen_ai.evaluation.explanation",
)
_WORDS = {
    **dict.fromkeys(("up", "thumbs_up", "positive", "good", "pass", "passed", "yes", "true"), 1.0),
    **dict.fromkeys(
        ("down", "thumbs_down", "negative", "bad", "fail", "failed", "no", "false"), 0.0
    ),
}
_MOST_NAME = 80


def events(watch: str, rows: Sequence[WatchRow], now: float) -> list[StoredLog]:
    """The events of rows that are judged: of each metric its score, its verdict, or why it has
    none.
    """
    made = []
    for row in rows:
        if row.state != JUDGED:
            continue
        scores = row.figures.get("scores", {})
        lost = row.figures.get("lost", {})
        for metric in (*scores, *lost):
            if not metric.startswith("app_"):
                made.append(_event(watch, row, metric, scores.get(metric), lost.get(metric), now))
    return made


def _event(
    watch: str, row: WatchRow, metric: str, score: float | None, lost: str | None, now: float
) -> StoredLog:
    record = messages().LogRecord()
    record.event_name = EVENT
    record.trace_id = row.trace
    # The time of the row, so that the same result gives the same bytes and is stored once.
    record.time_unix_nano = row.received * 1_000_000
    told: dict[str, Any] = {_NAME: metric, OURS: watch, f"{OURS}.row": row.number}
    if score is not None:
        told[_VALUE] = float(score)
    verdict = row.figures.get("verdicts", {}).get(metric)
    if verdict is not None:
        told[_LABEL] = verdict
    if lost is not None:
        told["error.type"] = lost
    for name, value in told.items():
        attribute = record.attributes.add()
        attribute.key = name
        if isinstance(value, float):
            attribute.value.double_value = value
        elif isinstance(value, int):
            attribute.value.int_value = value
        else:
            attribute.value.string_value = value
    return StoredLog(row.trace, bytes(record.SerializeToString()))


def keep(store: Store, made: Sequence[StoredLog]) -> None:
    """Store events with their traces."""
    if made:
        store.span_records.put([], made, int(time.time() * 1000))


def export(made: Sequence[StoredLog], collector: str, headers: Mapping[str, str]) -> str:
    """Send events to a collector (OTLP over HTTP); "" where it took them, else why not."""
    if not made:
        return ""
    content = _export_request(made)
    kind = {**headers, "content-type": "application/x-protobuf"}
    try:
        post(f"{collector.rstrip('/')}/v1/logs", content, kind, allow_private=False)
    except NotSent as failed:
        return str(failed)
    return ""


def _export_request(made: Sequence[StoredLog]) -> bytes:
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    scope = data.resource_logs.add().scope_logs.add()
    scope.scope.name = "ragassay"
    for each in made:
        scope.log_records.add().ParseFromString(each.payload)
    return bytes(data.SerializeToString())


def ratings_in(logs: Sequence[NumberedLog]) -> tuple[list[Rating], int]:
    """(what users and other tools said in these records, how many of such could not be read)."""
    found, unread = [], 0
    for log in logs:
        if EVENT.encode() not in log.payload:
            continue
        told = log_object(log.payload)
        attributes = told["attributes"]
        if told["eventName"] != EVENT or OURS in attributes:
            continue
        name, value = str(attributes.get(_NAME) or "")[:_MOST_NAME], _value(attributes)
        if not name or value is None:
            unread += 1
            continue
        found.append(Rating(log.trace, name, value, log.received))
    return found, unread


def _value(attributes: Mapping[str, Any]) -> float | None:
    """A rating from 0 to 1; None where it is on another scale, or none at all."""
    value = attributes.get(_VALUE)
    if isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1:
        return float(value)
    label = attributes.get(_LABEL)
    if value is None and isinstance(label, str):
        return _WORDS.get(label.strip().lower())
    return None
