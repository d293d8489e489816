"""LangChain as its tutorials on retrieval build it: an in-memory vector store, its retriever, and
a chain that keeps the documents beside the answer.
"""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from frameworks.tutorials.library import PASSAGES

_PROMPT = ChatPromptTemplate.from_template("Use what is known.\n{context}\nQuestion: {question}")


def vector_store() -> Any:
    """The passages by their embeddings."""
    # Without the check it sends the text; with it, tokens of a vocabulary that it downloads.
    embeddings = OpenAIEmbeddings(model="mock", check_embedding_ctx_length=False)
    store = InMemoryVectorStore(embeddings)
    store.add_documents(
        [
            Document(id=name, page_content=text, metadata={"source": f"{name}.md"})
            for name, text in PASSAGES.items()
        ]
    )
    return store


def joined(documents: list[Document]) -> str:
    """The documents as a prompt has them."""
    return "\n\n".join(document.page_content for document in documents)


def chain_with_sources(question: str) -> Any:
    """The dict of a chain that returns its sources: context, question, answer."""
    retriever = vector_store().as_retriever(search_kwargs={"k": 2})
    generate = (
        RunnablePassthrough.assign(context=lambda given: joined(given["context"]))
        | _PROMPT
        | ChatOpenAI(model="mock", temperature=0)
        | StrOutputParser()
    )
    chain = RunnableParallel(context=retriever, question=RunnablePassthrough()).assign(
        answer=generate
    )
    return chain.invoke(question)


def chain_of_text(question: str) -> Any:
    """The text of the shortest chain, which keeps nothing of what it retrieved."""
    retriever = vector_store().as_retriever(search_kwargs={"k": 2})
    chain = (
        {"context": retriever | joined, "question": RunnablePassthrough()}
        | _PROMPT
        | ChatOpenAI(model="mock", temperature=0)
        | StrOutputParser()
    )
    return chain.invoke(question)
