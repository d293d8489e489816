"""A RAG application on Pydantic AI: an agent whose tool searches, in every scenario."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from instrumentors.apps.application import (
    KEY,
    MODEL,
    Answer,
    Embedder,
    Record,
    Telemetry,
    main,
)
from instrumentors.scenarios import Turn


def instrument(name: str, telemetry: Telemetry) -> None:
    settings = InstrumentationSettings(tracer_provider=telemetry.tracer_provider)
    Agent.instrument_all(settings)


class Application:
    """An agent over passages. Its turns are one conversation."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.passages = Embedder(url)
        self.history: list[ModelMessage] = []

    def agent(self, record: Record) -> Agent[None, str]:
        client = AsyncOpenAI(base_url=self.url, api_key=KEY, max_retries=0)
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        agent = Agent(model)

        @agent.tool_plain
        def search(query: str) -> list[dict[str, Any]]:
            """Search the passages about the town."""
            texts = self.passages.search(query)
            record.retrievals.append(texts)
            return [{"id": f"p-{len(text)}", "text": text} for text in texts]

        return agent

    def answer(self, turn: Turn, record: Record) -> str:
        result = self.agent(record).run_sync(turn.question, message_history=list(self.history))
        self.history = result.all_messages()
        return result.output

    def answer_as_stream(self, turn: Turn, record: Record) -> str:
        async def asked() -> str:
            async with self.agent(record).run_stream(turn.question) as result:
                return "".join([piece async for piece in result.stream_text(delta=True)])

        return asyncio.run(asked())


def start(scenario: str, url: str) -> Answer:
    application = Application(url)
    return application.answer_as_stream if scenario == "stream" else application.answer


if __name__ == "__main__":
    main(start, instrument)
