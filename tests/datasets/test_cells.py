"""The meaning of a cell: every form of contexts, ids, labels and numbers, and what is wrong with
the others.
"""

import time

import pytest

from ragassay.core import BadRow, Context
from ragassay.datasets import open_rows
from support.rows import samples


def one(**row):
    (item,) = (
        open_rows([{"question": "Q", **row}, {"question": "anchor"}], make_ids=False)
        .__iter__()
        .__next__(),
    )
    return item


CONTEXTS = {
    "a list of texts": (["a", "b"], (Context("a"), Context("b"))),
    "nothing retrieved": ([], ()),
    "absent": (None, None),
    "NaN from a data frame": (float("nan"), None),
    "a JSON list": ('["a", "b"]', (Context("a"), Context("b"))),
    "a JSON list of objects": (
        '[{"page_content": "a", "metadata": {"source": "s"}}]',
        (Context("a", "s"),),
    ),
    "a Python list": (
        "['it''s', \"b\\n\"]".replace("''", "\\'"),
        (Context("it's"), Context("b\n")),
    ),
    "an empty Python list": ("[ ]", ()),
    "a numpy array as text": ("['a' 'b'\n 'c']", (Context("a"), Context("b"), Context("c"))),
    "a Python list of objects": ("[{'text': 'a', 'score': None}]", (Context("a"),)),
    "one text": ("just a chunk", (Context("just a chunk"),)),
    "a text with a note mark": ("[1] a chunk", (Context("[1] a chunk"),)),
    "a list of numbers as text": ("[1, 2]", (Context("[1, 2]"),)),
    "code is never run": ("[__import__('os').getcwd()]", (Context("[__import__('os').getcwd()]"),)),
    "one object": ({"text": "a"}, (Context("a"),)),
    "objects of other tools": (
        [
            {"chunk": "a", "document_id": 3, "score": 1},
            {"document": {"content": "b", "id": "x"}, "score": 0.5},
        ],
        (Context("a", "3", 1.0), Context("b", "x", 0.5)),
    ),
    "an empty chunk": ([""], (Context(""),)),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_are_read_from(name):
    cell, expected = CONTEXTS[name]
    assert one(contexts=cell).contexts == expected


RELEVANT = {
    "a list": (["a", 2], {"a": 1.0, "2": 1.0}),
    "grades": ({"a": 3, "b": 0}, {"a": 3.0, "b": 0.0}),
    "a JSON text": ('{"a": 2}', {"a": 2.0}),
    "objects": ([{"doc_id": "a", "grade": 2}, {"doc_uri": "b"}], {"a": 2.0, "b": 1.0}),
    "one id": ("a", {"a": 1.0}),
    "none relevant": ([], {}),
    "twice the same at its best": ([{"id": "a", "grade": 1}, {"id": "a", "grade": 3}], {"a": 3.0}),
}


@pytest.mark.parametrize("name", RELEVANT)
def test_relevant_ids_are_read_from(name):
    cell, expected = RELEVANT[name]
    assert one(relevant_ids=cell).relevant_ids == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (True, True),
        ("no", False),
        (1, True),
        ("0", False),
        ("UNANSWERABLE", False),
        (None, None),
        ("", None),
    ],
)
def test_answerable_is_read_from(cell, expected):
    assert one(answerable=cell).answerable is expected


def test_labels_are_numbers_or_texts_and_true_is_one():
    sample = one(label=True, labels={"a": 2, "b": "good", "c": None})
    assert sample.labels == {"a": 2.0, "b": "good", "label": 1.0}


def test_ids_of_retrieved_documents_join_their_texts():
    assert one(contexts=["a", "b"], retrieved_context_ids=["x", 2]).contexts == (
        Context("a", "x"),
        Context("b", "2"),
    )


WRONG: dict[str, tuple[dict[str, object], str, str]] = {
    "a list as question": ({"question": [1]}, "E0303", "question is a list, expected a text"),
    "a number as question": ({"question": 42}, "E0303", "question is a number, expected a text"),
    "true as response": ({"response": True}, "E0303", "response is true or false, expected a text"),
    "a number as contexts": (
        {"contexts": 5},
        "E0303",
        "contexts is a number, expected a list of texts",
    ),
    "a null chunk": ({"contexts": ["a", None]}, "E0303", "contexts[1] is null, expected a text"),
    "a chunk without text": ({"contexts": [{"id": 1}]}, "E0303", "contexts[0] has no text"),
    "an infinite score": (
        {"contexts": [{"text": "a", "score": float("inf")}]},
        "E0304",
        "contexts[0].score",
    ),
    "true as an id": ({"id": True}, "E0303", "id is true or false"),
    "true as a cost": ({"cost": True}, "E0303", "cost is true or false, expected a number"),
    "a negative latency": ({"latency": -1}, "E0303", "latency is negative"),
    "half a token": ({"total_tokens": 1.5}, "E0303", "total_tokens is not a whole number"),
    "an infinite cost": ({"cost": float("inf")}, "E0304", "cost is not a finite number"),
    "10^400": ({"cost": 10**400}, "E0304", "cost is beyond the range of a double"),
    "nan in a text": ({"cost": "nan"}, "E0304", "cost is not a finite number"),
    "a list as answerable": (
        {"answerable": "perhaps"},
        "E0303",
        "answerable is a text, expected true or false",
    ),
    "a lone surrogate": (
        {"response": "a\ud800"},
        "E0305",
        "response holds an unpaired surrogate at character 1",
    ),
    "a nested label": ({"labels": {"a": [1]}}, "E0303", "labels['a'] is a list"),
    "a slice that is a list": ({"slice": ["a"]}, "E0303", "slice is a list"),
    "ids that do not fit": (
        {"contexts": ["a"], "context_ids": ["x", "y"]},
        "E0303",
        "context_ids must be a list of 1",
    ),
    "facts that are numbers": ({"expected_facts": [1]}, "E0303", "expected_facts[0] is a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_cell_is_a_bad_row(name):
    cells, code, says = WRONG[name]
    bad = one(**cells)
    assert isinstance(bad, BadRow)
    assert (bad.code, bad.line) == (code, 1)
    assert f"row 1: {says}" in bad.what
    assert bad.why
    assert bad.fix


def test_all_that_is_wrong_with_a_row_is_in_one_message_with_the_column_names():
    bad, _ = open_rows(
        [
            {"id": 7, "user_input": [1], "answer": {"a": 1}, "retrieved_contexts": ["a", 3]},
            {"user_input": "Q", "id": 8},
        ]
    )
    assert isinstance(bad, BadRow)
    assert bad.id == "7"
    assert (
        bad.what
        == "row 1: question is a list, expected a text (column user_input); contexts[1] is a"
        " number, expected a text (column retrieved_contexts); response is an object, expected a"
        " text (column answer)"
    )


def test_a_huge_or_deep_value_is_shown_short():
    deep: list = []
    for _ in range(900):
        deep = [deep]
    bad = one(question=deep, response={"k" * 10_000: 1})
    assert isinstance(bad, BadRow)
    assert len(bad.why) <= 200


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        "[" + "'a', " * 300_000 + "x]",
        "[" + "'\\n', " * 300_000 + "x]",
        "[{" + "'a': 1, " * 300_000 + "x]",
        "[" + "-" * 1_000_000,
    ],
    ids=["texts", "escaped texts", "pairs", "signs"],
)
def test_a_huge_cell_that_is_nearly_a_list_is_read_as_one_text_at_once(cell):
    began = time.process_time()
    assert one(contexts=cell).contexts == (Context(cell),)
    assert time.process_time() - began < 2


def test_a_huge_python_list_of_texts_is_still_a_list():
    texts = ["it's \\ one\n", 'a "b"', "c"] * 5_000
    assert [c.text for c in one(contexts=repr(texts)).contexts] == texts


def test_numbered_contexts_of_a_sheet_for_labels_are_read_as_they_were_written():
    cell = "[1] First, with [2] in it.\n\nStill the first.\n\n[2] Second."
    (sample,) = samples(open_rows([{"question": "Q", "contexts": cell}]))
    assert sample.contexts == (
        Context("First, with [2] in it.\n\nStill the first."),
        Context("Second."),
    )


def test_the_only_context_of_a_sheet_for_labels_has_no_number():
    sheet = {"annotator": "", "inclusion_probability": "1.0", "stratum": "2", "label": ""}
    (sample,) = samples(open_rows([{"question": "Q", "contexts": "[1] Only.", **sheet}]))
    assert sample.contexts == (Context("Only."),)
