"""LangGraph as the tutorials build it: two steps over a state of their own, a conversation in which
the model may search, and the graph that grades what it found and asks again.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.tools import create_retriever_tool, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from frameworks.tutorials.langchain_tutorials import joined, vector_store
from frameworks.tutorials.library import GRADE, REWRITE


class State(TypedDict):
    """What goes from step to step."""

    question: str
    context: list[Document]
    answer: str


class Verdict(BaseModel):
    """Whether a passage helps."""

    verdict: Literal["yes", "no"] = Field(description="yes where it helps")


def _model() -> Any:
    return ChatOpenAI(model="mock", temperature=0)


def two_steps(question: str) -> Any:
    """The state of a graph that retrieves and generates: question, context, answer."""

    def retrieve(state: State) -> dict[str, Any]:
        return {"context": vector_store().similarity_search(state["question"], k=2)}

    def generate(state: State) -> dict[str, Any]:
        said = _model().invoke(f"{joined(state['context'])}\n\n{state['question']}")
        return {"answer": said.content}

    graph = StateGraph(State).add_sequence([retrieve, generate])
    graph.add_edge(START, "retrieve")
    return graph.compile().invoke({"question": question})


def conversation(question: str) -> Any:
    """The messages of a graph whose tool gives text for the model and documents beside it."""

    @tool(response_format="content_and_artifact")
    def look_up(query: str) -> tuple[str, list[Document]]:
        """What the library's handbook says."""
        documents = vector_store().similarity_search(query, k=2)
        return joined(documents), documents

    def query_or_respond(state: MessagesState) -> dict[str, Any]:
        return {"messages": [_model().bind_tools([look_up]).invoke(state["messages"])]}

    def generate(state: MessagesState) -> dict[str, Any]:
        asked, _, found = state["messages"][-3:]
        return {"messages": [_model().invoke(f"{found.content}\n\n{asked.content}")]}

    graph = StateGraph(MessagesState)
    graph.add_node(query_or_respond)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_node(generate)
    graph.add_edge(START, "query_or_respond")
    graph.add_conditional_edges("query_or_respond", tools_condition, {END: END, "tools": "tools"})
    graph.add_edge("tools", "generate")
    graph.add_edge("generate", END)
    return graph.compile().invoke({"messages": [HumanMessage(question)]})


def agentic(question: str) -> Any:
    """The messages of a graph that grades what the tool gave, and has the question put in other
    words where it does not help. The tool gives nothing but text.
    """
    retriever = vector_store().as_retriever(search_kwargs={"k": 1})
    look_up = create_retriever_tool(retriever, "look_up", "What the library's handbook says.")

    def query_or_respond(state: MessagesState) -> dict[str, Any]:
        return {"messages": [_model().bind_tools([look_up]).invoke(state["messages"])]}

    def grade(state: MessagesState) -> Literal["answer", "rewrite"]:
        prompt = f"{GRADE}\n{state['messages'][-1].content}\n{state['messages'][-3].content}"
        said = _model().with_structured_output(Verdict).invoke(prompt)
        return "answer" if said.verdict == "yes" else "rewrite"

    def rewrite(state: MessagesState) -> dict[str, Any]:
        said = _model().invoke(f"{REWRITE}\n{state['messages'][0].content}")
        return {"messages": [HumanMessage(said.content)]}

    def answer(state: MessagesState) -> dict[str, Any]:
        found = state["messages"][-1].content
        return {"messages": [_model().invoke(f"{found}\n\n{state['messages'][0].content}")]}

    graph = StateGraph(MessagesState)
    graph.add_node(query_or_respond)
    graph.add_node("retrieve", ToolNode([look_up]))
    graph.add_node(rewrite)
    graph.add_node(answer)
    graph.add_edge(START, "query_or_respond")
    graph.add_conditional_edges(
        "query_or_respond", tools_condition, {END: END, "tools": "retrieve"}
    )
    graph.add_conditional_edges("retrieve", grade)
    graph.add_edge("rewrite", "query_or_respond")
    graph.add_edge("answer", END)
    return graph.compile().invoke({"messages": [{"role": "user", "content": question}]})
