"""Spans as rows: tables with one span a row, as Phoenix exports them, the JSON of OTLP with many in
an object, as collectors write it, and Langfuse's traces and observations.

A span alone is no row: the question stands at the root, the documents at a retriever, the tokens at
the calls of models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from ragassay.datasets.cells import NUMBER, unpack
from ragassay.datasets.columns import normal
from ragassay.datasets.source import Counted, Reader, Row, Trouble
from ragassay.datasets.spans import MOST_SPANS, names, spans_in
from ragassay.datasets.spans.logged import add_logged_content
from ragassay.datasets.spans.rows import Assembly, rows_of_trace
from ragassay.datasets.traces import span_columns

_TRACE_IDS = ("context.trace_id", "trace_id")
_PARENTS = ("parent_id", "parent_span_id")
_KINDS = ("span_kind", "attributes.openinference.span.kind", "attributes.mlflow.span_type")
_OBSERVATION = ("trace_id", "parent_observation_id", "type", "start_time")
_LANGFUSE_TRACE = ("observations", "timestamp")
"""What gives a table of Langfuse's observations, and its traces, away."""


_TEXTS = frozenset((*names.INPUTS, *names.OUTPUTS, "input", "output", "status_message", "name"))
_FIGURES = frozenset(chain.from_iterable(names.FIGURES.values()))

_RESOURCES = ("resourceSpans", "resource_spans")
_LOG_RESOURCES = ("resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "scopeLogs", "scope_logs")
_RECORDS = ("spans", "logRecords", "log_records")


def are_spans(columns: Collection[str]) -> bool:
    """Whether rows with these columns and paths are spans of traces, or objects that hold them."""
    names = {normal(column) for column in columns}
    if not {normal(name) for name in _RESOURCES}.isdisjoint(names):
        return True
    if names.issuperset(_OBSERVATION) or names.issuperset(_LANGFUSE_TRACE):
        return True
    return all(names & set(known) for known in (_TRACE_IDS, _PARENTS, _KINDS))


class TraceRows:
    """The turns of users in the traces of a reader of spans, each a row, in the order of the
    traces' first spans.

    All spans are held in memory while they are put together: those of one trace may stand anywhere.
    The rows are kept for the next reading.
    """

    textual = False
    columns: tuple[str, ...] | None = None
    counted_by: Counted = "position"

    def __init__(self, spans: Reader) -> None:
        self._spans = spans
        self.source = spans.source
        self.notes = spans.notes
        self._assembled = False
        self._read: list[Row] = []
        self._troubles: list[Trouble] = []

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        if not self._assembled:
            self._assemble()
        yield from enumerate(self._read, 1)
        yield from enumerate(self._troubles, len(self._read) + 1)

    def _assemble(self) -> None:
        traces: dict[str, list[Row]] = {}
        logs: list[Row] = []
        for _, line in self._spans.rows():
            if isinstance(line, Trouble):
                self._troubles.append(line)
                continue
            if self._spans.textual:
                line = _without_text_cells(line)
            logs += _records_of(line, _LOG_RESOURCES)
            for span in _spans_of(line):
                spans = traces.setdefault(_trace_id(span), [])
                if len(spans) < MOST_SPANS:
                    spans.append(span)
        add_logged_content(traces, logs)
        assembly = Assembly()
        for trace_id, spans in traces.items():
            rows = rows_of_trace(trace_id, spans)
            assembly.add(rows, len(spans))
            self._read += [{**row.row, **span_columns(row.turn.unread)} for row in rows]
        if traces or not self._troubles:
            assembly.check(self.source)
        self.notes = (*self._spans.notes, *assembly.lines())
        self._assembled = True

    def where(self, line: int) -> str:
        return f"row {line} of the traces"

    def content_hash(self) -> str:
        return self._spans.content_hash()


def _without_text_cells(row: Row) -> Row:
    """A row of a text file with its lists and objects, which a data frame writes as Python does,
    and its figures, as what they are; without its empty cells. Inputs and outputs are texts.
    """
    read: Row = {}
    for name, cell in row.items():
        if not isinstance(cell, str) or not cell:
            continue
        attribute = name.removeprefix("attributes.")
        if attribute in _FIGURES and NUMBER.fullmatch(cell):
            read[name] = float(cell)
        else:
            read[name] = cell if attribute in _TEXTS else unpack(cell)
    return read


def _spans_of(row: Row) -> list[Row]:
    """The spans of an object of OTLP or of a trace of Langfuse; the row itself where it is one."""
    if isinstance(row.get("observations"), list):
        trace = str(row.get("id") or "")
        return [{**span, "traceId": trace} for span in spans_in(row)]
    if any(name in row for name in _LOG_RESOURCES):
        return []
    if not any(name in row for name in _RESOURCES):
        return [row]
    return _records_of(row, _RESOURCES)


def _records_of(row: Row, resources: tuple[str, ...]) -> list[Row]:
    """The spans or log records of an object of OTLP, each with the name of the library that wrote
    it.
    """
    found: list[Row] = []
    for resource in _listed(row, resources):
        for scope in _listed(resource, _SCOPES):
            described = scope.get("scope")
            name = described.get("name") if isinstance(described, dict) else None
            found += [{**record, "scope": name or ""} for record in _listed(scope, _RECORDS)]
    return found


def _listed(holder: Mapping[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The objects of the first of these lists that is there."""
    for name in names:
        values = holder.get(name)
        if isinstance(values, list):
            return [value for value in values if isinstance(value, dict)]
    return []


def _trace_id(span: Mapping[str, object]) -> str:
    context = span.get("context")
    nested = context.get("trace_id") if isinstance(context, dict) else None
    named = (nested, span.get("context.trace_id"), span.get("trace_id"), span.get("traceId"))
    return str(next((value for value in named if value is not None), ""))
