"""Traces of an application that has no tracing: three decorators, and turns of a conversation.

    @ragassay.retriever
    def retrieve(question): ...

    @ragassay.generator
    def generate(question, contexts): ...

    @ragassay.trace
    def answer(question): ...

    with ragassay.turn(session="anna-7"):
        answer("When did the bridge open?")

They take functions, coroutine functions and generators of both kinds, and write spans of
OpenInference: through OpenTelemetry where the application has configured it, to the collector that
OTEL_EXPORTER_OTLP_ENDPOINT names, else to a file that `ragassay evaluate` reads. They never raise
into the application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.instrument.decorators import generator, retriever, trace
    from ragassay.instrument.sink import flush, lost_spans, traces_file
    from ragassay.instrument.turns import Turn, turn
    from ragassay.instrument.usage import note_usage

__all__ = [
    "Turn",
    "flush",
    "generator",
    "lost_spans",
    "note_usage",
    "retriever",
    "trace",
    "traces_file",
    "turn",
]

__getattr__ = lazy_names(
    __name__,
    {
        "decorators": ("generator", "retriever", "trace"),
        "sink": ("flush", "lost_spans", "traces_file"),
        "turns": ("Turn", "turn"),
        "usage": ("note_usage",),
    },
)
