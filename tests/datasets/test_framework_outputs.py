"""What frameworks return, kept as rows of a file and returned by a function under `app=`."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ragassay.core import AppUsage, Context, Sample
from ragassay.datasets import open_rows
from ragassay.runs.application import read_answer
from support.rows import bad_rows, samples

QUESTION = "What is the refund window?"
ANSWER = "Refunds are possible within 30 days [1]."
PASSAGE = "Refunds within 30 days."
LANGCHAIN = {"page_content": PASSAGE, "metadata": {"source": "refunds.md"}, "type": "Document"}
HAYSTACK = {"id": "d0", "content": PASSAGE, "meta": {"file": "refunds.md"}, "score": 0.5}
BY_SOURCE = (Context(PASSAGE, "refunds.md"),)
BY_ID = (Context(PASSAGE, "d0", 0.5),)
TEXT_ONLY = (Context(PASSAGE),)

CALL = {"name": "search", "args": {"query": "refunds"}, "id": "c1"}
MESSAGES: list[dict[str, Any]] = [
    {"type": "human", "content": "Hello"},
    {"type": "ai", "content": "Hi."},
    {"type": "human", "content": QUESTION},
    {"type": "ai", "content": "", "tool_calls": [CALL]},
    {"type": "tool", "content": PASSAGE, "tool_call_id": "c1"},
    {"type": "ai", "content": ANSWER},
]


def _dumped(message: dict[str, Any]) -> dict[str, Any]:
    """As langchain_core.load.dumpd writes a message."""
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[message["type"]]
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message}


GENERATED = {"data": ANSWER, "query": QUESTION, "documents": [HAYSTACK], "meta": {}}
OUTPUTS: dict[str, tuple[dict[str, Any], tuple[Context, ...]]] = {
    "LangChain, RetrievalQA": (
        {"query": QUESTION, "result": ANSWER, "source_documents": [LANGCHAIN]},
        BY_SOURCE,
    ),
    "LangChain, a retrieval chain": (
        {"input": QUESTION, "context": [LANGCHAIN], "answer": ANSWER},
        BY_SOURCE,
    ),
    "LangChain, a conversational chain": (
        {
            "question": QUESTION,
            "chat_history": [],
            "answer": ANSWER,
            "source_documents": [LANGCHAIN],
        },
        BY_SOURCE,
    ),
    "Haystack, an answer builder": (
        {"answer_builder": {"answers": [GENERATED]}},
        BY_ID,
    ),
    "Haystack, an answer builder, by to_dict": (
        {
            "builder": {
                "answers": [
                    {
                        "type": "haystack.dataclasses.answer.GeneratedAnswer",
                        "init_parameters": GENERATED,
                    }
                ]
            },
        },
        BY_ID,
    ),
    "Haystack, retriever and generator": (
        {"question": QUESTION, "llm": {"replies": [ANSWER]}, "bm25": {"documents": [HAYSTACK]}},
        BY_ID,
    ),
    "Haystack, retriever, ranker and chat generator": (
        {
            "query": QUESTION,
            "retriever": {"documents": [{"id": "x", "content": "Other."}, HAYSTACK]},
            "ranker": {"documents": [HAYSTACK]},
            "llm": {
                "replies": [
                    {"role": "assistant", "content": [{"text": ANSWER}], "meta": {}, "name": None}
                ]
            },
        },
        BY_ID,
    ),
    "LangGraph": ({"messages": MESSAGES}, TEXT_ONLY),
    "LangGraph, by messages_to_dict": (
        {"messages": [{"type": m["type"], "data": m} for m in MESSAGES]},
        TEXT_ONLY,
    ),
    "LangGraph, by dumpd": ({"messages": [_dumped(m) for m in MESSAGES]}, TEXT_ONLY),
    "LangGraph, a tool with documents as its artifact": (
        {"messages": [*MESSAGES[:4], {**MESSAGES[4], "artifact": [LANGCHAIN]}, MESSAGES[5]]},
        BY_SOURCE,
    ),
    "messages in OpenAI's form": (
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "content": PASSAGE},
                {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
            ]
        },
        TEXT_ONLY,
    ),
    "LlamaIndex": (
        {
            "query": QUESTION,
            "response": ANSWER,
            "source_nodes": [{"node": {"id_": "d0", "text": PASSAGE}, "score": 0.5}],
        },
        BY_ID,
    ),
}


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_kept_as_a_row_is_read_whole(name, ending, tmp_path):
    row, contexts = OUTPUTS[name]
    path = tmp_path / f"rows.{ending}"
    path.write_text(json.dumps([row, row] if ending == "json" else row))
    read = samples(open_rows(path))[0]
    assert (read.question, read.response, read.contexts) == (QUESTION, ANSWER, contexts)


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_returned_by_the_application_is_read_the_same(name):
    returned, contexts = OUTPUTS[name]
    read = read_answer(Sample("a", QUESTION), returned)
    assert (read.response, read.contexts) == (ANSWER, contexts)


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("column", ["outputs", "output", "response"])
def test_an_output_inside_a_column_is_read_the_same(name, column):
    output, contexts = OUTPUTS[name]
    (read,) = samples(open_rows([{"id": "a", "question": QUESTION, column: output}]))
    assert (read.question, read.response, read.contexts) == (QUESTION, ANSWER, contexts)


def test_objects_are_read_as_their_fields_are():
    documents = [SimpleNamespace(**HAYSTACK)]
    built = SimpleNamespace(data=ANSWER, query=QUESTION, documents=documents)
    for returned in (
        {"answer_builder": {"answers": [built]}},
        {"retriever": {"documents": documents}, "llm": {"replies": [SimpleNamespace(text=ANSWER)]}},
    ):
        read = read_answer(Sample("a", QUESTION), returned)
        assert (read.response, read.contexts) == (ANSWER, BY_ID)
    messages = [SimpleNamespace(**{"tool_calls": [], **message}) for message in MESSAGES]
    read = read_answer(Sample("a", QUESTION), {"messages": messages})
    assert (read.response, read.contexts) == (ANSWER, TEXT_ONLY)


@pytest.mark.parametrize(
    ("output", "contexts"),
    [
        ({"raw_output": {"source_nodes": [{"node": {"id_": "d0", "text": PASSAGE}}]}}, "d0"),
        ({"raw_output": PASSAGE, "blocks": [{"block_type": "text", "text": PASSAGE}]}, None),
        ({"raw_output": PASSAGE, "content": PASSAGE}, None),
    ],
)
def test_an_agent_of_llamaindex_rests_on_what_its_tools_gave(output, contexts):
    calls = [{"tool_name": "look_up", "tool_output": output}]
    fields = {"response": SimpleNamespace(content=ANSWER), "tool_calls": calls}
    objects = [SimpleNamespace(tool_name="look_up", tool_output=SimpleNamespace(**output))]
    for returned in (fields, SimpleNamespace(**{**fields, "tool_calls": objects})):
        read = read_answer(Sample("a", QUESTION), returned)
        assert (read.response, read.contexts) == (ANSWER, (Context(PASSAGE, contexts),))


def test_calls_of_tools_without_results_are_no_contexts():
    for calls in ([], [CALL], [{"tool_name": "look_up", "tool_output": None}]):
        read = read_answer(Sample("a", QUESTION), {"response": ANSWER, "tool_calls": calls})
        assert (read.response, read.contexts) == (ANSWER, None)


def test_a_conversation_of_ragas_keeps_what_its_tools_gave():
    data = open_rows([{"user_input": MESSAGES, "reference": "30 days"}])
    (read,) = samples(data)
    assert (read.question, read.response, read.contexts) == (QUESTION, ANSWER, TEXT_ONLY)
    assert data.scan().lines[0] == "looks like Ragas rows"
    assert data.scan().notes == ("1 row has as contexts what tools gave in the conversation",)


def test_contexts_that_an_application_returns_under_an_unknown_name_are_an_error_of_the_row():
    returned = {"answer": ANSWER, "trace_id": "t-1", "kb_hits": [PASSAGE, "We sell good shoes."]}
    with pytest.raises(TypeError, match="keys answer, trace_id, kb_hits; kb_hits looks like"):
        read_answer(Sample("a", QUESTION), returned)
    # Where the row has contexts of its own, those are judged.
    assert read_answer(Sample("a", QUESTION, TEXT_ONLY), returned).contexts == TEXT_ONLY


LANGSMITH = {
    "a chain": ({"question": QUESTION}, {"answer": ANSWER, "documents": [LANGCHAIN]}),
    "a chain of LangChain": ({"input": QUESTION}, {"output": ANSWER, "context": [LANGCHAIN]}),
    "RetrievalQA": ({"query": QUESTION}, {"result": ANSWER, "source_documents": [LANGCHAIN]}),
    "an output that repeats its input": (
        {"input": QUESTION},
        {"input": QUESTION, "answer": ANSWER, "context": [LANGCHAIN]},
    ),
    "a wrapped output": ({"input": QUESTION}, {"output": {"answer": ANSWER, "docs": [LANGCHAIN]}}),
}


@pytest.mark.parametrize("name", LANGSMITH)
def test_a_run_of_langsmith_is_read_with_its_documents(name, tmp_path):
    inputs, outputs = LANGSMITH[name]
    run = {
        "id": "r1",
        "run_type": "chain",
        "inputs": inputs,
        "outputs": outputs,
        "reference_outputs": {"answer": "30 days"},
        "total_tokens": 7,
    }
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([run]))
    (read,) = samples(open_rows(path))
    assert (read.question, read.response, read.contexts) == (QUESTION, ANSWER, BY_SOURCE)
    assert (read.id, read.reference, read.usage) == ("r1", "30 days", AppUsage(total_tokens=7))


def test_a_run_of_a_graph_in_langsmith_is_read_from_its_messages():
    run = {
        "run_type": "chain",
        "inputs": {"messages": [{"role": "user", "content": QUESTION}]},
        "outputs": {"messages": MESSAGES},
    }
    (read,) = samples(open_rows([run]))
    assert (read.question, read.response, read.contexts) == (QUESTION, ANSWER, TEXT_ONLY)


def test_a_retriever_run_of_langsmith_has_contexts_and_no_response():
    run = {
        "run_type": "retriever",
        "inputs": {"query": QUESTION},
        "outputs": {"documents": [LANGCHAIN]},
    }
    (read,) = samples(open_rows([run]))
    assert (read.question, read.response, read.contexts) == (QUESTION, None, BY_SOURCE)


PROMPTFOO = {
    "promptIdx": 0,
    "testIdx": 0,
    "id": "p1",
    "promptId": "x",
    "provider": {"id": "openai:gpt-4o-mini", "label": ""},
    "prompt": {"raw": f"Answer from: {PASSAGE}\n{QUESTION}", "label": "qa"},
    "vars": {"question": QUESTION, "context": PASSAGE, "expected": "30 days"},
    "response": {
        "output": ANSWER,
        "tokenUsage": {"total": 51, "prompt": 42, "completion": 9},
        "cached": False,
    },
    "success": True,
    "score": 1,
    "latencyMs": 250,
    "cost": 0.01,
    "namedScores": {},
    "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed"},
}


def test_promptfoos_results_are_read_from_its_file(tmp_path):
    whole = {
        "evalId": "eval-1",
        "results": {"version": 3, "prompts": [], "results": [PROMPTFOO], "stats": {"successes": 1}},
        "config": {},
    }
    path = tmp_path / "output.json"
    for indent in (None, 2):
        path.write_text(json.dumps(whole, indent=indent))
        data = open_rows(path)
        (read,) = samples(data)
        assert (read.id, read.question, read.response) == ("p1", QUESTION, ANSWER)
        assert (read.contexts, read.reference) == (TEXT_ONLY, "30 days")
        assert read.usage == AppUsage(42, 9, 51, 0.01, 0.25)
        assert data.scan().lines[0] == "looks like promptfoo rows"


def test_contexts_that_promptfoos_provider_returned_go_before_those_of_the_test():
    response = {"output": ANSWER, "metadata": {"context": ["Returned."]}}
    (read,) = samples(open_rows([{**PROMPTFOO, "response": response}]))
    assert read.contexts == (Context("Returned."),)


USED = {"input_tokens": 240, "output_tokens": 48, "total_tokens": 288}
ASKED = {"input_tokens": 88, "output_tokens": 17, "total_tokens": 105}
EARLIER = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
SAYING_TOKENS: dict[str, tuple[dict[str, Any], AppUsage]] = {
    # The two replies since the user's last turn took 88 + 240 and 17 + 48 tokens.
    "LangGraph, a state": (
        {
            "messages": [
                *MESSAGES[:1],
                {**MESSAGES[1], "usage_metadata": EARLIER},
                MESSAGES[2],
                {**MESSAGES[3], "usage_metadata": ASKED},
                MESSAGES[4],
                {**MESSAGES[5], "usage_metadata": USED},
            ]
        },
        AppUsage(328, 65, None, None, None),
    ),
    "OpenAI, a response": (
        {
            "request": {"model": "m", "input": QUESTION},
            "response": {
                "object": "response",
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": ANSWER}],
                    }
                ],
                "usage": {**USED, "output_tokens_details": {"reasoning_tokens": 0}},
            },
        },
        AppUsage(240, 48, None, None, None),
    ),
    "OpenAI, a completion": (
        {
            "question": QUESTION,
            "response": {
                "choices": [{"message": {"role": "assistant", "content": ANSWER}}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
            },
        },
        AppUsage(12, 3, None, None, None),
    ),
}


@pytest.mark.parametrize(("row", "expected"), SAYING_TOKENS.values(), ids=SAYING_TOKENS)
def test_the_tokens_that_replies_say_are_the_usage_of_the_row(row, expected, tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    data = open_rows(path)
    (sample,) = data
    assert isinstance(sample, Sample)
    assert (sample.question, sample.response) == (QUESTION, ANSWER)
    assert sample.usage == expected
    # Requests and responses are logged by many: no tool is named for them.
    assert not any(line.startswith("looks like Databricks") for line in data.scan().lines)
    stated = {**row, "usage": {"input_tokens": 1, "output_tokens": 2}}
    path.write_text(json.dumps(stated) + "\n")
    (sample,) = open_rows(path)
    assert isinstance(sample, Sample)
    assert sample.usage == AppUsage(1, 2, None, None, None)


class Document:
    """A document as LangChain has it."""

    type = "Document"

    def __init__(self, text, **metadata):
        self.page_content, self.metadata, self.id = text, metadata, None


class HaystackDocument:
    def __init__(self, text, id, score):
        self.content, self.id, self.score, self.meta = text, id, score, {}


class TextNode:
    def __init__(self, text, id):
        self.text, self.node_id, self.metadata = text, id, {}


class ImageOfText:
    """A node whose text only a method gives."""

    def get_content(self):
        return "Ports."


class NodeWithScore:
    def __init__(self, node, score):
        self.node, self.score = node, score


DOCUMENT_OBJECTS = {
    "LangChain": ([Document("Ports.", source="a.md")], Context("Ports.", "a.md")),
    "LangChain with scores": ([(Document("Ports."), 0.5)], Context("Ports.", None, 0.5)),
    "Haystack": ([HaystackDocument("Ports.", "d1", 0.5)], Context("Ports.", "d1", 0.5)),
    "LlamaIndex": (
        [NodeWithScore(TextNode("Ports.", "n1"), 0.5)],
        Context("Ports.", "n1", 0.5),
    ),
    "a node alone": (TextNode("Ports.", "n1"), Context("Ports.", "n1")),
    "a method": ([NodeWithScore(ImageOfText(), 0.5)], Context("Ports.", None, 0.5)),
}


@pytest.mark.parametrize("name", DOCUMENT_OBJECTS)
@pytest.mark.parametrize("is_generator", [False, True], ids=["list", "generator"])
def test_documents_of_frameworks_are_read_as_contexts(name, is_generator):
    given, expected = DOCUMENT_OBJECTS[name]
    rows = [{"question": "What is on pages 2 and 3?", "contexts": given, "response": "Ports."}]
    (sample,) = samples(open_rows(iter(rows) if is_generator else rows))
    assert sample.contexts == (expected,)


def test_an_object_without_a_text_is_no_context_and_the_fix_is_in_python():
    rows = [{"question": "Q", "contexts": [object()], "response": "A"}]
    (bad,) = bad_rows(open_rows(rows))
    assert bad.what == "row 1: contexts[0] is a object, expected a text"
    assert bad.fix == "correct the row, or name another column: mapping={'FIELD': 'COLUMN'}"
