"""LlamaIndex as its starter tutorials build it: the query engine and the chat engine of a vector
index, and an agent with a search tool.
"""

from __future__ import annotations

import os
from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.tools import QueryEngineTool
from llama_index.llms.openai_like import OpenAILike
from openai import OpenAI

from frameworks.tutorials.library import PASSAGES


class _Embeddings(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        given = OpenAI().embeddings.create(model="mock", input=text, encoding_format="float")
        return list(given.data[0].embedding)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def _model() -> Any:
    return OpenAILike(
        model="mock",
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        is_function_calling_model=True,
    )


def _index() -> Any:
    documents = [Document(doc_id=name, text=text) for name, text in PASSAGES.items()]
    return VectorStoreIndex.from_documents(documents, embed_model=_Embeddings())


def query_engine(question: str) -> Any:
    """The Response of a query engine, with its source nodes."""
    return _index().as_query_engine(llm=_model(), similarity_top_k=2).query(question)


async def streaming_engine(question: str) -> Any:
    """The response of an engine that streams, once all of it is there."""
    engine = _index().as_query_engine(llm=_model(), similarity_top_k=2, streaming=True)
    response = engine.query(question)
    return response.get_response()


def chat_engine(question: str) -> Any:
    """What a chat engine says that puts what it found before the conversation."""
    engine = _index().as_chat_engine(chat_mode="context", llm=_model(), similarity_top_k=2)
    return engine.chat(question)


async def agent(question: str) -> Any:
    """The output of an agent, whose tool is the query engine."""
    engine = _index().as_query_engine(llm=_model(), similarity_top_k=2)
    tool = QueryEngineTool.from_defaults(
        engine, name="look_up", description="What the library's handbook says."
    )
    return await FunctionAgent(tools=[tool], llm=_model(), streaming=False).run(question)


async def agent_of_text(question: str) -> Any:
    """The output of an agent whose tool is a function that gives text."""
    retriever = _index().as_retriever(similarity_top_k=1)

    async def look_up(query: str) -> str:
        """What the library's handbook says."""
        return "\n".join(node.get_content() for node in retriever.retrieve(query))

    return await FunctionAgent(tools=[look_up], llm=_model(), streaming=False).run(question)
