"""Turns of users as traces in a store, without a server between."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ragassay.store import Store
from ragassay.tracing.decoding import decode
from ragassay.tracing.job import AssemblyJob
from support.otlp_json import request, span

KIND = "openinference.span.kind"
PASSAGE = "The city library was founded in 1911."
RIGHT = "The city library was founded in 1911."
WRONG = "The city library was founded in 1850 by Anna Weiss."
QUESTION = "When was the library founded?"


def turn(
    name: str,
    answer: str = RIGHT,
    *,
    question: str = QUESTION,
    passages: Sequence[str] = (PASSAGE,),
    session: str | None = None,
    **attributes: object,
) -> list[dict[str, Any]]:
    """The spans of one turn. name: of the trace, any text."""
    trace = hashlib.md5(name.encode()).hexdigest()
    root: dict[str, object] = {
        KIND: "CHAIN",
        "input.value": question,
        "output.value": answer,
        "ragassay.trace.complete": True,
        **attributes,
    }
    if session is not None:
        root["session.id"] = session
    found: dict[str, object] = {KIND: "RETRIEVER", "input.value": question}
    for rank, text in enumerate(passages):
        found[f"retrieval.documents.{rank}.document.content"] = text
    return [span(trace, 1, None, root, name="chain"), span(trace, 2, 1, found, name="search")]


def export(turns: Sequence[Sequence[Mapping[str, Any]]]) -> bytes:
    """Turns as one export in JSON."""
    spans = [each for one in turns for each in one]
    return orjson.dumps(request(spans, "openinference.instrumentation.langchain"))


def arrive(store: Store, turns: Sequence[Sequence[Mapping[str, Any]]], received: float) -> None:
    """Store turns as received at this Unix time, and make rows of them."""
    batch = decode("traces", export(turns), True)
    assert not batch.rejected
    store.span_records.put(batch.spans, batch.logs, int(received * 1000))
    AssemblyJob(store.span_records, now=lambda: received).catch_up(everything=True)
