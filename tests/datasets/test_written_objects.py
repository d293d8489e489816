"""Objects and lists that a cell holds as JSON: the tables that tools export have them so."""

import csv
import json

import pytest

from ragassay.core import Context, SetupError
from ragassay.datasets import open_rows
from support.rows import samples

DOCUMENT = {"page_content": "Rovers won in Leeds.", "metadata": {}, "type": "Document"}
RUN = {
    "run_id": "r-0",
    "start_time": "2026-11-01T00:00:00",
    "inputs": json.dumps({"question": "Who won?"}),
    "outputs": json.dumps({"answer": "Rovers.", "documents": [DOCUMENT]}),
    "status": "success",
}


@pytest.fixture
def csv_file(tmp_path):
    def write(*rows):
        path = tmp_path / "rows.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def test_runs_of_langsmith_in_a_csv_file_are_read_inside_their_json(csv_file):
    dataset = open_rows(csv_file(RUN))
    (sample,) = samples(dataset)
    assert dataset.columns.shape == "LangSmith"
    assert (sample.id, sample.question, sample.response) == ("r-0", "Who won?", "Rovers.")
    assert sample.contexts == (Context("Rovers won in Leeds."),)


def test_runs_whose_retrieval_found_nothing_have_no_response(csv_file):
    silent = {**RUN, "run_id": "r-1", "outputs": json.dumps({"answer": None, "documents": []})}
    sample = samples(open_rows(csv_file(RUN, silent)))[1]
    assert (sample.response, sample.contexts) == (None, ())


def test_map_walks_into_json_and_into_its_lists(csv_file):
    path = csv_file(
        {"in": '{"text": {"q": "Why?"}}', "out": '{"steps": [{"got": ["c"]}, {"said": "A"}]}'}
    )
    mapping = {
        "question": "in.text.q",
        "contexts": "out.steps.0.got",
        "response": "out.steps.1.said",
    }
    (sample,) = samples(open_rows(path, mapping=mapping))
    assert (sample.question, sample.response) == ("Why?", "A")
    assert sample.contexts == (Context("c"),)


def test_map_refuses_a_place_in_a_list_that_no_row_has(csv_file):
    path = csv_file({"question": "Q", "out": '[{"said": "A"}]'})
    with pytest.raises(SetupError) as caught:
        open_rows(path, mapping={"response": "out.1.said"})
    assert caught.value.code == "E0308"


@pytest.mark.parametrize("file", [True, False])
def test_an_answer_in_json_is_read_and_told(csv_file, file):
    row = {"question": "Q", "response": '{"answer": "A", "confidence": 0.9}'}
    dataset = open_rows(csv_file(row) if file else [row])
    (sample,) = samples(dataset)
    assert sample.response == "A"
    assert dataset.scan().notes == ("1 row has its response inside the JSON of response",)


def test_json_without_a_known_answer_is_told_and_kept_as_the_text_that_it_is(csv_file):
    response = '{"city": "Leeds"}'
    dataset = open_rows(csv_file({"question": "Q", "response": response}))
    (sample,) = samples(dataset)
    assert sample.response == response
    note = "1 row has JSON without a known response in response; read as a text"
    assert dataset.scan().notes == (note,)


def test_a_conversation_in_json_has_its_question_and_its_answer(csv_file):
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]
    (sample,) = samples(open_rows(csv_file({"messages": json.dumps(messages)})))
    assert (sample.question, sample.response) == ("Why?", "Because.")


@pytest.mark.parametrize("text", ["[1] says so.", "{name} is the placeholder.", '["a", "b"]'])
def test_a_text_that_begins_with_a_bracket_is_the_text(csv_file, text):
    dataset = open_rows(csv_file({"question": "Q", "response": text}))
    (sample,) = samples(dataset)
    assert (sample.response, dataset.scan().notes) == (text, ())


def conversation(given):
    return {
        "messages": [
            {"role": "user", "content": "Why?"},
            {"role": "tool", "name": "search", "content": given},
            {"role": "assistant", "content": "Because."},
        ]
    }


@pytest.mark.parametrize(
    ("given", "contexts"),
    [
        ('[{"text": "a"}, {"text": "b", "id": "7"}]', (Context("a"), Context("b", "7"))),
        ('["a", "b"]', (Context("a"), Context("b"))),
        ('{"documents": [{"page_content": "a"}]}', (Context("a"),)),
        ('{"results": ["a"]}', (Context("a"),)),
        # Of these nothing is known to be a document.
        ('[{"price": 7}]', (Context('[{"price": 7}]'),)),
        ('{"price": 7}', (Context('{"price": 7}'),)),
        ("[1] a", (Context("[1] a"),)),
    ],
)
def test_documents_that_a_tool_gave_as_json_are_contexts_each(given, contexts):
    (sample,) = samples(open_rows([conversation(given)]))
    assert sample.contexts == contexts


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("reference_outputs", {"answer": "The Rovers."}),
        ("reference_outputs", {"expected": "The Rovers."}),
        ("reference", {"ground_truth": "The Rovers.", "source": "gold.md"}),
        ("expected_output", {"output": "The Rovers."}),
    ],
)
def test_the_right_answer_is_read_inside_its_json(csv_file, name, written):
    row = {key: RUN[key] for key in ("inputs", "outputs")} | {name: json.dumps(written)}
    dataset = open_rows(csv_file(row))
    (sample,) = samples(dataset)
    assert (sample.response, sample.reference) == ("Rovers.", "The Rovers.")
    note = f"1 row has its reference inside the JSON of {name}"
    assert note in dataset.scan().notes


def test_a_right_answer_of_json_without_a_known_name_stays_the_text_that_it_is(csv_file):
    dataset = open_rows(csv_file({"question": "Q", "response": "A", "reference": '{"x": 1}'}))
    assert samples(dataset)[0].reference == '{"x": 1}'
    assert dataset.scan().notes == (
        "1 row has JSON without a known reference in reference; read as a text",
    )
