"""Haystack as its first steps and its first tutorial build it: no builder of answers, so that the
replies of the generator are the answer.
"""

from __future__ import annotations

import os
from typing import Any

from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from frameworks.tutorials.library import PASSAGES

_TEMPLATE = [
    ChatMessage.from_system("You know the handbook of a library."),
    ChatMessage.from_user(
        "{% for document in documents %}{{ document.content }}\n{% endfor %}{{ question }}"
    ),
]


def _documents() -> list[Document]:
    return [
        Document(id=name, content=text, meta={"source": f"{name}.md"})
        for name, text in PASSAGES.items()
    ]


def _with_generator(pipeline: Any) -> Any:
    prompt = ChatPromptBuilder(template=_TEMPLATE, required_variables=["documents", "question"])
    pipeline.add_component("prompt_builder", prompt)
    model = OpenAIChatGenerator(model="mock", api_base_url=os.environ["OPENAI_BASE_URL"])
    pipeline.add_component("llm", model)
    pipeline.connect("retriever.documents", "prompt_builder.documents")
    pipeline.connect("prompt_builder.prompt", "llm.messages")
    return pipeline


def _keywords() -> Any:
    store = InMemoryDocumentStore()
    store.write_documents(_documents())
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(document_store=store, top_k=2))
    return _with_generator(pipeline)


def replies_only(question: str) -> Any:
    """The result as the first steps have it: of the last component only."""
    asked = {"retriever": {"query": question}, "prompt_builder": {"question": question}}
    return _keywords().run(asked)


def replies_and_documents(question: str) -> Any:
    """The same with the retriever's output included."""
    asked = {"retriever": {"query": question}, "prompt_builder": {"question": question}}
    return _keywords().run(asked, include_outputs_from={"retriever"})


def embedded(question: str) -> Any:
    """The result of the first tutorial: embeddings of question and documents."""
    url = os.environ["OPENAI_BASE_URL"]
    store = InMemoryDocumentStore()
    embedder = OpenAIDocumentEmbedder(model="mock", api_base_url=url, progress_bar=False)
    store.write_documents(embedder.run(_documents())["documents"])
    pipeline = Pipeline()
    pipeline.add_component("text_embedder", OpenAITextEmbedder(model="mock", api_base_url=url))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=2))
    _with_generator(pipeline)
    pipeline.connect("text_embedder.embedding", "retriever.query_embedding")
    asked = {"text_embedder": {"text": question}, "prompt_builder": {"question": question}}
    return pipeline.run(asked, include_outputs_from={"retriever"})
