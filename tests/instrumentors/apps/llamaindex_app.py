"""A RAG application on LlamaIndex: a query engine, a chat engine, and an agent with a tool."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core import QueryBundle, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from instrumentors.apps.application import (
    KEY,
    MODEL,
    Answer,
    Embedder,
    Record,
    Telemetry,
    joined,
    main,
)
from instrumentors.scenarios import PASSAGES, Turn


def instrument(name: str, telemetry: Telemetry) -> None:
    LlamaIndexInstrumentor().instrument(tracer_provider=telemetry.tracer_provider)


class Embedding(BaseEmbedding):
    """The model's embeddings, as LlamaIndex asks for them."""

    url: str

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return Embedder(self.url).embed(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class NotingRetriever(VectorIndexRetriever):
    """Notes in the record of the turn what it finds."""

    record: Record

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes: list[NodeWithScore] = super()._retrieve(query_bundle)
        self.record.retrievals.append([node.get_content() for node in nodes])
        return nodes


class Application:
    """Engines over one index. Its turns are one conversation."""

    def __init__(self, url: str) -> None:
        self.model = OpenAILike(
            model=MODEL,
            api_base=url,
            api_key=KEY,
            max_retries=0,
            is_chat_model=True,
            is_function_calling_model=True,
        )
        nodes = [TextNode(id_=f"d{number}", text=text) for number, text in enumerate(PASSAGES)]
        embedding = Embedding(url=url, model_name=MODEL, embed_batch_size=len(PASSAGES))
        index = VectorStoreIndex(nodes, embed_model=embedding)
        self.retriever = NotingRetriever(index, similarity_top_k=2)
        self.memory = Memory.from_defaults(token_limit=4000)
        self.chat = CondensePlusContextChatEngine.from_defaults(self.retriever, llm=self.model)

    def answer(self, turn: Turn, record: Record) -> str:
        self.retriever.record = record
        engine = RetrieverQueryEngine.from_args(self.retriever, llm=self.model)
        return str(engine.query(turn.question))

    def answer_as_stream(self, turn: Turn, record: Record) -> str:
        self.retriever.record = record
        engine = RetrieverQueryEngine.from_args(self.retriever, llm=self.model, streaming=True)
        response: Any = engine.query(turn.question)
        return "".join(response.response_gen)

    def answer_in_conversation(self, turn: Turn, record: Record) -> str:
        self.retriever.record = record
        return str(self.chat.chat(turn.question))

    def answer_as_agent(self, turn: Turn, record: Record) -> str:
        self.retriever.record = record

        def search(query: str) -> str:
            """Search the passages about the town."""
            return joined([node.get_content() for node in self.retriever.retrieve(query)])

        async def asked() -> str:
            agent = FunctionAgent(tools=[search], llm=self.model)
            return str(await agent.run(turn.question, memory=self.memory))

        return asyncio.run(asked())


def start(scenario: str, url: str) -> Answer:
    application = Application(url)
    if scenario == "turns":
        return application.answer_in_conversation
    if scenario in ("agent", "agent with memory"):
        return application.answer_as_agent
    if scenario == "stream":
        return application.answer_as_stream
    return application.answer


if __name__ == "__main__":
    main(start, instrument)
