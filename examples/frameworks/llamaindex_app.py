"""A query engine of LlamaIndex."""

from __future__ import annotations

import os
from typing import Any

from examples.frameworks.handbook import search
from llama_index.core import PromptTemplate, QueryBundle
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai_like import OpenAILike

PROMPT = PromptTemplate("Answer from the passages.\n\n{context_str}\n\n{query_str}")


class Handbook(BaseRetriever):
    """The passages for the question, as nodes."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=name, text=text), score=score)
            for name, text, score in search(query_bundle.query_str)
        ]


def answer(question: str) -> Any:
    """The Response of the engine, with its source nodes."""
    model = OpenAILike(
        model="mock",
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
    )
    engine = RetrieverQueryEngine.from_args(Handbook(), llm=model, text_qa_template=PROMPT)
    return engine.query(question)
