"""Columns of unknown names: the option that names them is printed, or the guess is taken."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from ragassay.core import Context, Sample, SetupError
from ragassay.runs.look import look_at
from ragassay.runs.options import make_options
from ragassay.runs.plan import Plan, make_plan

BRIDGES = [("Pont A", "12 kilometres"), ("Pont B", "300 metres"), ("Pont C", "2 miles")]


def rows(**columns: object) -> list[dict[str, object]]:
    """Three rows; {name} and {length} in a text stand for the row's own."""
    made = []
    for name, length in BRIDGES:
        text = json.dumps(columns).replace("{name}", name).replace("{length}", length)
        made.append(json.loads(text))
    return made


def plan(source: object, metrics: str | None = None, **options: object) -> Plan:
    return make_plan(source, make_options(options), metrics)


def first(made: Plan) -> Sample:
    _, row = next(made.rows())
    assert isinstance(row, Sample), row
    return row


QUESTION = "How long is {name}?"
ANSWER = "{name} is {length} long."
PASSAGE = "The bridge {name} was measured again in 1998: it is {length} long."


@pytest.mark.parametrize("column", ["bot_reply", "llm_output", "botAnswer", "generated"])
def test_an_unread_response_stops_with_the_option_that_names_it(column, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows(question=QUESTION, contexts=[PASSAGE], **{column: ANSWER})))
    with pytest.raises(SetupError) as caught:
        plan(path)
    error = caught.value
    assert (error.code, error.where) == ("E0318", str(path))
    assert error.what == f"No row has a response, and {column} is not read."
    assert error.why == f"{column} holds Pont A is 12 kilometres long."
    assert error.fix.startswith(f"--map response={column}, which --yes takes;")


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("kb_docs", [PASSAGE]),
        ("found_passages", [{"page_content": PASSAGE}]),
        ("evidence", PASSAGE),
        ("quelle", [PASSAGE, "Another passage that says nothing."]),
        ("stuff", [{"text": PASSAGE, "rank": 1}]),
    ],
    ids=["by name", "objects", "one text", "a list of texts", "a list of objects"],
)
def test_unread_contexts_are_known_by_their_name_or_by_what_they_hold(column, cell):
    data = rows(question=QUESTION, response=ANSWER, **{column: cell})
    with pytest.raises(SetupError) as caught:
        plan(data)
    assert caught.value.code == "E0318"
    assert caught.value.fix.startswith(f"mapping={{'contexts': '{column}'}}, which yes=True takes")
    taken = plan(data, yes=True)
    assert taken.options.mapping == {"contexts": column}
    assert f"read {column} as contexts" in taken.scan.lines
    contexts = first(taken).contexts
    assert contexts is not None
    assert contexts[0].text.startswith("The bridge Pont A")


def test_both_are_named_in_one_line_and_yes_takes_both():
    data = rows(question=QUESTION, bot_reply=ANSWER, kb_hits=[PASSAGE], topic="bridges")
    with pytest.raises(SetupError) as caught:
        plan(data)
    assert "No row has contexts or a response, and kb_hits, bot_reply are" in caught.value.what
    assert caught.value.fix.startswith("mapping={'contexts': 'kb_hits', 'response': 'bot_reply'}")
    row = first(plan(data, yes=True))
    assert (row.response, row.contexts) == (
        "Pont A is 12 kilometres long.",
        (Context("The bridge Pont A was measured again in 1998: it is 12 kilometres long."),),
    )


def test_where_several_columns_may_be_meant_they_are_listed_and_none_is_taken():
    data = rows(question=QUESTION, contexts=[PASSAGE], bot_reply=ANSWER, final_answer=ANSWER)
    with pytest.raises(SetupError) as caught:
        plan(data, yes=True)
    assert caught.value.what == "No row has a response, and bot_reply, final_answer are not read."
    fix = "mapping={'response': 'bot_reply'} or mapping={'response': 'final_answer'}, since nothing"
    assert caught.value.fix.startswith(fix)
    assert "yes=True" not in caught.value.fix


def test_a_column_inside_an_object_is_named_by_its_path(tmp_path):
    path = tmp_path / "rows.jsonl"
    data = rows(question=QUESTION, contexts=[PASSAGE], run={"bot": {"reply": ANSWER}, "ms": 3})
    path.write_text("\n".join(map(json.dumps, data)))
    with pytest.raises(SetupError, match=r"--map response=run\.bot\.reply,"):
        plan(path)
    assert first(plan(path, yes=True)).response == "Pont A is 12 kilometres long."


def test_a_response_column_that_is_empty_in_every_row_does_not_hide_another():
    data = rows(question=QUESTION, contexts=[PASSAGE], response="", bot_reply=ANSWER)
    with pytest.raises(SetupError, match="bot_reply is not read"):
        plan(data)


WITHOUT_FRICTION = {
    "an answer from the model alone, beside a reference": (
        rows(question=QUESTION, response=ANSWER, reference=ANSWER, remarks=PASSAGE),
        None,
    ),
    "a ranking of document ids": (
        rows(context_ids=["a", "b"], relevant_ids=["b"], remarks=PASSAGE),
        "mrr",
    ),
    "passages with judged ids, and a remark": (
        rows(question=QUESTION, contexts=[PASSAGE], relevant_ids=["b"], remarks=PASSAGE),
        None,
    ),
    "metrics that do not need the field": (
        rows(question=QUESTION, response=ANSWER, kb_docs=[PASSAGE]),
        "answer_relevance",
    ),
    "kinds, names and notes beside": (
        rows(question=QUESTION, response=ANSWER, model="m-1", topic="long bridges", note=PASSAGE),
        None,
    ),
    "an expected answer beside the passages": (
        rows(question=QUESTION, contexts=[PASSAGE], expected_reply=ANSWER, answer_id="a-1"),
        None,
    ),
}


@pytest.mark.parametrize("name", WITHOUT_FRICTION)
def test_rows_that_have_no_such_field_run_as_they_are(name):
    data, metrics = WITHOUT_FRICTION[name]
    assert plan(data, metrics).scan.rows == 3


def test_what_the_application_gives_need_not_be_in_the_rows():
    def my_app(question: str) -> str:
        return "It is long."

    data = rows(question=QUESTION, old_reply=ANSWER, old_docs=[PASSAGE])
    assert make_plan(data, make_options({"app": my_app}), None, app=my_app).scan.rows == 3


def test_a_file_of_unknown_names_only_is_read_by_the_guess(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows(utterance=QUESTION, llm_output=ANSWER, kb_hits=[PASSAGE])))
    with pytest.raises(SetupError) as caught:
        plan(path)
    assert caught.value.code == "E0307"
    options = "--map question=utterance --map contexts=kb_hits --map response=llm_output"
    assert caught.value.fix == f"name the columns: ragassay evaluate rows.json {options}"
    taken = plan(path, yes=True)
    assert taken.scan.mapping == {
        "utterance": "question",
        "kb_hits": "contexts",
        "llm_output": "response",
    }


@pytest.mark.parametrize(
    ("question", "response"),
    [("user_msg", "bot"), ("client_text", "gpt4_says"), ("ticket", "model"), ("human", "ai")],
)
def test_columns_named_after_who_speaks_are_guessed_where_they_hold_sentences(question, response):
    data = rows(**{question: QUESTION, response: ANSWER, "kb": [PASSAGE], "agent": "m-1"})
    taken = plan(data, yes=True)
    assert taken.scan.mapping == {question: "question", "kb": "contexts", response: "response"}


def test_a_column_that_names_the_user_or_the_model_is_not_taken_for_what_they_said():
    data = rows(user="u-17", model="m-1", asked_text=QUESTION, reply=ANSWER, kb=[PASSAGE])
    taken = plan(data, yes=True)
    assert taken.scan.mapping == {
        "asked_text": "question",
        "kb": "contexts",
        "reply": "response",
    }


def test_of_two_columns_that_ask_none_is_taken():
    data = rows(first=QUESTION, second="And how wide is {name}?", reply=ANSWER, kb=[PASSAGE])
    assert "'question': 'COLUMN'" in refused(data).fix


@pytest.mark.parametrize(
    ("question", "contexts", "response"),
    [
        ("Frage", "Kontext", "Antwort"),
        ("question_posée", "contextes", "réponse"),
        ("pregunta", "contextos", "respuesta"),
        ("domanda", "documenti", "risposta"),
        ("pergunta", "documentos", "resposta"),
    ],
)
def test_columns_headed_in_other_european_languages_are_guessed(
    tmp_path, question, contexts, response
):
    path = tmp_path / "rows.json"
    cells = {question: QUESTION, contexts: [PASSAGE], response: ANSWER}
    path.write_text(json.dumps(rows(**cells)))
    assert plan(path, yes=True).scan.mapping == {
        question: "question",
        contexts: "contexts",
        response: "response",
    }


def refused(source: object) -> SetupError:
    with pytest.raises(SetupError) as caught:
        plan(source)
    return caught.value


def test_no_column_is_advised_for_two_fields():
    error = refused(rows(question=QUESTION, remark=ANSWER))
    assert error.code == "E0318"
    assert "mapping={'contexts': 'COLUMN', 'response': 'COLUMN'}" in error.fix
    assert "nothing says clearly which" in error.fix


def test_a_column_that_is_clearly_the_response_is_not_advised_as_contexts():
    error = refused(rows(question=QUESTION, botAnswer=ANSWER))
    assert error.fix.startswith("mapping={'response': 'botAnswer'}, which yes=True takes")


def test_a_text_beside_the_response_that_is_read_is_not_advised_as_contexts():
    made = plan(rows(input=QUESTION, output={"role": "assistant", "content": ANSWER}))
    assert first(made).response == "Pont A is 12 kilometres long."
    assert first(made).contexts is None


def test_passages_in_the_steps_of_a_trace_are_advised_with_their_place(tmp_path):
    steps = [{"name": "retrieval", "output": [{"content": PASSAGE, "score": 0.8}]}]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows(input=QUESTION, output=ANSWER, observations=steps)))
    assert refused(path).fix.startswith("--map contexts=observations.0.output, which --yes takes")
    for taken in (plan(path, yes=True), plan(path, mapping={"contexts": "observations.0.output"})):
        (context,) = first(taken).contexts or ()
        assert (
            context.text
            == "The bridge Pont A was measured again in 1998: it is 12 kilometres long."
        )


def test_contexts_are_missed_although_a_reference_gives_something_to_measure():
    """All questions are about one passage, as often in practice."""
    error = refused(
        rows(prompt=QUESTION, sources=["One passage for all rows."], output=ANSWER, reference="R")
    )
    assert (error.code, "'contexts': 'sources'" in error.fix) == ("E0318", True)


def test_all_missing_fields_are_named_in_one_message():
    error = refused(rows(reference="R", utterance=QUESTION, kb_docs=[PASSAGE], botReply=ANSWER))
    names = "'question': 'utterance', 'contexts': 'kb_docs', 'response': 'botReply'"
    assert f"mapping={{{names}}}" in error.fix


DOCUMENTS = [{"page_content": "The P-200 pump runs on 230 V mains.", "metadata": {"p": 3}}]
ASKED = "What voltage does the pump need?"


def observed(number: int, parent: int | None, name: str, kind: str, output: object) -> Any:
    """A span of OpenInference as Phoenix exports it."""
    return {
        "context": {"trace_id": "t", "span_id": str(number)},
        "trace_id": "t",
        "parent_id": None if parent is None else str(parent),
        "name": name,
        "span_kind": kind,
        "start_time": f"2025-01-01T00:00:0{number}Z",
        "attributes": {
            "openinference.span.kind": kind,
            "input.value": ASKED,
            "output.value": output if isinstance(output, str) else json.dumps(output),
        },
    }


SPANS = [
    observed(1, None, "qa", "CHAIN", "It needs 230 volts."),
    observed(2, 1, "Search.retrieval", "CHAIN", DOCUMENTS),
    observed(3, 1, "ChatOpenAI", "LLM", "It needs 230 volts."),
    observed(4, 1, "StrOutputParser", "CHAIN", "It needs 230 volts, says the parser."),
]
LANGFUSE = {
    "id": "t",
    "timestamp": "2025-02-02T09:00:00.000Z",
    "input": {"question": ASKED},
    "output": {"answer": "It needs 230 volts."},
    "observations": [
        {"id": "a", "type": "SPAN", "name": "Search.retrieval", "output": DOCUMENTS},
        {"id": "b", "type": "GENERATION", "name": "chat", "output": "It needs 230 volts."},
    ],
}
LANGSMITH = {
    "id": "1",
    "run_type": "chain",
    "inputs": {"question": ASKED},
    "outputs": {"answer": "It needs 230 volts."},
    "child_runs": [
        {
            "id": "2",
            "name": "Search.retrieval",
            "run_type": "chain",
            "outputs": {"documents": DOCUMENTS},
        }
    ],
}
ROW = {"question": ASKED, "response": "It needs 230 volts."}


def printed_options(fix: str) -> list[str]:
    """The options of a printed fix, as a shell reads them when it is copied up to the comma."""
    return shlex.split(re.split(r", which|, with|; or", fix)[0])


def as_mapping(options: list[str]) -> dict[str, str]:
    """The fields and columns of --map options."""
    pairs = [option.partition("=") for option in options if option != "--map"]
    return {field: column for field, _, column in pairs}


@pytest.mark.parametrize(
    "data",
    [
        SPANS,
        [{"trace_id": "t", "spans": SPANS}],
        [{**ROW, "trace": {"spans": SPANS}}],
        [{"info": {"trace_id": "t"}, "data": {"spans": SPANS}}],
        [LANGFUSE],
        [LANGSMITH],
    ],
    ids=["a table of spans", "a trace", "a column", "MLflow", "Langfuse", "LangSmith"],
)
def test_what_a_plain_span_gave_stops_the_run_and_the_printed_option_reads_it(data, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(data))
    with pytest.raises(SetupError) as caught:
        plan(path)
    assert caught.value.what == "No row has contexts, and spans.Search.retrieval is not read."
    assert caught.value.why == "spans.Search.retrieval holds The P-200 pump runs on 230 V mains."
    mapping = as_mapping(printed_options(caught.value.fix))
    assert mapping == {"contexts": "spans.Search.retrieval"}
    for made in (plan(path, mapping=mapping), plan(path, yes=True)):
        assert "read spans.Search.retrieval as contexts" in made.scan.lines
        assert first(made).contexts == (Context("The P-200 pump runs on 230 V mains."),)
        assert first(made).response == "It needs 230 volts."


def test_a_trace_in_which_nothing_was_retrieved_runs_as_it_is():
    spans = [span for span in SPANS if span["name"] != "Search.retrieval"]
    assert first(plan([{"trace_id": "t", "spans": spans}])).contexts is None


def test_of_two_steps_that_gave_documents_none_is_taken():
    spans = [*SPANS, observed(5, 1, "rerank", "CHAIN", DOCUMENTS)]
    with pytest.raises(SetupError, match=r"spans\.Search\.retrieval, spans\.rerank are not read"):
        plan([{"trace_id": "t", "spans": spans}], yes=True)


def test_contexts_that_the_root_of_a_trace_gave_beside_the_response_are_named():
    output = {"answer": "It needs 230 volts.", "contexts": ["It runs on 230 V mains, says A."]}
    data = [{**LANGFUSE, "name": "qa", "output": output, "observations": []}]
    with pytest.raises(SetupError, match=r"spans\.qa is not read"):
        plan(data)
    assert first(plan(data, yes=True)).contexts == (Context("It runs on 230 V mains, says A."),)


FIRST = "Titan orbits Saturn once every 15 days and 22 hours."
SECOND = "Titan was discovered on 25 March 1655 by Christiaan Huygens."
NESTED: dict[str, tuple[dict[str, object], str | None]] = {
    "a list with texts under a known name": (
        {"search_results": [{"snippet": FIRST, "rank": 1}, {"snippet": SECOND, "rank": 2}]},
        "search_results",
    ),
    "texts under an unknown name": (
        {"results": {"web": [{"quux": FIRST}, {"quux": SECOND}]}},
        "results.web.*.quux",
    ),
    "documents in hits": (
        {"retrieval": {"hits": [{"doc": {"text": FIRST}}, {"doc": {"text": SECOND}}]}},
        "retrieval.hits.*.doc.text",
    ),
    "lists in hits": (
        {"searches": [{"q": "a", "chunks": [FIRST]}, {"q": "b", "chunks": [SECOND]}]},
        "searches.*.chunks",
    ),
    "a name with a dot": ({"stuff": {"kb.docs": [FIRST, SECOND]}}, "stuff.kb.docs"),
    "a column each": ({"Kontext 2": SECOND, "Kontext 1": FIRST}, "Kontext 1,Kontext 2"),
    "a long name": ({"retrieved passages of the first " + "step " * 12: [FIRST, SECOND]}, None),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("is_known", [True, False], ids=["E0318", "E0307"])
def test_the_printed_option_for_nested_contexts_reads_all_of_them(name, is_known, tmp_path):
    fields, column = NESTED[name]
    column = column or next(iter(fields))
    said = {"question": "Who discovered Titan?", "answer": "Huygens did so in 1655."}
    if not is_known:
        said = {"frage": "Who discovered Titan?", "antwort": "Huygens did so in 1655."}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{**said, **fields}]))
    with pytest.raises(SetupError) as caught:
        plan(path)
    assert caught.value.code == ("E0318" if is_known else "E0307")
    options = printed_options(caught.value.fix.removeprefix("name the columns: "))
    mapping = as_mapping(options[options.index("--map") :])
    assert mapping["contexts"] == column
    for made in (plan(path, mapping=mapping), plan(path, yes=True)):
        row = first(made)
        assert row.response == "Huygens did so in 1655."
        assert row.contexts is not None
        assert [chunk.text for chunk in row.contexts] == [FIRST, SECOND]


def test_steps_that_retrieve_and_answer_are_not_put_together():
    steps = [{"name": "search", "output": [FIRST, SECOND]}, {"name": "say", "output": "Huygens."}]
    data = [{"question": "Who discovered Titan?", "answer": "Huygens.", "steps": steps}]
    with pytest.raises(SetupError, match=r"steps\.0\.output is not read"):
        plan(data)


@pytest.mark.parametrize(
    ("name", "is_offered"),
    [
        ("Should have said", True),
        ("Korrekte Antwort", True),
        ("expected reply", True),
        ("expected_id", False),
        ("target_language", False),
    ],
)
def test_a_right_answer_is_offered_beside_the_fields_that_are_missing(name, is_offered, tmp_path):
    path = tmp_path / "rows.json"
    texts = {"Customer asked": QUESTION, "What the bot said": ANSWER, "Help article": PASSAGE}
    path.write_text(json.dumps(rows(**texts, **{name: "{length}"})))
    with pytest.raises(SetupError) as caught:
        plan(path)
    options = printed_options(caught.value.fix)
    mapping = as_mapping(options[options.index("--map") :])
    assert mapping.get("reference") == (name if is_offered else None)
    row = first(plan(path, mapping=mapping))
    assert row.reference == ("12 kilometres" if is_offered else None)
    assert row.response == "Pont A is 12 kilometres long."
    path.write_text(json.dumps(rows(question=QUESTION, bot_reply=ANSWER, **{name: "{length}"})))
    assert first(plan(path, yes=True)).reference == row.reference
    kinds = {column.column: column.field for column in look_at(str(path)).columns}
    assert kinds[name] == ("reference" if is_offered else "")


def test_a_column_of_verdicts_is_no_right_answer():
    data = rows(question=QUESTION, contexts=[PASSAGE], bot_reply=ANSWER, correct="yes")
    assert first(plan(data, yes=True)).reference is None


def test_of_several_lists_of_contexts_one_is_printed_and_all_are_named(tmp_path):
    hits = {"hits": [{"doc": {"text": FIRST}}, {"doc": {"text": SECOND}}]}
    said = {"frage": "Who discovered Titan?", "antwort": "Huygens did so in 1655."}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{**said, "first": hits, **hits}]))
    error = refused(path)
    assert error.why.endswith("the contexts may be first.hits.*.doc.text or hits.*.doc.text")
    options = printed_options(error.fix.removeprefix("name the columns: "))
    mapping = as_mapping(options[options.index("--map") :])
    assert [chunk.text for chunk in first(plan(path, mapping=mapping)).contexts or ()] == [
        FIRST,
        SECOND,
    ]
    path.write_text(json.dumps([{"question": "Q", "answer": "A", "first": hits, **hits}]))
    choices = refused(path).fix.partition(", since nothing says clearly which")[0].split(" or ")
    assert len(choices) == 2
    for choice in choices:
        made = plan(path, mapping=as_mapping(shlex.split(choice)))
        assert len(first(made).contexts or ()) == 2
