"""A pipeline of Haystack: retriever, prompt, generator, answer builder."""

from __future__ import annotations

import os
from typing import Any

from examples.frameworks.handbook import PASSAGES
from haystack import Document, Pipeline
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

TEMPLATE = """Answer from the passages.

{% for document in documents %}{{ document.content }}
{% endfor %}
{{ question }}"""


def pipeline() -> Any:
    """The pipeline over the passages."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=name, content=text) for name, text in PASSAGES.items()])
    built = Pipeline()
    built.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    prompt = ChatPromptBuilder(
        template=[ChatMessage.from_user(TEMPLATE)], required_variables=["documents", "question"]
    )
    built.add_component("prompt", prompt)
    generator = OpenAIChatGenerator(model="mock", api_base_url=os.environ["OPENAI_BASE_URL"])
    built.add_component("generator", generator)
    built.add_component("answer_builder", AnswerBuilder())
    built.connect("retriever.documents", "prompt.documents")
    built.connect("prompt.prompt", "generator.messages")
    built.connect("generator.replies", "answer_builder.replies")
    built.connect("retriever.documents", "answer_builder.documents")
    return built


def answer(question: str) -> Any:
    """The result of the pipeline, by component."""
    return pipeline().run(
        {
            "retriever": {"query": question},
            "prompt": {"question": question},
            "answer_builder": {"query": question},
        }
    )
