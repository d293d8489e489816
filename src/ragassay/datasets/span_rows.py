"""Spans as rows of traces: tables with one a row, as Phoenix exports them, and the JSON of OTLP,
with many in an object, as collectors write it.

A span alone is no row: the question stands at the root, the documents at a retriever, the tokens at
the calls of models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ragassay.datasets.columns import normal
from ragassay.datasets.source import Counted, Reader, Row, Trouble

_TRACE_IDS = ("context.trace_id", "trace_id")
_PARENTS = ("parent_id", "parent_span_id")
_KINDS = ("span_kind", "attributes.openinference.span.kind", "attributes.mlflow.span_type")


_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans")


def are_spans(columns: Collection[str]) -> bool:
    """Whether rows with these columns and paths are spans of traces, or objects that hold them."""
    names = {normal(column) for column in columns}
    if not {normal(name) for name in _RESOURCES}.isdisjoint(names):
        return True
    return all(names & set(known) for known in (_TRACE_IDS, _PARENTS, _KINDS))


class TraceRows:
    """The traces of a reader of spans, each a row with its spans, in the order of their first ones.

    All spans are held in memory while they are read: those of one trace may stand anywhere.
    """

    textual = False
    columns: tuple[str, ...] | None = None
    counted_by: Counted = "position"

    def __init__(self, spans: Reader) -> None:
        self._spans = spans
        self.source = spans.source
        self.notes = (*spans.notes, "put spans together by their trace: one row a trace")

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        traces: dict[str, list[Row]] = {}
        troubles: list[Trouble] = []
        for _, span in self._spans.rows():
            if isinstance(span, Trouble):
                troubles.append(span)
            else:
                for each in _spans_of(span):
                    traces.setdefault(_trace_id(each), []).append(each)
        number = 0
        for number, (trace_id, spans) in enumerate(traces.items(), 1):
            yield number, {"trace_id": trace_id, "spans": spans}
        yield from enumerate(troubles, number + 1)

    def where(self, line: int) -> str:
        return f"trace {line}"

    def content_hash(self) -> str:
        return self._spans.content_hash()


def _spans_of(row: Row) -> list[Row]:
    """The spans of an object of OTLP; the row itself where it is one."""
    resources = _listed(row, _RESOURCES)
    if not resources and not any(name in row for name in _RESOURCES):
        return [row]
    spans: list[Row] = []
    for resource in resources:
        for scope in _listed(resource, _SCOPES):
            spans += _listed(scope, ("spans",))
    return spans


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
