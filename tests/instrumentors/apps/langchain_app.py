"""A RAG application on LangChain: a chain, and an agent that searches by a tool."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.checkpoint.memory import InMemorySaver

from instrumentors.apps.application import (
    KEY,
    MODEL,
    PROMPT,
    REWRITE,
    SYSTEM,
    Answer,
    Record,
    Telemetry,
    joined,
    main,
    record_genai_content,
)
from instrumentors.scenarios import PASSAGES, Turn


def instrument(name: str, telemetry: Telemetry) -> None:
    """One of the three instrumentors that there are for LangChain."""
    spans, logs, _ = telemetry
    if name == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=spans)
    elif name == "openllmetry":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor as OpenLLMetry

        OpenLLMetry().instrument(tracer_provider=spans)
    else:
        record_genai_content("EVENT_ONLY" if name == "genai-events" else "SPAN_ONLY")
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as GenAI

        GenAI().instrument(tracer_provider=spans, logger_provider=logs)


class Application:
    """Chains and an agent over one vector store. Its turns are one conversation."""

    def __init__(self, scenario: str, url: str) -> None:
        # OpenInference takes the thread for the session.
        self.conversation_config: Any = {"configurable": {"thread_id": scenario}}
        embeddings = OpenAIEmbeddings(
            base_url=url, api_key=KEY, model=MODEL, max_retries=0, check_embedding_ctx_length=False
        )
        store = InMemoryVectorStore(embeddings)
        documents = [
            Document(id=f"d{number}", page_content=text, metadata={"source": f"d{number}.md"})
            for number, text in enumerate(PASSAGES)
        ]
        store.add_documents(documents)
        self.retriever = store.as_retriever(search_kwargs={"k": 2})
        self.model = ChatOpenAI(
            base_url=url, api_key=KEY, model=MODEL, temperature=0, max_retries=0
        )
        self.history: list[BaseMessage] = []
        self.memory = InMemorySaver()

    def chain(self, record: Record) -> Runnable[Any, str]:
        """From a question to an answer."""
        prompt = ChatPromptTemplate.from_messages([("system", SYSTEM), ("human", "{question}")])
        return self._filled(prompt, record)

    def chain_of_one_message(self, record: Record) -> Runnable[Any, str]:
        """As `chain`, with the passages and the question in one message."""
        return self._filled(ChatPromptTemplate.from_template(PROMPT), record)

    def _filled(self, prompt: ChatPromptTemplate, record: Record) -> Runnable[Any, str]:
        given = {"context": self._search(record), "question": RunnablePassthrough()}
        return given | prompt | self.model | StrOutputParser()

    def conversation(self, record: Record) -> Runnable[Any, str]:
        """From a question and what was said before to an answer: a model writes the query."""
        before = MessagesPlaceholder("history")
        rewriting = ChatPromptTemplate.from_messages(
            [("system", REWRITE), before, ("human", "{question}")]
        )
        query = rewriting | self.model | StrOutputParser()
        answering = ChatPromptTemplate.from_messages(
            [("system", SYSTEM), before, ("human", "{question}")]
        )
        given = {
            "context": query | self._search(record),
            "question": itemgetter("question"),
            "history": itemgetter("history"),
        }
        return given | answering | self.model | StrOutputParser()

    def agent(self, record: Record) -> Any:
        """A model that searches as often as it likes."""

        @tool
        def search(query: str) -> str:
            """Search the passages about the town."""
            documents = self.retriever.invoke(query)
            return self._noted(record, documents)

        return create_agent(self.model, [search], checkpointer=self.memory)

    def _search(self, record: Record) -> Runnable[Any, str]:
        return self.retriever | (lambda documents: self._noted(record, documents))

    def _noted(self, record: Record, documents: list[Document]) -> str:
        texts = [document.page_content for document in documents]
        record.retrievals.append(texts)
        return joined(texts)

    def answer_in_conversation(self, turn: Turn, record: Record) -> str:
        given = {"question": turn.question, "history": list(self.history)}
        response = self.conversation(record).invoke(given)
        self.history += [HumanMessage(turn.question), AIMessage(response)]
        return response

    def answer_as_agent(self, turn: Turn, record: Record) -> str:
        messages = {"messages": [{"role": "user", "content": turn.question}]}
        result = self.agent(record).invoke(messages, self.conversation_config)
        return str(result["messages"][-1].content)


def start(scenario: str, url: str) -> Answer:
    application = Application(scenario, url)
    if scenario == "turns":
        return application.answer_in_conversation
    if scenario in ("agent", "agent with memory"):
        return application.answer_as_agent
    if scenario == "stream":
        return lambda turn, record: "".join(
            application.chain_of_one_message(record).stream(turn.question)
        )
    return lambda turn, record: application.chain(record).invoke(turn.question)


if __name__ == "__main__":
    main(start, instrument)
