"""Traces in the JSON of OTLP, as instrumentors write them and collectors keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

START = 1795357052_000_000_000
"""Nanoseconds since 1970 when the traces begin."""


def value(plain: object) -> dict[str, Any]:
    """A value of OTLP's JSON: named by its type, integers as texts."""
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(each) for each in plain]}}
    if isinstance(plain, dict):
        pairs = [{"key": key, "value": value(each)} for key, each in plain.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": plain}


def span(
    trace: str,
    number: int,
    parent: int | None,
    attributes: Mapping[str, object],
    *,
    name: str = "span",
    status: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """A span. number: its id, and the tenth of a second in which it begins."""
    start = START + number * 100_000_000
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1_000_000_000),
        "attributes": [{"key": key, "value": value(each)} for key, each in attributes.items()],
        "status": dict(status or {}),
    }


def request(spans: Sequence[Mapping[str, Any]], scope: str = "") -> dict[str, Any]:
    """One export of these spans."""
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    resource = {"attributes": [service]}
    scopes = [{"scope": {"name": scope, "version": "1"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}


def openinference_spans(
    question: str,
    response: str,
    retrievals: Sequence[tuple[str, Sequence[str]]],
    trace: str = "5b8efff798038103d269b633813fc60c",
) -> list[dict[str, Any]]:
    """A turn of an agent as OpenInference's instrumentor of LangChain writes it. retrievals: query
    and texts of each.
    """
    kind = "openinference.span.kind"
    root = {kind: "CHAIN", "input.value": question, "output.value": response, "session.id": "s-1"}
    spans = [span(trace, 1, None, root, name="LangGraph")]
    for position, (query, texts) in enumerate(retrievals):
        tool = {kind: "TOOL", "tool.name": "search", "input.value": query}
        spans.append(span(trace, 2 * position + 2, 1, tool, name="search"))
        found: dict[str, object] = {kind: "RETRIEVER", "input.value": query}
        for rank, text in enumerate(texts):
            found[f"retrieval.documents.{rank}.document.content"] = text
        retriever = span(
            trace, 2 * position + 3, 2 * position + 2, found, name="VectorStoreRetriever"
        )
        spans.append(retriever)
    return spans


def openinference_request(
    question: str,
    response: str,
    retrievals: Sequence[tuple[str, Sequence[str]]],
    trace: str = "5b8efff798038103d269b633813fc60c",
) -> dict[str, Any]:
    """An export of one such turn."""
    spans = openinference_spans(question, response, retrievals, trace)
    return request(spans, "openinference.instrumentation.langchain")


def genai_request(trace: str = "6b8efff798038103d269b633813fc60c") -> dict[str, Any]:
    """A turn as OpenTelemetry's instrumentor of LangChain writes it where it records no content."""
    operation = "gen_ai.operation.name"
    spans = [
        span(trace, 1, None, {operation: "invoke_workflow"}, name="invoke_workflow"),
        span(trace, 2, 1, {operation: "retrieval"}, name="retrieval"),
        span(trace, 3, 1, {operation: "chat", "gen_ai.request.model": "m"}, name="chat m"),
    ]
    return request(spans, "opentelemetry.instrumentation.genai.langchain")
