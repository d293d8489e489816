"""The columns that are recognised: the rows of other tools, --map, and what is refused."""

import json

import pytest

from ragassay.core import Context, DataError, Sample, SetupError
from ragassay.datasets import open_rows
from support.present import present
from support.rows import samples

SHAPES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "Ragas": (
        {
            "user_input": "Q",
            "retrieved_contexts": ["c"],
            "response": "A",
            "reference": "R",
            "reference_contexts": ["c"],
        },
        {"question": "Q", "contexts": (Context("c"),), "response": "A", "reference": "R"},
    ),
    "older Ragas": (
        {"question": "Q", "contexts": ["c"], "answer": "A", "ground_truths": ["R"]},
        {"question": "Q", "contexts": (Context("c"),), "response": "A", "reference": "R"},
    ),
    "DeepEval": (
        {
            "input": "Q",
            "actual_output": "A",
            "expected_output": "R",
            "retrieval_context": ["c"],
            "context": ["ideal"],
        },
        {"question": "Q", "contexts": (Context("c"),), "response": "A", "reference": "R"},
    ),
    "TruLens": (
        {
            "record_id": "r1",
            "input": "Q",
            "output": "A",
            "latency": 2,
            "total_tokens": 12,
            "total_cost": 0.5,
        },
        {"id": "r1", "question": "Q", "response": "A"},
    ),
    "Databricks Agent Evaluation": (
        {
            "request_id": "r",
            "request": {
                "messages": [{"role": "user", "content": "old"}, {"role": "user", "content": "Q"}]
            },
            "response": {"choices": [{"message": {"role": "assistant", "content": "A"}}]},
            "retrieved_context": [{"content": "c", "doc_uri": "d1"}],
            "expected_response": "R",
            "expected_retrieved_context": [{"doc_uri": "d1"}],
            "guidelines": {"tone": ["be kind"]},
            "expected_facts": ["f"],
        },
        {
            "id": "r",
            "question": "Q",
            "response": "A",
            "contexts": (Context("c", "d1"),),
            "reference": "R",
            "relevant_ids": {"d1": 1.0},
            "guidelines": ("be kind",),
            "expected_facts": ("f",),
        },
    ),
    "MLflow": (
        {
            "inputs": {"question": "Q"},
            "outputs": {"response": "A", "retrieved_context": [{"content": "c"}]},
            "expectations": {
                "expected_response": "R",
                "expected_facts": ["f"],
                "guidelines": ["g"],
            },
        },
        {
            "question": "Q",
            "response": "A",
            "reference": "R",
            "expected_facts": ("f",),
            "guidelines": ("g",),
            "contexts": (Context("c"),),
        },
    ),
    "RAGChecker": (
        {
            "query_id": 7,
            "query": "Q",
            "gt_answer": "R",
            "response": "A",
            "retrieved_context": [{"doc_id": "d", "text": "c"}],
        },
        {
            "id": "7",
            "question": "Q",
            "response": "A",
            "reference": "R",
            "contexts": (Context("c", "d"),),
        },
    ),
    "Phoenix": (
        {
            "context.span_id": "s",
            "attributes.input.value": "Q",
            "attributes.output.value": "A",
            "attributes.retrieval.documents": [
                {"document.content": "c", "document.id": "d", "document.score": 0.5}
            ],
        },
        {"id": "s", "question": "Q", "response": "A", "contexts": (Context("c", "d", 0.5),)},
    ),
    "RagAssay": (
        {
            "id": "x",
            "question": "Q",
            "contexts": ["c"],
            "response": "A",
            "relevant_ids": {"d": 2},
            "answerable": True,
        },
        {
            "id": "x",
            "question": "Q",
            "response": "A",
            "contexts": (Context("c"),),
            "relevant_ids": {"d": 2.0},
            "answerable": True,
        },
    ),
}


def test_docs_beside_another_name_for_contexts_are_passed_over():
    row = next(iter(open_rows([{"query": "Q", "docs": 7, "documents": ["c"], "answer": "A"}])))
    assert isinstance(row, Sample)
    assert row.contexts == (Context("c"),)


def test_docs_of_a_hand_made_file_are_its_contexts():
    rows = open_rows([{"query": "Q", "docs": ["c"], "answer": "A"}])
    row = next(iter(rows))
    assert isinstance(row, Sample)
    assert (row.question, row.contexts, row.response) == ("Q", (Context("c"),), "A")


@pytest.mark.parametrize("name", SHAPES)
def test_the_rows_of_each_tool_are_recognised_and_the_tool_is_named(name, tmp_path):
    row, expected = SHAPES[name]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    data = open_rows(path)
    (sample,) = data
    assert isinstance(sample, Sample)
    assert {field: getattr(sample, field) for field in expected} == expected
    assert data.scan().lines[0] == f"looks like {name} rows"
    (again,) = open_rows([row])
    assert again == sample


def test_nested_phoenix_spans_are_read_by_dotted_names():
    row = {
        "attributes": {
            "input": {"value": "Q"},
            "output": {"value": "A"},
            "retrieval": {"documents": [{"document": {"content": "c", "id": "d"}}]},
        }
    }
    data = open_rows([row])
    (sample,) = samples(data)
    assert (sample.question, sample.response, sample.contexts) == ("Q", "A", (Context("c", "d"),))
    assert "read attributes.input.value as question" in data.scan().lines


def test_phoenix_reference_is_the_retrieved_text_and_a_span_is_a_cluster_of_its_documents():
    rows = [
        {"context.span_id": "s", "input": "Q", "reference": f"chunk {n}", "document_position": n}
        for n in (0, 1)
    ]
    first, second = samples(open_rows(rows))
    assert first.contexts == (Context("chunk 0"),)
    assert (first.reference, first.cluster, first.id, second.id) == (None, "s", "row-1", "row-2")


def test_usage_columns_become_the_applications_usage():
    row = {
        "question": "Q",
        "prompt_tokens": 3,
        "completionTokens": 4.0,
        "Latency": 1.5,
        "cost": "0.25",
    }
    (sample,) = samples(open_rows([row]))
    usage = present(sample.usage)
    assert (usage.input_tokens, usage.output_tokens) == (3, 4)
    assert (usage.latency, usage.cost) == (1.5, 0.25)
    assert usage.total_tokens is None


def test_names_are_compared_without_case_camel_case_blanks_and_hyphens():
    row = {"User Input": "Q", "retrievedContexts": ["c"], "RESPONSE": "A"}
    (sample,) = samples(open_rows([row]))
    assert (sample.question, sample.contexts, sample.response) == ("Q", (Context("c"),), "A")


def test_the_fields_own_name_wins_over_another_name():
    data = open_rows([{"question": "own", "query": "other", "answer": "A"}])
    assert samples(data)[0].question == "own"
    assert "ignored query" in data.scan().lines


def test_two_columns_for_one_field_are_refused_with_the_map_options():
    with pytest.raises(SetupError) as caught:
        open_rows([{"query": "a", "prompt": "b", "answer": "A"}])
    assert caught.value.code == "E0311"
    fix = "say which: mapping={'question': 'query'} or mapping={'question': 'prompt'}"
    assert caught.value.fix == fix


def test_all_fields_of_which_several_columns_could_be_one_are_named_at_once():
    with pytest.raises(SetupError) as caught:
        open_rows([{"query": "a", "prompt": "b", "answer": "A", "output": "B"}])
    assert caught.value.code == "E0311"
    assert caught.value.why == "question: query, prompt; response: answer, output"
    assert "mapping={'question': 'query', 'response': 'answer'}, or" in caught.value.fix


def test_map_decides_between_them_and_reads_dotted_columns():
    row = {"query": "a", "prompt": {"text": "b"}, "answer": "A"}
    (sample,) = samples(open_rows([row], mapping={"question": "prompt.text"}))
    assert sample.question == "b"


@pytest.mark.parametrize(
    ("mapping", "slices", "says"),
    [
        ({"question": "qestion"}, (), "Did you mean 'frage'?"),
        ({"quesiton": "frage"}, (), "Did you mean 'question'?"),
        ({"frage": "question"}, (), "write mapping={'question': 'frage'}"),
        ({}, ("sprach",), "Did you mean 'sprache'?"),
    ],
)
def test_a_wrong_name_in_map_or_slices_is_refused_with_the_nearest(mapping, slices, says):
    if says == "Did you mean 'frage'?":
        mapping = {"question": "frag"}
    with pytest.raises(SetupError) as caught:
        open_rows(
            [{"frage": "Q", "sprache": "de", "response": "A"}], mapping=mapping, slices=slices
        )
    assert caught.value.code == "E0308"
    assert says in str(caught.value)


def test_no_known_column_is_refused_with_the_columns_and_a_command_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"my_query_text": "Q", "bot reply": "A", "doc_blob": "A text of some words."}
    path.write_text(json.dumps(row))
    with pytest.raises(SetupError) as caught:
        open_rows(path)
    assert caught.value.code == "E0307"
    assert "my_query_text, bot reply, doc_blob" in caught.value.why
    assert (
        "--map question=my_query_text --map contexts=doc_blob --map response='bot reply'"
        in caught.value.fix
    )


def test_slices_come_from_a_slice_column_an_object_and_the_named_columns():
    row = {
        "question": "Q",
        "slice": "web",
        "slices": {"lang": "en", "n": 3, "none": None},
        "hop": 2.0,
        "easy": True,
    }
    data = open_rows([row], slices=["hop", "easy"])
    (sample,) = samples(data)
    assert sample.slices == {"slice": "web", "lang": "en", "n": "3", "hop": "2", "easy": "true"}
    assert data.scan().mapping["hop"] == "slice"


def test_a_column_that_first_appears_later_is_read_if_its_field_is_free(tmp_path):
    path = tmp_path / "late.jsonl"
    rows = [{"query": "Q"}] * 300 + [{"query": "Q", "answer": "A", "prompt": "P"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = open_rows(path)
    assert [sample.response for sample in samples(data)][-1] == "A"
    scan = data.scan()
    assert scan.mapping == {"query": "question", "answer": "response"}
    assert "ignored prompt: first seen in line 301; question is read from query" in scan.lines


def test_numbered_columns_of_chunks_are_contexts_in_the_order_of_their_numbers():
    row = {"question": "Q", "Chunk 10": "c", "Chunk 2": "b", "Chunk 1": "a", "response": "A"}
    dataset = open_rows([row, {**row, "Chunk 10": None}])
    first, second = samples(dataset)
    assert first.contexts == (Context("a"), Context("b"), Context("c"))
    assert second.contexts == (Context("a"), Context("b"))
    assert dataset.scan().ignored == ()


@pytest.mark.parametrize("stem", ["KB Snippet", "retrieved-excerpt", "Passage"])
def test_what_ends_in_a_word_for_a_chunk_is_one_where_it_is_numbered(stem: str):
    dataset = open_rows([{"question": "Q", f"{stem} 1": "a", f"{stem} 2": "b", "response": "A"}])
    assert samples(dataset)[0].contexts == (Context("a"), Context("b"))


@pytest.mark.parametrize("stem", ["gold passage", "relevant_chunk", "Ticket"])
def test_numbered_columns_of_what_was_not_retrieved_are_no_contexts(stem: str):
    row = {"question": "Q", f"{stem} 1": "a", f"{stem} 2": "b", "response": "A"}
    assert set(open_rows([row]).scan().ignored) == {f"{stem} 1", f"{stem} 2"}


@pytest.mark.parametrize("other", [{"contexts": ["x"]}, {"passage_1": "y", "passage_2": "z"}])
def test_numbered_columns_are_not_read_beside_others_that_may_be_meant(other):
    dataset = open_rows([{"question": "Q", "chunk_1": "a", "chunk_2": "b", **other}])
    assert {"chunk_1", "chunk_2"} <= set(dataset.scan().ignored)


def test_map_joins_columns_of_contexts_in_the_order_given():
    rows = [{"question": "Q", "first": "a", "second": ["b", "c"]}]
    (sample,) = samples(open_rows(rows, mapping={"contexts": "second,first"}))
    assert sample.contexts == (Context("b"), Context("c"), Context("a"))


def test_a_column_with_a_comma_in_its_name_is_one_column():
    (sample,) = samples(open_rows([{"question": "Q", "a,b": "c"}], mapping={"contexts": "a,b"}))
    assert sample.contexts == (Context("c"),)


def test_a_joined_column_that_is_not_there_is_named():
    with pytest.raises(SetupError) as caught:
        open_rows([{"question": "Q", "first": "a"}], mapping={"contexts": "first,sceond"})
    assert "no column 'sceond'" in caught.value.what


def test_the_numbers_of_rows_that_pandas_writes_are_no_question(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",query,response\n0,Why?,Because.\n")
    dataset = open_rows(path)
    assert samples(dataset)[0].question == "Why?"
    assert "ignored a column without a name" in dataset.scan().lines


@pytest.mark.parametrize(
    ("row", "fix"),
    [
        ({"contexts": ["c"]}, "leave it out: contexts is read by its own name"),
        ({"passage_text": ["c"]}, "fields: id, question"),
    ],
)
def test_map_that_names_no_field_advises_nothing_that_fails(row, fix):
    with pytest.raises(SetupError) as caught:
        open_rows([{"question": "Q", **row}], mapping={"contxt": "contexts"})
    assert caught.value.fix.startswith(fix)


def test_rows_in_python_without_known_columns_are_told_how_to_map_in_python():
    with pytest.raises(SetupError) as caught:
        open_rows([{"q": "Why?", "x": 1}])
    assert caught.value.code == "E0307"
    assert (
        caught.value.fix == "name the columns: mapping={'question': 'COLUMN', 'response': 'COLUMN'}"
    )


def test_a_file_is_told_of_in_the_words_of_the_command_and_rows_in_memory_in_those_of_python(
    tmp_path,
):
    row = {"query": "a", "user prompt": "b", "answer": "A"}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([row]))
    fixes = {}
    for source in (path, [row]):
        with pytest.raises(SetupError) as caught:
            open_rows(source)
        fixes[type(source)] = caught.value.fix
    assert fixes[list].endswith("or mapping={'question': 'user prompt'}")
    assert fixes[type(path)].endswith("or --map question='user prompt'")
    twice = [{"id": "a", "question": "Q"}, {"id": "a", "question": "R"}]
    with pytest.raises(DataError, match=r"position: make_ids=True"):
        open_rows(twice).scan()


def test_an_unknown_field_lists_the_fields_also_where_its_column_is_one(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"question": "Q", "response": "A"}]))
    with pytest.raises(SetupError) as caught:
        open_rows(path, mapping={"foo": "response"})
    assert caught.value.fix.startswith(
        "leave it out: response is read by its own name; fields: id, question, contexts,"
    )
