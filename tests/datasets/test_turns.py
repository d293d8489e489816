"""Turns of users out of spans: recorded ones of real instrumentors, and the rules one by one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.datasets.spans import remedy
from ragassay.datasets.spans.logged import add_logged_content
from ragassay.datasets.spans.names import is_read
from ragassay.datasets.spans.rows import Assembly, TurnRow, rows_of_trace
from support import recorded_spans
from support.otlp_json import openinference_spans, span

TRACE = "5b8efff798038103d269b633813fc60c"
KIND = "openinference.span.kind"
OPERATION = "gen_ai.operation.name"

ANSWER = "Refunds are possible within 30 days [1]."
REFUND, SHIPPING = "Refunds within 30 days.", "Shipping costs 5 EUR."
SHOES, SUPPORT = "We sell shoes.", "Contact support by mail."
WINDOW, STREAMED = "What is the refund window?", "Streamed: refund window?"
BOTH = "Refund window and shipping cost?"
PLAIN_CHUNKS, STREAMED_CHUNKS = [SHOES, REFUND, SHIPPING], [SUPPORT, REFUND, SHIPPING]
AGENT_CHUNKS = [SHIPPING, SHOES, SUPPORT]


def _joined(chunks: list[str]) -> list[str]:
    return ["\n".join(chunks)]


# What each application was asked and answered, and what its retriever gave, in its own order. None:
# the spans do not hold it. Written from the applications' code, not from their rows.
ORACLE: dict[str, list[tuple[str, str, list[str] | None]]] = {
    "lc-oi": [
        (WINDOW, ANSWER, PLAIN_CHUNKS),
        (STREAMED, f"{ANSWER} ", STREAMED_CHUNKS),
        (BOTH, ANSWER, AGENT_CHUNKS),
    ],
    "lc-ollm": [
        (WINDOW, ANSWER, PLAIN_CHUNKS),
        (STREAMED, f"{ANSWER} ", STREAMED_CHUNKS),
        (BOTH, ANSWER, AGENT_CHUNKS),
    ],
    # Ids without texts: the prompt's variable has the texts of the chain, the tool's result those
    # of the agent. With content in spans, then in log records.
    "lc-genai": [
        (WINDOW, ANSWER, _joined(PLAIN_CHUNKS)),
        (STREAMED, f"{ANSWER} ", _joined(STREAMED_CHUNKS)),
        (BOTH, ANSWER, [*_joined(AGENT_CHUNKS), *_joined([SHOES, SHIPPING, SUPPORT])]),
    ]
    * 2,
    "haystack": [("refund window?", ANSWER, [])],
    "llamaindex": [
        ("refund window?", ANSWER, [SHIPPING, REFUND]),
        ("first turn: refund window?", ANSWER, [SHIPPING, REFUND]),
        ("and shipping?", ANSWER, [SHIPPING, REFUND]),
    ],
    "pydanticai": [("Refund window and shipping?", ANSWER, [REFUND, SHIPPING])],
    "openai-genai": [
        ("refund window?", ANSWER, None),
        ("refund window?", f"{ANSWER} ", None),
    ],
    "openai-oi": [
        ("refund window?", ANSWER, None),
        ("refund window?", f"{ANSWER} ", None),
    ],
}


def texts(row: TurnRow) -> list[str] | None:
    """The texts of a row's contexts."""
    if row.turn.contexts is None:
        return None
    found: list[str] = []
    for context in row.turn.contexts:
        named = context if isinstance(context, dict) else {"text": context}
        keys = ("text", "page_content", "document.content", "content")
        found.append(next(named[key] for key in keys if key in named))
    return found


@pytest.mark.skipif(not recorded_spans.FOLDER.is_dir(), reason="the recorded spans are not here")
def test_every_recorded_turn_has_what_its_application_was_asked_answered_and_retrieved() -> None:
    traces, logs = recorded_spans.recorded()
    add_logged_content(traces, logs)
    rows: dict[str, list[tuple[str | None, str | None, list[str] | None]]] = {}
    for trace, spans in traces.items():
        for row in rows_of_trace(trace, spans):
            found = (row.turn.question, row.turn.response, texts(row))
            rows.setdefault(spans[0]["service"], []).append(found)
    # Nothing is missing and nothing invented: no row of indexing or of embeddings.
    assert rows == ORACLE


@pytest.mark.skipif(not recorded_spans.FOLDER.is_dir(), reason="the recorded spans are not here")
@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_order_of_arrival_gives_the_same_rows(chance: Any) -> None:
    traces, logs = recorded_spans.recorded()
    add_logged_content(traces, logs)
    for trace, spans in traces.items():
        wanted = rows_of_trace(trace, spans)
        # Spans may also be sent twice.
        shuffled = [*spans, *chance.sample(spans, k=len(spans) // 3)]
        chance.shuffle(shuffled)
        assert rows_of_trace(trace, shuffled) == wanted


@pytest.mark.skipif(not recorded_spans.FOLDER.is_dir(), reason="the recorded spans are not here")
def test_attributes_that_the_table_of_names_does_not_have_change_no_row() -> None:
    traces, logs = recorded_spans.recorded()
    add_logged_content(traces, logs)
    left_out = 0
    for trace, spans in traces.items():
        read = []
        for each in spans:
            attributes = {
                name: value for name, value in each["attributes"].items() if is_read(name)
            }
            left_out += len(each["attributes"]) - len(attributes)
            read.append({**each, "attributes": attributes})
        assert rows_of_trace(trace, read) == rows_of_trace(trace, spans)
    assert left_out > 500


@pytest.mark.timing
@pytest.mark.skipif(not recorded_spans.FOLDER.is_dir(), reason="the recorded spans are not here")
def test_at_least_3000_spans_a_second_are_put_together() -> None:
    traces, _ = recorded_spans.recorded()
    began = time.process_time()
    count = 0
    for _ in range(10):
        for trace, spans in traces.items():
            count += len(spans)
            rows_of_trace(trace, spans)
    assert count / (time.process_time() - began) > 3000


def only(spans: list[dict[str, Any]]) -> TurnRow:
    (row,) = rows_of_trace(TRACE, spans)
    return row


def test_the_retrievals_of_an_agent_are_one_list_in_order_with_each_document_once() -> None:
    row = only(openinference_spans("Q?", "A", [("one", ["a", "b"]), ("two", ["b", "c"])]))
    assert texts(row) == ["a", "b", "c"]
    # Each keeps its own query.
    assert [each.query for each in row.turn.retrievals] == ["one", "two"]
    assert row.turn.sources == {
        "question": "input.value of the root",
        "response": "output.value of the root",
        "contexts": "documents of 2 retrievals",
    }


def test_what_a_user_said_outranks_the_query_of_a_retrieval() -> None:
    spans = openinference_spans("And shipping?", "A", [("cost of shipping shoes", ["a"])])
    assert only(spans).turn.question == "And shipping?"
    # Where the root says nothing there is only the query.
    silent = span(TRACE, 1, None, {KIND: "CHAIN"})
    assert only([silent, *spans[1:]]).turn.question == "cost of shipping shoes"
    # Several queries are what an agent made of the question, and none of them is it.
    searches = [("cost of shipping shoes", ["a"]), ("import duty on shoes", ["b"])]
    agent = openinference_spans("And shipping?", "A", searches)
    found = only([silent, *agent[1:]])
    assert found.turn.question is None
    assert "question" in found.turn.missing
    again = openinference_spans("And shipping?", "A", [searches[0], searches[0]])
    assert only([silent, *again[1:]]).turn.question == "cost of shipping shoes"


def test_a_retrieval_whose_parent_did_not_come_is_no_turn_of_a_user() -> None:
    spans = openinference_spans("And shipping?", "A", [("cost of shipping shoes", ["a"])])
    assert rows_of_trace(TRACE, spans[1:]) == rows_of_trace(TRACE, spans[2:]) == []
    # One without a parent is all that was traced.
    alone = span(TRACE, 1, None, {KIND: "RETRIEVER", "input.value": "shoes"})
    assert only([alone]).turn.sources == {"question": "input.value of the root"}
    # A model that answered beside it makes a turn, whose question is named as what it is.
    answer = span(TRACE, 9, 1, {KIND: "LLM", "output.value": "5 EUR."})
    row = only([*spans[1:], answer])
    assert (row.turn.question, row.turn.response) == ("cost of shipping shoes", "5 EUR.")
    assert row.turn.sources["question"] == "the query of the retrieval"


def test_a_span_whose_parent_did_not_come_is_not_called_the_root() -> None:
    row = only([span(TRACE, 1, 7, {KIND: "CHAIN", "input.value": "Q?", "output.value": "A"})])
    at = "of the outermost span, whose parent did not come"
    assert row.turn.sources == {"question": f"input.value {at}", "response": f"output.value {at}"}


def test_content_in_a_form_that_is_not_read_is_not_called_hidden() -> None:
    root = {KIND: "CHAIN", "input.value": '{"a": 1, "b": 2}', "output.value": '{"documents": []}'}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, {KIND: "LLM"})])
    assert row.turn.missing["question"] == row.turn.missing["response"] == "no known form"
    assert "HIDE" not in remedy("no known form", "openinference.instrumentation.langchain")


def test_a_root_that_only_holds_several_turns_gives_a_row_for_each() -> None:
    holder = span(TRACE, 1, None, {}, name="POST /chat")
    spans = [holder]
    for number, (question, answer) in enumerate([("One?", "1"), ("Two?", "2")]):
        agent = {OPERATION: "invoke_agent", "input.value": question, "output.value": answer}
        spans.append(span(TRACE, 10 * number + 10, 1, agent))
        spans.append(span(TRACE, 10 * number + 11, 10 * number + 10, {OPERATION: "chat"}))
    rows = rows_of_trace(TRACE, spans)
    assert [(row.id, row.turn.question, row.turn.response) for row in rows] == [
        (TRACE, "One?", "1"),
        (f"{TRACE}-2", "Two?", "2"),
    ]
    assert {row.turn.sources["question"] for row in rows} == {"input.value of the root"}


def _turn_without_a_model(number: int, name: str, question: str) -> list[dict[str, Any]]:
    asked = {KIND: "CHAIN", "input.value": question, "output.value": f"A{number}"}
    return [
        span(TRACE, number, 1, asked, name=name),
        span(TRACE, number + 1, number, {KIND: "RETRIEVER"}),
    ]


def test_turns_whose_models_are_not_traced_are_calls_of_one_function_that_retrieves() -> None:
    def questions(second: str) -> list[str | None]:
        one = _turn_without_a_model(10, "answer", "One?")
        two = _turn_without_a_model(20, second, "Two?")
        rows = rows_of_trace(TRACE, [span(TRACE, 1, None, {}, name="WS /chat"), *one, *two])
        return [row.turn.question for row in rows]

    assert questions("answer") == ["One?", "Two?"]
    assert questions("rewrite") == ["One?"], "steps of one turn"


def test_steps_that_were_all_asked_the_same_are_one_turn_with_that_question() -> None:
    spans = [span(TRACE, 1, None, {}, name="POST /chat")]
    for number, answer in ((10, "safe"), (20, "2.7 km.")):
        step = {KIND: "CHAIN", "input.value": "How long?", "output.value": answer}
        prompt = {KIND: "LLM", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "p"}
        prompt["gen_ai.completion.0.content"] = answer
        spans += [span(TRACE, number, 1, step), span(TRACE, number + 1, number, prompt)]
    row = only(spans)
    assert (row.turn.question, row.turn.response) == ("How long?", "2.7 km.")
    assert row.turn.sources["question"] == "what each step was asked"


def test_steps_that_pass_a_text_on_are_one_turn() -> None:
    steps = [("One?", "rewritten?"), ("rewritten?", "1")]
    spans = [span(TRACE, 1, None, {}, name="POST /chat")]
    for number, (given_text, gave) in enumerate(steps):
        step = {KIND: "CHAIN", "input.value": given_text, "output.value": gave}
        spans.append(span(TRACE, 10 * number + 10, 1, step))
        model = {KIND: "LLM", "input.value": given_text, "output.value": gave}
        spans.append(span(TRACE, 10 * number + 11, 10 * number + 10, model))
    row = only(spans)
    assert (row.turn.question, row.turn.response) == ("One?", "1")


def test_ids_without_texts_are_no_contexts_and_the_remedy_names_the_instrumentor() -> None:
    found = {OPERATION: "retrieval", "gen_ai.retrieval.documents": '[{"id":"d2","score":null}]'}
    root = {OPERATION: "invoke_agent", "input.value": "Q?", "output.value": "A"}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, found)])
    assert row.turn.contexts is None
    assert row.turn.missing == {"contexts": "no texts"}
    assert "variable {context}" in remedy(
        "no texts", "opentelemetry.instrumentation.genai.langchain"
    )


def test_a_retrieval_that_found_nothing_is_an_empty_list_and_not_a_missing_one() -> None:
    found = {KIND: "RETRIEVER", "input.value": "Q?", "output.value": '{"documents": []}'}
    root = {KIND: "CHAIN", "input.value": "Q?", "output.value": "A"}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, found)])
    assert row.turn.contexts == []


def test_one_of_two_retrievals_without_texts_leaves_the_contexts_unknown() -> None:
    spans = openinference_spans("Q?", "A", [("one", ["a"]), ("two", [])])
    # The second one recorded nothing at all: to judge by the first alone would blame the answer.
    assert only(spans).turn.contexts is None


@pytest.mark.parametrize("name", ["traceloop.entity.input", "langfuse.observation.input"])
@pytest.mark.parametrize(
    ("call", "question"),
    [
        ({"args": ["How long?"], "kwargs": {}}, "How long?"),
        ({"args": ["Why?"]}, "Why?"),
        ({"args": [], "kwargs": {"k": 3, "question": "Why?"}}, "Why?"),
        ({"args": ["user-42", "en"], "kwargs": {"query": "Why?"}}, "Why?"),
        ({"args": ["<App>", "How long?"], "kwargs": {"k": 3}}, "How long?"),
        ({"args": ["<app.App object at 0x7f>"], "kwargs": {"topic": "How long?"}}, "How long?"),
        ({"args": ["user-42", "How long is it?"], "kwargs": {}}, "How long is it?"),
        ({"args": [{"user_input": "How long?"}], "kwargs": {}}, "How long?"),
        ({"args": [[{"role": "user", "content": "How long?"}]], "kwargs": {}}, "How long?"),
        ({"args": ["user-42", "en"], "kwargs": {}}, "p"),
        ({"args": [], "kwargs": {}}, "p"),
    ],
)
def test_the_question_of_a_recorded_call_is_the_argument_that_was_asked(
    name: str, call: dict[str, Any], question: str
) -> None:
    root = {KIND: "CHAIN", name: json.dumps(call), "output.value": "A"}
    model = {KIND: "LLM", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "p"}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, model)])
    assert row.turn.question == question
    if question != "p":
        assert row.turn.sources["question"] == f"{name} of the root"


def test_a_recorded_call_that_searches_says_the_query_of_its_retrieval() -> None:
    call = json.dumps({"args": ["length of it"], "kwargs": {"k": 3}})
    found = {KIND: "RETRIEVER", "input.value": call, "output.value": [{"text": "2.7 km."}]}
    root = {KIND: "CHAIN", "input.value": "How long?", "output.value": "2.7 km."}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, found)])
    assert [each.query for each in row.turn.retrievals] == ["length of it"]


@pytest.mark.parametrize(
    ("output", "response"),
    [
        (["one ", "two ", "three"], "one two three"),
        (["all of it"], "all of it"),
        ({"answer": 42}, "42"),
        ({"answer": True, "steps": ["a"]}, "true"),
        ({"legs": 4, "tails": 1}, '{"legs":4,"tails":1}'),
        (7, "7"),
        # Nothing that an application answered.
        ([], None),
        ({"legs": None}, None),
        ({"documents": []}, None),
        ([{"page_content": "Dogs have four legs."}], None),
        ({"messages": [{"role": "user", "content": "Q?"}]}, None),
        ({"question": "Q?", "legs": 4}, None),
    ],
)
def test_an_answer_that_is_no_plain_text_is_read_as_what_it_is(
    output: object, response: str | None
) -> None:
    written = output if isinstance(output, int) else json.dumps(output)
    root = {KIND: "CHAIN", "input.value": "Q?", "output.value": written}
    found = {KIND: "RETRIEVER", "retrieval.documents.0.document.content": "Dogs."}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, found)])
    assert row.turn.response == response


def test_json_without_a_known_name_says_so_and_gives_way_to_what_a_model_said() -> None:
    root = span(TRACE, 1, None, {KIND: "CHAIN", "input.value": "Q?", "output.value": '{"n": 4}'})
    found = span(TRACE, 2, 1, {KIND: "RETRIEVER"})
    assert only([root, found]).turn.sources["response"] == "output.value of the root, as JSON"
    model = span(TRACE, 3, 1, {KIND: "LLM", "output.value": "Four."})
    assert only([root, found, model]).turn.response == "Four."


def test_hidden_content_is_not_taken_for_content() -> None:
    root = {KIND: "CHAIN", "input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, {KIND: "LLM"})])
    assert (row.turn.question, row.turn.response) == (None, None)
    assert set(row.turn.missing) == {"question", "response", "contexts"}


ROOT = span(TRACE, 1, None, {KIND: "CHAIN", "input.value": "Q?", "output.value": "A"})
FAILED = {"code": 2, "message": "the index is away"}


def search(number: int, parent: int, query: str, *found: str) -> dict[str, Any]:
    """A retrieval that says these texts; without any it says nothing."""
    said = {f"retrieval.documents.{n}.document.content": text for n, text in enumerate(found)}
    return span(TRACE, number, parent, {KIND: "RETRIEVER", "input.value": query, **said})


def reranker(number: int, query: str, given: list[str] | None, *left: str) -> dict[str, Any]:
    said = {f"reranker.output_documents.{n}.document.content": t for n, t in enumerate(left)}
    for n, text in enumerate(given or ()):
        said[f"reranker.input_documents.{n}.document.content"] = text
    return span(TRACE, number, 1, {KIND: "RERANKER", "reranker.query": query, **said})


def test_a_reranker_stands_for_the_retrievals_that_it_was_given_and_for_no_others() -> None:
    one, two = search(2, 1, "one", "a", "b"), search(3, 1, "two", "c")
    later = search(9, 1, "three", "d")
    after_both = reranker(5, "Q?", ["a", "b", "c"], "b")
    assert texts(only([ROOT, one, two, after_both])) == ["b"]
    assert texts(only([ROOT, one, two, reranker(5, "Q?", ["a", "b"], "b")])) == ["c", "b"]
    assert texts(only([ROOT, one, reranker(5, "one", None, "b", "a"), later])) == ["b", "a", "d"]
    # It ranked for the user's question what both of them had found.
    assert texts(only([ROOT, one, two, reranker(5, "Q?", None, "b")])) == ["b"]
    assert texts(only([ROOT, one, search(3, 1, "two"), reranker(5, "one", None, "b")])) == ["b"]


def test_where_it_is_not_known_what_was_reranked_the_contexts_are_not_known() -> None:
    one, two = search(2, 1, "one", "a", "b"), search(3, 1, "two", "c")
    turn = only([ROOT, one, two, reranker(5, "one", None, "b")]).turn
    assert (turn.contexts, turn.missing) == (None, {"contexts": "no reranked"})
    assert "reranker.input_documents" in remedy("no reranked", "")


def test_a_retriever_that_says_nothing_found_what_all_those_inside_it_did() -> None:
    outer = search(2, 1, "fusion")
    inner = [search(3, 2, "one", "a"), search(4, 2, "two", "b"), search(5, 4, "two", "inside")]
    assert texts(only([ROOT, outer, *inner])) == ["a", "b"]
    # A retriever around those inside may say as little.
    between = [search(3, 2, "both"), search(4, 3, "one", "a"), search(5, 3, "two", "b")]
    assert texts(only([ROOT, outer, *between])) == ["a", "b"]
    assert texts(only([ROOT, outer, *between, search(6, 2, "silent")])) is None
    failed = {**search(6, 2, "failed"), "status": FAILED}
    assert texts(only([ROOT, outer, *between, failed])) == ["a", "b"]


def test_a_retrieval_that_failed_leaves_the_contexts_to_the_others_and_is_said() -> None:
    failed = {**search(2, 1, "one"), "status": FAILED}
    row = only([ROOT, failed, search(3, 1, "two", "a")])
    assert texts(row) == ["a"]
    assert row.turn.sources["contexts"] == "documents of 1 retrieval, 1 more failed"
    alone = only([ROOT, failed]).turn
    assert (alone.contexts, alone.missing) == (None, {"contexts": "failed"})
    assert remedy("failed", "") == "the retrieval failed: its span has the error"


def test_a_retriever_that_knows_texts_stands_for_the_one_inside_that_has_ids() -> None:
    ids = {OPERATION: "retrieval", "gen_ai.retrieval.documents": '[{"id": "d", "score": 0.8}]'}
    known = {
        KIND: "RETRIEVER",
        "retrieval.documents.0.document.id": "d",
        "retrieval.documents.0.document.content": "30 days.",
    }
    root = {KIND: "CHAIN", "input.value": "How long?", "output.value": "30 days."}
    row = only([span(TRACE, 1, None, root), span(TRACE, 2, 1, known), span(TRACE, 3, 2, ids)])
    assert texts(row) == ["30 days."]


def test_a_filled_template_is_no_question_of_a_user() -> None:
    found = {
        OPERATION: "retrieval",
        "gen_ai.retrieval.query.text": "window",
        "gen_ai.retrieval.documents": '[{"id": "d", "content": "30 days."}]',
    }
    prompt = '[{"role": "user", "parts": [{"type": "text", "content": "Use 30 days. to answer."}]}]'
    model = {OPERATION: "chat", "gen_ai.input.messages": prompt}
    row = only([span(TRACE, 1, None, {}), span(TRACE, 2, 1, found), span(TRACE, 3, 1, model)])
    assert row.turn.question == "window"
    assert row.turn.sources["question"] == "the query of the retrieval"


def test_of_a_prompt_that_the_roots_input_filled_the_input_is_the_question() -> None:
    model = {KIND: "LLM", "output.value": "dog toll"}
    model["llm.input_messages.0.message.role"] = "user"
    model["llm.input_messages.0.message.content"] = "Rewrite as a query: And for dogs?"

    def question(given: str) -> str | None:
        root = {KIND: "CHAIN", "input.value": given, "output.value": "One crown."}
        return only([span(TRACE, 1, None, root), span(TRACE, 2, 1, model)]).turn.question

    assert question('{"q": "And for dogs?", "history": [["human", "What?"]]}') == "And for dogs?"
    whole = "Rewrite as a query: And for dogs?"
    assert question('{"q": "And for dogs?", "animal": "dogs"}') == "And for dogs?"
    assert question('{"q": "And for dogs?", "topic": "for dogs"}') == whole, "which is not known"
    assert question('{"a": "some", "b": "other"}') == whole
    assert question('{"animal": "dogs", "history": []}') == whole, "a word is no question"


def test_of_a_prompt_with_one_variable_beside_the_context_the_variable_is_the_question() -> None:
    prompt = "Use: Dogs pay one crown. Asked was: And for dogs?"
    message = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
    model = {
        OPERATION: "chat",
        "gen_ai.input.messages": message,
        "gen_ai.prompt.variable.q": "And for dogs?",
        "gen_ai.prompt.variable.context": "Dogs pay one crown.",
    }
    row = only([span(TRACE, 1, None, {OPERATION: "invoke_workflow"}), span(TRACE, 2, 1, model)])
    assert row.turn.question == "And for dogs?"
    assert row.turn.sources["question"] == "what the first prompt was filled with"


def test_a_step_before_the_call_of_a_model_that_says_no_message_is_not_the_first_call() -> None:
    # As an agent of LlamaIndex begins: its messages are objects that Python printed.
    printed = "ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[TextBlock(text='Where?')])"
    prepared = {KIND: "LLM", "input.value": json.dumps({"chat_history": [printed]})}
    asked = {
        KIND: "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Where is it?",
    }
    found = {
        KIND: "RETRIEVER",
        "input.value": "street of the bakery",
        "retrieval.documents.0.document.content": "It is in Mill Lane.",
    }
    row = only(
        [
            span(TRACE, 1, None, {KIND: "CHAIN"}),
            span(TRACE, 2, 1, prepared),
            span(TRACE, 3, 1, asked),
            span(TRACE, 4, 1, found),
        ]
    )
    assert row.turn.question == "Where is it?"
    assert row.turn.sources["question"] == "the first message of a user to a model"


def test_a_later_call_of_a_model_says_no_question_where_the_first_was_given_a_text() -> None:
    rewrite = {KIND: "LLM", "input.value": "Rewrite: And for dogs?", "output.value": "dog toll"}
    answer = {
        KIND: "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "dog toll",
    }
    row = only([span(TRACE, 1, None, {}), span(TRACE, 2, 1, rewrite), span(TRACE, 3, 1, answer)])
    # What the later call was asked is a model's words, and none of the user's.
    assert row.turn.question is None


@pytest.mark.parametrize(
    ("data", "question"),
    [
        ({"embedder": {"text": "Who pays?"}, "prompt": {"q": "Who pays?"}}, "Who pays?"),
        ({"embedder": {"text": "who pays"}, "prompt": {"question": "Who pays?"}}, "Who pays?"),
        ({"retriever": {"query": "Why?"}, "prompt": {"language": "English"}}, "Why?"),
        ({"query": "Who pays?", "top_k": 3}, "Who pays?"),
        ({"one": {"question": "Who pays?"}, "two": {"question": "Who does not?"}}, None),
        ({"one": {"a": "Who pays?"}, "two": {"b": "Who does not?"}}, None),
        ({"writer": {"policy": "overwrite"}, "reader": {"sources": ["a.md"]}}, None),
    ],
)
def test_what_the_components_of_a_pipeline_were_asked_is_the_question_where_it_is_one(
    data, question
) -> None:
    root = {KIND: "CHAIN", "input.value": json.dumps({"data": data})}
    spans = [span(TRACE, 1, None, root), span(TRACE, 2, 1, {KIND: "LLM", "output.value": "All."})]
    assert only(spans).turn.question == question


@pytest.mark.parametrize(
    ("given_text", "questions"),
    [("How many seats has it?", ["How many seats has it?"]), (None, [])],
)
def test_a_chain_that_failed_before_its_retriever_is_a_turn_where_it_was_asked_something(
    given_text, questions
) -> None:
    inputs = {} if given_text is None else {"input.value": given_text}
    failed = {"code": 2, "message": "no embedding"}
    spans = [
        span(TRACE, 1, None, {KIND: "CHAIN", **inputs}, status=failed),
        span(TRACE, 2, 1, {KIND: "EMBEDDING"}, status=failed),
    ]
    rows = rows_of_trace(TRACE, spans)
    assert [row.turn.question for row in rows] == questions
    assert [row.turn.error for row in rows] == ["no embedding"] * len(questions)


def test_an_error_is_read_without_the_traceback_behind_it() -> None:
    root = {KIND: "CHAIN", "input.value": "Q?"}
    failed = {"code": 2, "message": "ConnectionError('away')Traceback (most recent call last):\n a"}
    row = only([span(TRACE, 1, None, root, status=failed), span(TRACE, 2, 1, {KIND: "RETRIEVER"})])
    assert row.turn.error == "ConnectionError('away')"
    assert not row.turn.missing, "it failed: there is nothing to set"


def test_an_application_that_failed_has_its_error_and_no_response() -> None:
    root = {KIND: "CHAIN", "input.value": "Q?"}
    failed = {"code": 2, "message": "the index is away"}
    row = only([span(TRACE, 1, None, root, status=failed), span(TRACE, 2, 1, {KIND: "LLM"})])
    assert (row.turn.error, row.turn.response) == ("the index is away", None)
    assert "response" not in row.turn.missing


def logged(number: int, name: str, **said: Any) -> dict[str, Any]:
    """A log record of the second span, as the instrumentor of openai's client writes it."""
    pairs = [{"key": key, "value": value} for key, value in said.items()]
    body = {"kvlistValue": {"values": pairs}}
    record = {"eventName": f"gen_ai.{name}", "traceId": TRACE, "spanId": f"{2:016x}"}
    return {**record, "observedTimeUnixNano": str(number), "body": body}


def text_of(text: str) -> dict[str, str]:
    return {"stringValue": text}


ANSWERED = [{"key": "content", "value": text_of("From May on.")}]
LOGGED = [
    logged(1, "user.message", content=text_of("When did it run last year?")),
    logged(2, "tool.message", content=text_of("It ran from June on.")),
    logged(3, "assistant.message", content=text_of("From June on.")),
    logged(4, "user.message", content=text_of("And this year?")),
    logged(5, "tool.message", content=text_of("It runs from May on.")),
    logged(6, "choice", message={"kvlistValue": {"values": ANSWERED}}),
]


@settings(max_examples=30, deadline=None)
@given(st.permutations(LOGGED))
def test_messages_that_arrive_as_log_records_are_read_in_any_order(records) -> None:
    spans = [span(TRACE, 1, None, {}), span(TRACE, 2, 1, {OPERATION: "chat"})]
    traces = {TRACE: spans}
    add_logged_content(traces, records)
    row = only(traces[TRACE])
    assert (row.turn.question, row.turn.response) == ("And this year?", "From May on.")
    assert row.turn.contexts == ["It runs from May on."]


def test_log_records_without_content_say_nothing_and_the_remedy_is_the_instrumentors() -> None:
    traces = {TRACE: [span(TRACE, 1, None, {OPERATION: "chat"})]}
    add_logged_content(traces, [logged(1, "user.message"), logged(2, "choice")])
    row = only(traces[TRACE])
    assert (row.turn.question, row.turn.response) == (None, None)
    said = remedy("no content", "opentelemetry.instrumentation.openai_v2")
    assert said.startswith("set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and")


def said_in_event(name: str, **attributes: object) -> dict[str, Any]:
    """An event of a span, as the exporters of OTLP write it."""
    written = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in attributes.items()
    }
    pairs = [{"key": key, "value": text_of(value)} for key, value in written.items()]
    return {"name": name, "timeUnixNano": "7", "attributes": pairs}


ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "When does it run?"},
]
SAID = [{"role": "assistant", "content": "From May on."}]
EVENTS = {
    "one for each side": [
        said_in_event("gen_ai.content.prompt", **{"gen_ai.prompt": ASKED}),
        said_in_event("gen_ai.content.completion", **{"gen_ai.completion": SAID}),
    ],
    "one for each side, of plain text": [
        said_in_event("gen_ai.content.prompt", **{"gen_ai.prompt": "When does it run?"}),
        said_in_event("gen_ai.content.completion", **{"gen_ai.completion": "From May on."}),
    ],
    "one for each message": [
        said_in_event("gen_ai.system.message", content="Be brief."),
        said_in_event("gen_ai.user.message", content="When does it run?"),
        said_in_event("gen_ai.choice", message=SAID[0]),
    ],
    "one for each message, as JSON": [
        said_in_event("gen_ai.system.message", **{"gen_ai.event.content": ASKED[0]}),
        said_in_event("gen_ai.user.message", **{"gen_ai.event.content": ASKED[1]}),
        said_in_event("gen_ai.choice", **{"gen_ai.event.content": {"message": SAID[0]}}),
    ],
    "one for a call": [
        said_in_event(
            "gen_ai.client.inference.operation.details",
            **{"gen_ai.input.messages": ASKED, "gen_ai.output.messages": SAID},
        ),
    ],
}


@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS)
def test_messages_that_stand_in_events_of_a_span_are_read(events: list[dict[str, Any]]) -> None:
    other = said_in_event("exception", **{"exception.message": "away"})
    call = {**span(TRACE, 2, 1, {OPERATION: "chat"}), "events": [other, *reversed(events)]}
    row = only([span(TRACE, 1, None, {}), call])
    assert (row.turn.question, row.turn.response) == ("When does it run?", "From May on.")
    # What the span itself says goes before.
    own = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "In May."}])}
    call = {**span(TRACE, 2, 1, {OPERATION: "chat", **own}), "events": events}
    row = only([span(TRACE, 1, None, {}), call])
    assert (row.turn.question, row.turn.response) == ("When does it run?", "In May.")


def test_events_without_content_say_nothing() -> None:
    events = [
        said_in_event("gen_ai.user.message", **{"gen_ai.system": "openai"}),
        said_in_event("gen_ai.content.prompt"),
        said_in_event("gen_ai.content.completion", **{"gen_ai.completion": []}),
        said_in_event("gen_ai.choice", **{"gen_ai.event.content": "[not JSON"}),
    ]
    call = {**span(TRACE, 1, None, {OPERATION: "chat"}), "events": events}
    row = only([call])
    assert (row.turn.question, row.turn.response) == (None, None)


@pytest.mark.parametrize(
    ("root_status", "model_status"),
    [({"code": 2, "message": "no model"}, {}), ({}, {"code": 2, "message": "no model"})],
    ids=["the turn failed", "the last call of a model failed, and the application went on"],
)
def test_a_query_that_a_model_wrote_is_no_answer_of_a_turn_without_one(
    root_status, model_status
) -> None:
    root = {KIND: "CHAIN", "input.value": "Who keeps the light?"}
    rewrite = {KIND: "LLM", "output.value": "lighthouse keeper"}
    row = only(
        [
            span(TRACE, 1, None, root, status=root_status),
            span(TRACE, 2, 1, rewrite),
            span(TRACE, 3, 1, {KIND: "LLM"}, status=model_status),
        ]
    )
    assert (row.turn.response, row.turn.error) == (None, root_status.get("message"))


def test_a_call_of_a_model_that_was_tried_again_has_the_later_answer() -> None:
    root = {KIND: "CHAIN", "input.value": "Who keeps the light?"}
    failed = span(TRACE, 2, 1, {KIND: "LLM"}, status={"code": 2, "message": "busy"})
    again = span(TRACE, 3, 1, {KIND: "LLM", "output.value": "Oda."})
    assert only([span(TRACE, 1, None, root), failed, again]).turn.response == "Oda."


def test_spans_that_are_their_own_ancestors_are_read_all_the_same() -> None:
    asked = {KIND: "CHAIN", "input.value": "Q?", "output.value": "A"}
    row = only([span(TRACE, 1, 2, asked), span(TRACE, 2, 1, {KIND: "LLM"})])
    assert row.turn.response == "A"


def test_a_trace_as_deep_as_it_has_spans_is_read() -> None:
    root = {KIND: "CHAIN", "input.value": "Q?", "output.value": "A"}
    spans = [span(TRACE, 1, None, root)]
    spans += [span(TRACE, n, n - 1, {KIND: "CHAIN"}) for n in range(2, 20_000)]
    spans.append(span(TRACE, 20_000, 19_999, {KIND: "LLM", "llm.token_count.prompt": 4}))
    row = only(spans)
    assert (row.turn.question, row.turn.figures["input_tokens"]) == ("Q?", 4)


def test_what_many_traces_lack_is_said_once_with_what_to_set() -> None:
    assembly = Assembly()
    model = [{**span(TRACE, 1, None, {OPERATION: "chat"}), "scope": "pydantic-ai"}]
    for _ in range(3):
        assembly.add(rows_of_trace(TRACE, model), 1)
    assembly.add(rows_of_trace(TRACE, [span(TRACE, 1, None, {OPERATION: "embeddings"})]), 1)
    assert assembly.lines() == [
        "put 4 spans of 4 traces together: 3 rows, one a user turn",
        "left out 1 trace in which nobody asked anything (indexing, embeddings,"
        " retrievals whose parent did not come)",
        "contexts not recorded in 3 rows (pydantic-ai): return the documents from a tool of the"
        " agent",
        "question not recorded in 3 rows (pydantic-ai):"
        " Agent.instrument_all(InstrumentationSettings(include_content=True))",
        "response not recorded in 3 rows (pydantic-ai):"
        " Agent.instrument_all(InstrumentationSettings(include_content=True))",
    ]


NUMBERED = {
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": WINDOW,
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": ANSWER,
    "gen_ai.usage.prompt_tokens": 12,
    "gen_ai.usage.completion_tokens": 7,
}


@pytest.mark.parametrize(
    "kind", [{"llm.request.type": "chat"}, {"llm.request.type": "completion"}, {}], ids=str
)
def test_a_call_of_a_model_is_known_where_no_operation_is_named(kind: dict[str, str]) -> None:
    row = only([span(TRACE, 1, None, {**NUMBERED, **kind})]).row
    assert (row["question"], row["response"]) == (WINDOW, ANSWER)
    assert (row["usage"]["input_tokens"], row["usage"]["output_tokens"]) == (12, 7)


@pytest.mark.parametrize("kind", ["EVALUATOR", "GUARDRAIL"])
@pytest.mark.parametrize("first", [True, False])
def test_what_checks_a_turn_is_neither_its_question_nor_its_answer(kind: str, first: bool) -> None:
    check, call = (2, 5) if first else (5, 2)
    judged = {"llm.input_messages.0.message.role": "user", KIND: "LLM"}
    judged |= {"llm.input_messages.0.message.content": "Is this an attack?"}
    judged |= {"llm.output_messages.0.message.content": "score 0.9"}
    spans = [
        span(TRACE, 1, None, {KIND: "CHAIN"}),
        span(TRACE, check, 1, {KIND: kind}),
        span(TRACE, check + 1, check, judged),
        span(TRACE, call, 1, {KIND: "LLM", **NUMBERED}),
    ]
    row = only(spans).row
    assert (row["question"], row["response"]) == (WINDOW, ANSWER)


def test_a_guardrail_that_holds_the_only_call_of_a_model_is_a_part_of_the_turn() -> None:
    guarded = [span(TRACE, 1, None, {KIND: "GUARDRAIL"}), span(TRACE, 2, 1, NUMBERED)]
    row = only(guarded).row
    assert (row["question"], row["response"]) == (WINDOW, ANSWER)
    judged = [span(TRACE, 1, None, {KIND: "EVALUATOR"}), span(TRACE, 2, 1, NUMBERED)]
    assert rows_of_trace(TRACE, judged) == []


def asked(
    number: int, parent: int | None, question: str, answer: str, **more: str
) -> list[dict[str, Any]]:
    """A chain with a retrieval of one document, which is the answer."""
    said = {KIND: "CHAIN", "input.value": question, "output.value": answer}
    session = {"session.id": more["session"]} if more else {}
    document = {"retrieval.documents.0.document.content": answer}
    return [
        span(TRACE, number, parent, said | session),
        span(TRACE, number + 1, number, {KIND: "RETRIEVER", "input.value": question} | document),
    ]


def said(spans: list[dict[str, Any]]) -> list[tuple[str | None, str | None, list[str] | None]]:
    return [
        (row.turn.question, row.turn.response, texts(row)) for row in rows_of_trace(TRACE, spans)
    ]


PRICE = ("What is the price?", "It costs 5 euros.", ["It costs 5 euros."])
COLOUR = ("What is the colour?", "It is red.", ["It is red."])


@pytest.mark.parametrize("parent", [None, 99])
def test_requests_below_a_parent_that_was_never_sent_are_turns_of_their_own(
    parent: int | None,
) -> None:
    spans = [
        span(TRACE, 1, parent, {"http.request.method": "POST"}, name="POST /chat"),
        *asked(10, 1, *PRICE[:2]),
        span(TRACE, 21, parent, {"http.request.method": "POST"}, name="POST /chat"),
        *asked(30, 21, *COLOUR[:2]),
    ]
    assert said(spans) == said(spans[::-1]) == [PRICE, COLOUR]


def test_two_roots_of_one_trace_are_two_turns_each_with_what_was_retrieved_for_it() -> None:
    # An answer of a model whose own parent did not come lies in the first of them by its time.
    piece = span(TRACE, 12, 77, {KIND: "LLM", "output.value": "Five."})
    spans = [*asked(10, None, *PRICE[:2]), piece, *asked(30, None, *COLOUR[:2])]
    assert said(spans) == said(spans[::-1]) == [PRICE, COLOUR]


def test_one_question_of_two_users_is_two_turns() -> None:
    both = [
        *asked(10, 1, *PRICE[:2], session="ann"),
        *asked(30, 1, PRICE[0], "It costs 7 euros.", session="bob"),
    ]
    in_one_root = [span(TRACE, 1, None, {}, name="job"), *both]
    seven = (PRICE[0], "It costs 7 euros.", ["It costs 7 euros."])
    assert said(in_one_root)[:2] == said(both) == [PRICE, seven]


def test_steps_whose_root_did_not_come_are_not_put_together_to_a_turn_that_nobody_had() -> None:
    row = only([*asked(10, 1, *PRICE[:2]), *asked(30, 1, *COLOUR[:2])])
    assert (row.turn.question, row.turn.response, row.turn.contexts) == (None, None, None)
    assert set(row.turn.missing.values()) == {"no root"}
    assert "session.id" in remedy("no root", "")


def test_a_step_that_is_asked_to_carry_out_the_plan_before_it_is_no_turn() -> None:
    plan = "1. search the price of A, 2. search the price of B"
    spans = [
        span(TRACE, 1, None, {}, name="graph"),
        *asked(10, 1, "Which is cheaper?", plan),
        *asked(30, 1, f"Carry out this plan: {plan}", "A is cheaper."),
    ]
    assert len(said(spans)) == 1


def test_a_prompt_around_a_query_is_not_the_question_where_the_texts_are_hidden() -> None:
    asked_of_model = "Context: (hidden)\n\nQuestion: When does the ferry leave?"
    spans = [
        span(TRACE, 1, None, {}),
        span(TRACE, 2, 1, {KIND: "RETRIEVER", "input.value": "When does the ferry leave?"}),
        span(TRACE, 3, 1, {KIND: "LLM", "input.value": asked_of_model, "output.value": "At 9."}),
    ]
    assert only(spans).turn.question == "When does the ferry leave?"


def test_a_reranker_that_left_nothing_stands_for_what_it_was_given() -> None:
    spans = [
        *asked(10, None, *PRICE[:2]),
        span(
            TRACE,
            12,
            10,
            {
                KIND: "RERANKER",
                "reranker.input_documents.0.document.content": PRICE[1],
                "output.value": "[]",
            },
        ),
    ]
    assert said(spans) == [(PRICE[0], PRICE[1], [])]


def test_the_pieces_of_a_models_stream_are_no_answer_as_they_are() -> None:
    pieces = json.dumps([{"choices": [{"delta": {"content": "It"}}]}])
    root = {KIND: "AGENT", "input.value": "Q?", "output.value": pieces}
    assert only([span(TRACE, 1, None, root)]).turn.response is None


def test_a_function_that_is_traced_as_asked_is_a_turn_whatever_it_gives() -> None:
    def row(output: str | None, scope: str) -> list[TurnRow]:
        root = {KIND: "CHAIN", "input.value": "How many?"}
        given = root if output is None else root | {"output.value": output}
        return rows_of_trace(TRACE, [span(TRACE, 1, None, given) | {"scope": scope}])

    (number,) = row("42", "ragassay")
    assert number.turn.response == "42"
    (unknown,) = row('{"reply_markdown": "It is 5."}', "ragassay")
    assert unknown.turn.response == '{"reply_markdown":"It is 5."}'
    (nothing,) = row(None, "ragassay")
    assert (nothing.turn.question, nothing.turn.response) == ("How many?", None)
    assert row(None, "another") == []
