"""What every application here has: where its spans go, its arguments, and its own record of each
turn, which the rows are compared with.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from openai import OpenAI
from opentelemetry import _logs, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from instrumentors.scenarios import PASSAGES, SCENARIOS, Turn

SYSTEM = "Answer from the passages only.\n\n{context}"
PROMPT = "Answer from the passages only.\n\n{context}\n\nQuestion: {question}"
REWRITE = "Write the last message as a standalone question."
KEY = "none"
MODEL = "scripted"


@dataclass
class Record:
    """What the application saw of one turn. retrievals: the texts of each, in order. response: None
    where the turn failed.
    """

    question: str
    retrievals: list[list[str]] = field(default_factory=list)
    response: str | None = None
    error: str | None = None


class Embedder:
    """A search over the passages for what brings none, by the model's embeddings."""

    def __init__(self, url: str) -> None:
        self._client = OpenAI(base_url=url, api_key=KEY, max_retries=0)
        self._known: list[tuple[str, list[float]]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of some texts, by one request."""
        reply = self._client.embeddings.create(model=MODEL, input=list(texts))
        return [list(each.embedding) for each in reply.data]

    def search(self, query: str) -> list[str]:
        """The two passages that are nearest."""
        if not self._known:
            self._known = list(zip(PASSAGES, self.embed(PASSAGES), strict=True))
        (wanted,) = self.embed([query])
        by_distance = sorted(self._known, key=lambda known: -_product(known[1], wanted))
        return [text for text, _ in by_distance[:2]]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


class Session(SpanProcessor):
    """Writes the session on each span, as applications do that know their users' conversations:
    here, the scenario.
    """

    name = ""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        span.set_attribute("session.id", self.name)


class Telemetry(NamedTuple):
    """Where spans and log records go: the collector that the environment names."""

    tracer_provider: TracerProvider
    logger_provider: LoggerProvider
    session: Session


def set_up_telemetry() -> Telemetry:
    """As an application does: batches, over HTTP, to OTEL_EXPORTER_OTLP_ENDPOINT."""
    spans, logs, session = TracerProvider(), LoggerProvider(), Session()
    spans.add_span_processor(session)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(spans)
    _logs.set_logger_provider(logs)
    return Telemetry(spans, logs, session)


def record_genai_content(where: str = "SPAN_ONLY") -> None:
    """Have the instrumentors of OpenTelemetry GenAI write texts, which they leave out by default;
    to be called before they are imported.
    """
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = where


Answer = Callable[[Turn, Record], str]
"""Answers a turn, and notes in the record what it retrieves on the way."""


def main(start: Callable[[str, str], Answer], instrument: Callable[[str, Telemetry], None]) -> None:
    """Run INSTRUMENTOR MODEL_URL SCENARIO..., and print the records of each scenario as JSON.

    start: a new application, given the scenario and the model's address.
    """
    instrumentor, url, *scenarios = sys.argv[1:]
    telemetry = set_up_telemetry()
    instrument(instrumentor, telemetry)
    records: dict[str, list[dict[str, Any]]] = {}
    for scenario in scenarios:
        telemetry.session.name = scenario
        answer = start(scenario, url)
        records[scenario] = [asdict(record) for record in run(answer, SCENARIOS[scenario])]
    telemetry.tracer_provider.shutdown()
    telemetry.logger_provider.shutdown()
    print(json.dumps(records))


def run(answer: Answer, turns: Sequence[Turn]) -> list[Record]:
    """The record of each turn, of a failed one with its error."""
    records: list[Record] = []
    for turn in turns:
        record = Record(turn.question)
        records.append(record)
        try:
            record.response = answer(turn, record)
        except Exception as error:
            if not turn.fails:
                raise
            record.error = str(error)
    return records


def joined(passages: Sequence[str]) -> str:
    """Passages as they stand in a prompt."""
    return "\n\n".join(passages)
