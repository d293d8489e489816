"""A graph of LangGraph that asks a tool for passages and a model for the answer."""

from __future__ import annotations

from typing import Any

from examples.frameworks.handbook import search
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool(response_format="content_and_artifact")
def handbook(query: str) -> tuple[str, list[Document]]:
    """Passages of the handbook."""
    documents = [
        Document(page_content=text, id=name, metadata={"source": name})
        for name, text, _ in search(query)
    ]
    return "\n".join(document.page_content for document in documents), documents


def ask_tool(state: MessagesState) -> dict[str, Any]:
    """The call of the tool, which here always comes first."""
    call = {"name": "handbook", "args": {"query": state["messages"][-1].content}, "id": "1"}
    return {"messages": [AIMessage(content="", tool_calls=[call])]}


def generate(state: MessagesState) -> dict[str, Any]:
    """The answer from what the tool gave."""
    question, _, passages = state["messages"][-3:]
    prompt = f"Answer from the passages.\n\n{passages.content}\n\n{question.content}"
    return {"messages": [ChatOpenAI(model="mock", temperature=0).invoke(prompt)]}


def answer(question: str) -> Any:
    """The state of the graph at its end."""
    graph = StateGraph(MessagesState)
    graph.add_node("ask_tool", ask_tool)
    graph.add_node("tools", ToolNode([handbook]))
    graph.add_node("generate", generate)
    graph.add_edge(START, "ask_tool")
    graph.add_edge("ask_tool", "tools")
    graph.add_edge("tools", "generate")
    graph.add_edge("generate", END)
    return graph.compile().invoke({"messages": [HumanMessage(question)]})
