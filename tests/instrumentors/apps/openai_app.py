"""A RAG application on openai's client alone, with a span of OpenTelemetry around each turn."""

from __future__ import annotations

import json
from typing import Any

from openai import OpenAI
from opentelemetry import trace

from instrumentors.apps.application import (
    KEY,
    MODEL,
    REWRITE,
    SYSTEM,
    Answer,
    Embedder,
    Record,
    Telemetry,
    joined,
    main,
    record_genai_content,
)
from instrumentors.scenarios import Turn

_SEARCH = {
    "name": "search",
    "description": "Search the passages about the town.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
}
_TOOLS: Any = [{"type": "function", "function": _SEARCH}]


def instrument(name: str, telemetry: Telemetry) -> None:
    """One of the two instrumentors."""
    spans, logs, _ = telemetry
    if name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=spans)
    else:
        record_genai_content()
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as GenAI

        GenAI().instrument(tracer_provider=spans, logger_provider=logs)


class Application:
    """Calls of the client. Its turns are one conversation."""

    def __init__(self, url: str) -> None:
        self.client = OpenAI(base_url=url, api_key=KEY, max_retries=0)
        self.passages = Embedder(url)
        self.history: list[Any] = []

    def search(self, query: str, record: Record) -> str:
        texts = self.passages.search(query)
        record.retrievals.append(texts)
        return joined(texts)

    def ask(self, system: str, question: str) -> str:
        said = [{"role": "system", "content": system}, *self.history, _user(question)]
        completion = self.client.chat.completions.create(model=MODEL, messages=said)
        return str(completion.choices[0].message.content)

    def answer(self, turn: Turn, record: Record) -> str:
        context = self.search(turn.question, record)
        return self.ask(SYSTEM.format(context=context), turn.question)

    def answer_as_stream(self, turn: Turn, record: Record) -> str:
        system = SYSTEM.format(context=self.search(turn.question, record))
        said: Any = [{"role": "system", "content": system}, _user(turn.question)]
        pieces = self.client.chat.completions.create(model=MODEL, messages=said, stream=True)
        return "".join(piece.choices[0].delta.content or "" for piece in pieces)

    def answer_in_conversation(self, turn: Turn, record: Record) -> str:
        query = self.ask(REWRITE, turn.question)
        context = self.search(query, record)
        response = self.ask(SYSTEM.format(context=context), turn.question)
        self.history += [_user(turn.question), {"role": "assistant", "content": response}]
        return response

    def answer_as_agent(self, turn: Turn, record: Record) -> str:
        said = self.history
        said.append(_user(turn.question))
        while True:
            completion = self.client.chat.completions.create(
                model=MODEL, messages=said, tools=_TOOLS
            )
            message: Any = completion.choices[0].message
            said.append(message)
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                found = self.search(json.loads(call.function.arguments)["query"], record)
                said.append({"role": "tool", "tool_call_id": call.id, "content": found})


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def in_a_span(answer: Answer) -> Answer:
    """As the instrumentor of a web framework does: a span that knows nothing of what was asked."""

    def answered(turn: Turn, record: Record) -> str:
        with trace.get_tracer("town").start_as_current_span("POST /chat"):
            return answer(turn, record)

    return answered


def start(scenario: str, url: str) -> Answer:
    application = Application(url)
    if scenario == "turns":
        return in_a_span(application.answer_in_conversation)
    if scenario in ("agent", "agent with memory"):
        return in_a_span(application.answer_as_agent)
    if scenario == "stream":
        return in_a_span(application.answer_as_stream)
    return in_a_span(application.answer)


if __name__ == "__main__":
    main(start, instrument)
