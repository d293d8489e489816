"""A retrieval chain of LangChain."""

from __future__ import annotations

from typing import Any

from examples.frameworks.handbook import search
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_openai import ChatOpenAI

PROMPT = ChatPromptTemplate.from_template("Answer from the passages.\n\n{passages}\n\n{input}")


def retrieve(inputs: dict[str, Any]) -> list[Document]:
    """The passages for the question, as documents."""
    return [
        Document(page_content=text, id=name, metadata={"source": name})
        for name, text, _ in search(inputs["input"])
    ]


def passages(inputs: dict[str, Any]) -> str:
    """The documents as the prompt has them."""
    return "\n".join(document.page_content for document in inputs["context"])


def answer(question: str) -> Any:
    """The dict of the chain: input, context, answer."""
    model = ChatOpenAI(model="mock", temperature=0)
    generate = RunnablePassthrough.assign(passages=RunnableLambda(passages)) | PROMPT | model
    chain = RunnablePassthrough.assign(context=RunnableLambda(retrieve)).assign(
        answer=generate | StrOutputParser()
    )
    return chain.invoke({"input": question})
