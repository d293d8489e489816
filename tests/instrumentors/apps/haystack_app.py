"""A RAG application on Haystack: pipelines, and an agent with a tool."""

from __future__ import annotations

from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.converters import OutputAdapter
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import tool
from haystack.utils import Secret
from openinference.instrumentation.haystack import HaystackInstrumentor

from instrumentors.apps.application import (
    KEY,
    MODEL,
    REWRITE,
    Answer,
    Record,
    Telemetry,
    joined,
    main,
)
from instrumentors.scenarios import PASSAGES, Turn

_PASSAGES = "{% for document in documents %}{{ document.content }}\n\n{% endfor %}"
_SYSTEM = f"Answer from the passages only.\n\n{_PASSAGES}"
_PROMPT = f"{_SYSTEM}Question: {{{{ question }}}}"


def instrument(name: str, telemetry: Telemetry) -> None:
    HaystackInstrumentor().instrument(tracer_provider=telemetry.tracer_provider)


@component
class Noting:
    """A step of a pipeline that notes what was found, and passes it on."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        self.record.retrievals.append([str(document.content) for document in documents])
        return {"documents": documents}


class Application:
    """Pipelines over one document store. Its turns are one conversation."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        documents = [
            Document(id=f"d{number}", content=text) for number, text in enumerate(PASSAGES)
        ]
        embedder = OpenAIDocumentEmbedder(
            api_key=Secret.from_token(KEY), model=MODEL, api_base_url=url, progress_bar=False
        )
        self.store.write_documents(embedder.run(documents)["documents"])
        self.history: list[ChatMessage] = []
        self.pieces: list[str] = []

    def generator(self, is_stream: bool = False) -> OpenAIChatGenerator:
        def note(chunk: StreamingChunk) -> None:
            self.pieces.append(chunk.content)

        return OpenAIChatGenerator(
            api_key=Secret.from_token(KEY),
            model=MODEL,
            api_base_url=self.url,
            max_retries=0,
            streaming_callback=note if is_stream else None,
        )

    def retrieval(self, record: Record) -> Pipeline:
        """From a text to documents."""
        pipeline = Pipeline()
        embedder = OpenAITextEmbedder(
            api_key=Secret.from_token(KEY), model=MODEL, api_base_url=self.url, max_retries=0
        )
        pipeline.add_component("embedder", embedder)
        pipeline.add_component("retriever", InMemoryEmbeddingRetriever(self.store, top_k=2))
        pipeline.add_component("noting", Noting(record))
        pipeline.connect("embedder.embedding", "retriever.query_embedding")
        pipeline.connect("retriever.documents", "noting.documents")
        return pipeline

    def template(self) -> list[ChatMessage]:
        """The prompt, after what was said before."""
        asked = ChatMessage.from_user("{{ question }}")
        return [ChatMessage.from_system(_SYSTEM), *self.history, asked]

    def answering(
        self, record: Record, template: list[ChatMessage], is_stream: bool = False
    ) -> Pipeline:
        """From a question to an answer."""
        pipeline = self.retrieval(record)
        prompt = ChatPromptBuilder(template, required_variables=["documents", "question"])
        pipeline.add_component("prompt", prompt)
        pipeline.add_component("model", self.generator(is_stream))
        pipeline.connect("noting.documents", "prompt.documents")
        pipeline.connect("prompt.prompt", "model.messages")
        return pipeline

    def conversation(self, record: Record) -> Pipeline:
        """As `answering`, where a model writes the query."""
        template = [
            ChatMessage.from_system(REWRITE),
            *self.history,
            ChatMessage.from_user("{{ question }}"),
        ]
        pipeline = self.answering(record, self.template())
        rewriting = ChatPromptBuilder(template, required_variables=["question"])
        pipeline.add_component("rewriting", rewriting)
        pipeline.add_component("rewriter", self.generator())
        pipeline.add_component("query", OutputAdapter("{{ replies[0].text }}", output_type=str))
        pipeline.connect("rewriting.prompt", "rewriter.messages")
        pipeline.connect("rewriter.replies", "query.replies")
        pipeline.connect("query.output", "embedder.text")
        return pipeline

    def answer(self, turn: Turn, record: Record) -> str:
        given = {"embedder": {"text": turn.question}, "prompt": {"question": turn.question}}
        template = [ChatMessage.from_user(_PROMPT)]
        return str(self.answering(record, template).run(given)["model"]["replies"][0].text)

    def answer_as_stream(self, turn: Turn, record: Record) -> str:
        given = {"embedder": {"text": turn.question}, "prompt": {"question": turn.question}}
        self.pieces.clear()
        self.answering(record, self.template(), is_stream=True).run(given)
        return "".join(self.pieces)

    def answer_in_conversation(self, turn: Turn, record: Record) -> str:
        given = {"rewriting": {"question": turn.question}, "prompt": {"question": turn.question}}
        result = self.conversation(record).run(given)
        response = str(result["model"]["replies"][0].text)
        self.history += [ChatMessage.from_user(turn.question), ChatMessage.from_assistant(response)]
        return response

    def answer_as_agent(self, turn: Turn, record: Record) -> str:
        retrieval = self.retrieval(record)

        @tool
        def search(query: str) -> str:
            """Search the passages about the town."""
            documents = retrieval.run({"embedder": {"text": query}})["noting"]["documents"]
            return joined([document.content for document in documents])

        agent = Agent(chat_generator=self.generator(), tools=[search])
        result = agent.run(messages=[*self.history, ChatMessage.from_user(turn.question)])
        self.history = result["messages"]
        return str(result["messages"][-1].text)


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
