"""Rows written in the shapes of other tools: what a shape holds reads back as it was, and what it
does not hold is named.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import (
    AppUsage,
    BadRow,
    Context,
    DataError,
    EnvironmentFailure,
    Sample,
    SetupError,
)
from ragassay.datasets import WRITTEN_SHAPES, open_rows, write_rows
from support.examples import examples
from support.rows import samples as read_samples

FULL = Sample(
    "a",
    question="Why?",
    contexts=(Context("c1", "d1", 0.5), Context("c2", "d2")),
    response="Because.",
    reference="R",
    expected_facts=("f",),
    relevant_ids={"d1": 2.0, "d9": 0.0},
    guidelines=("g",),
    answerable=True,
    slices={"lang": "en"},
    cluster="cl",
    usage=AppUsage(3, 4, 7, 0.25, 1.5),
    labels={"ok": 1.0},
    error="boom",
)
NATIVE = {"ragchecker": "json", "deepeval": "json", "ares": "tsv"}
KNOWN = ("expected_facts", "guidelines", "answerable", "slices", "cluster", "labels", "error")
TEXTS = ("question", "response", "reference")
# What each tool's rows have a place for, by its documentation: whole fields here, parts of fields
# below.
FIELDS = {
    "ragassay": (*TEXTS, "contexts", "relevant_ids", "usage", *KNOWN),
    "ragas": (*TEXTS, "contexts", "relevant_ids"),
    "deepeval": (*TEXTS, "contexts", "relevant_ids", "usage", *KNOWN),
    "mlflow": (*TEXTS, "contexts", "relevant_ids", "expected_facts", "guidelines"),
    "trulens": ("question", "response", "usage"),
    "ragchecker": (*TEXTS, "contexts"),
    "phoenix": ("question", "response", "contexts", "usage", "error"),
    "langsmith": (*TEXTS, "contexts", "relevant_ids", "usage", *KNOWN),
    "inspect": (*TEXTS, "contexts", "relevant_ids", "usage", *KNOWN),
}
SCORES = {"ragassay", "phoenix", "langsmith", "inspect"}
GRADES = {"ragassay", "deepeval", "langsmith", "inspect"}
USAGE = {
    "trulens": ("total_tokens", "cost", "latency"),
    "phoenix": ("input_tokens", "output_tokens", "total_tokens", "cost"),
}


def reduced(sample, shape):
    """The Sample with what the shape has no place for left out."""
    values = {name: getattr(sample, name) for name in FIELDS[shape]}
    if values.get("contexts"):
        named = shape != "ragas" or all(c.id is not None for c in sample.contexts)
        values["contexts"] = tuple(
            Context(c.text, c.id if named else None, c.score if shape in SCORES else None)
            for c in sample.contexts
        )
    if values.get("relevant_ids") and shape not in GRADES:
        values["relevant_ids"] = {
            doc: 1.0 for doc, grade in sample.relevant_ids.items() if grade >= 1
        }
    if values.get("usage"):
        parts = USAGE.get(
            shape, ("input_tokens", "output_tokens", "total_tokens", "cost", "latency")
        )
        usage = AppUsage(**{name: getattr(sample.usage, name) for name in parts})
        values["usage"] = usage if usage != AppUsage() else None
    return Sample(sample.id, **values)


unicode = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = unicode.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
amounts = st.floats(0, 1e12).map(lambda x: x + 0.0)
counts = st.integers(0, 2**53)
optional_usage = st.builds(
    AppUsage, *[st.none() | counts] * 3, st.none() | amounts, st.none() | amounts
).filter(lambda usage: usage != AppUsage())
contexts = st.lists(
    st.builds(Context, unicode, st.none() | names, st.none() | numbers), max_size=3
).map(tuple)
samples = st.builds(
    Sample,
    id=names,
    question=st.none() | unicode,
    contexts=st.none() | contexts,
    response=st.none() | unicode,
    reference=st.none() | unicode,
    expected_facts=st.none() | st.lists(unicode, max_size=2).map(tuple),
    relevant_ids=st.none() | st.dictionaries(names, numbers, max_size=2),
    guidelines=st.lists(unicode, max_size=2).map(tuple),
    answerable=st.none() | st.booleans(),
    slices=st.dictionaries(unicode, unicode, max_size=2),
    cluster=st.none() | unicode,
    usage=st.none() | optional_usage,
    labels=st.dictionaries(unicode, numbers | unicode, max_size=2),
    error=st.none() | names,
)
rows = st.lists(samples, min_size=1, max_size=3, unique_by=lambda sample: sample.id).filter(
    lambda found: any(
        sample.question is not None for sample in found
    )  # rows that say nothing at all are refused
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", FIELDS)
@given(written=rows)
@settings(max_examples=examples(40), deadline=None)
def test_what_a_shape_holds_reads_back_as_it_was(shape, written, tmp_path_factory):
    path = tmp_path_factory.mktemp("law") / f"rows.{NATIVE.get(shape, 'jsonl')}"
    report = write_rows(written, path, shape)
    read = list(open_rows(path))
    assert [replace(row, line=0) if isinstance(row, Sample) else row for row in read] == [
        reduced(sample, shape) for sample in written
    ]
    # Nothing is left out without a word, and nothing is called lost that was kept.
    changed = [sample.id for sample in written if reduced(sample, shape) != replace(sample, line=0)]
    assert bool(changed) == bool(report.lost)


filled = st.builds(
    Sample,
    id=names,
    question=names,
    contexts=contexts,
    response=names,
    reference=names,
    expected_facts=st.lists(unicode, min_size=1, max_size=2).map(tuple),
    relevant_ids=st.dictionaries(names, numbers, max_size=2),
    guidelines=st.lists(unicode, max_size=2).map(tuple),
    answerable=st.none() | st.booleans(),
    slices=st.dictionaries(unicode, unicode, max_size=2),
    cluster=names,
    usage=st.none() | optional_usage,
    labels=st.dictionaries(unicode, numbers, max_size=2),
    error=st.none() | names,
)


@pytest.mark.parametrize("label", ["answers", "replies", "documents", "contexts", "question"])
@pytest.mark.parametrize("shape", ["langsmith", "mlflow"])
def test_a_label_may_have_the_name_that_another_tool_gives_its_answers(shape, label, tmp_path):
    """A LangSmith table with a label "answers" was once read as the output of Haystack."""
    sample = Sample(
        id="a",
        question="How far?",
        contexts=(Context("It is two miles."),),
        response="Two miles.",
        labels={label: 1.0},
    )
    path = tmp_path / "rows.csv"
    write_rows([sample], path, shape)
    read = read_samples(open_rows(path))
    assert [replace(row, line=0) for row in read] == [reduced(sample, shape)]
    assert read[0].response == "Two miles."


@pytest.mark.parametrize("shape", FIELDS)
@given(written=st.lists(filled, min_size=1, max_size=2, unique_by=lambda sample: sample.id))
@settings(max_examples=examples(30), deadline=None)
def test_a_table_reads_back_as_it_was_where_no_text_is_empty(shape, written, tmp_path_factory):
    path = tmp_path_factory.mktemp("law") / "rows.csv"
    write_rows(written, path, shape)
    read = list(open_rows(path))
    assert [replace(row, line=0) if isinstance(row, Sample) else row for row in read] == [
        reduced(sample, shape) for sample in written
    ]


grades = st.none() | st.sampled_from([0.0, 1.0])


@given(names, names, names, grades, grades, grades)
@settings(max_examples=examples(60), deadline=None)
def test_an_ares_table_holds_one_document_and_its_three_labels(
    tmp_path_factory, question, document, answer, a, b, c
):
    marks = {
        "Context_Relevance_Label": a,
        "Answer_Relevance_Label": b,
        "Answer_Faithfulness_Label": c,
    }
    labels = {name: mark for name, mark in marks.items() if mark is not None}
    sample = Sample("x", question, (Context(document),), answer, labels=labels)
    path = tmp_path_factory.mktemp("law") / "rows.tsv"
    assert write_rows([sample], path, "ares").lost == {}
    assert [replace(row, line=0) for row in open_rows(path)] == [sample]


def test_what_an_ares_table_cannot_hold_is_named(tmp_path):
    two = Sample("a", "Q", (Context("c"), Context("d")), labels={"mine": 1.0})
    report = write_rows([two, Sample("b", "Q", response="A")], tmp_path / "rows.tsv", "ares")
    assert report.lost == {
        "contexts (absent, reads back as nothing retrieved)": 1,
        "contexts (joined into one document)": 1,
        "labels (of another name)": 1,
        "response (absent, reads back as empty)": 1,
    }
    assert report.missing == {"contexts": 1, "response": 1}
    odd = Sample("c", "", (Context(""),), "A", labels={"Answer_Relevance_Label": "1"})
    assert write_rows([odd], io.BytesIO(), "ares").lost == {
        "contexts (an empty text)": 1,
        "labels (a text that reads back as a number or as none)": 1,
        "question (empty, reads back as absent)": 1,
    }
    assert read_samples(open_rows(tmp_path / "rows.tsv"))[0].contexts == (Context("c\n\nd"),)


ROWS = {
    "ragas": {
        "id": "a",
        "user_input": "Why?",
        "retrieved_contexts": ["c1", "c2"],
        "retrieved_context_ids": ["d1", "d2"],
        "response": "Because.",
        "reference": "R",
        "reference_context_ids": ["d1"],
    },
    "mlflow": {
        "request_id": "a",
        "inputs": {"question": "Why?"},
        "outputs": {
            "response": "Because.",
            "retrieved_context": [
                {"content": "c1", "doc_uri": "d1"},
                {"content": "c2", "doc_uri": "d2"},
            ],
        },
        "expectations": {
            "expected_response": "R",
            "expected_facts": ["f"],
            "guidelines": ["g"],
            "expected_retrieved_context": [{"doc_uri": "d1"}],
        },
    },
    "trulens": {
        "record_id": "a",
        "input": "Why?",
        "output": "Because.",
        "latency": 1.5,
        "total_tokens": 7,
        "total_cost": 0.25,
    },
    "phoenix": {
        "context.span_id": "a",
        "attributes.input.value": "Why?",
        "attributes.output.value": "Because.",
        "attributes.retrieval.documents": [
            {"document.content": "c1", "document.id": "d1", "document.score": 0.5},
            {"document.content": "c2", "document.id": "d2"},
        ],
        "attributes.llm.token_count.prompt": 3,
        "attributes.llm.token_count.completion": 4,
        "attributes.llm.token_count.total": 7,
        "attributes.llm.cost.total": 0.25,
        "status_message": "boom",
    },
}


@pytest.mark.parametrize("shape", ROWS)
def test_a_row_is_written_with_the_tools_own_names(shape):
    stream = io.BytesIO()
    write_rows([FULL], stream, shape)
    assert json.loads(stream.getvalue()) == ROWS[shape]


def test_each_tool_gets_the_file_it_reads():
    text = {}
    for shape in WRITTEN_SHAPES:
        stream = io.StringIO()
        write_rows([FULL, replace(FULL, id="b")], stream, shape)
        text[shape] = stream.getvalue()
    ragchecker = json.loads(text.pop("ragchecker"))
    assert list(ragchecker) == ["results"]
    assert ragchecker["results"][0]["retrieved_context"][1] == {"doc_id": "d2", "text": "c2"}
    deepeval = json.loads(text.pop("deepeval"))
    assert [case["id"] for case in deepeval] == ["a", "b"]
    assert deepeval[0]["actual_output"] == "Because."
    table = list(csv.DictReader(io.StringIO(text.pop("ares")), delimiter="\t"))
    assert [row["Query"] for row in table] == ["Why?", "Why?"]
    assert all(len(lines.splitlines()) == 2 for lines in text.values())


def test_the_path_says_the_format_and_gz_packs_the_same_bytes_each_time(tmp_path):
    for name in ("a.json", "a.jsonl", "a.csv", "a.tsv", "a.jsonl.gz", "a.csv.gz"):
        write_rows([FULL], tmp_path / name, "ragassay")
        assert [replace(row, line=0) for row in open_rows(tmp_path / name)] == [FULL], name
    first = (tmp_path / "a.jsonl.gz").read_bytes()
    write_rows([FULL], tmp_path / "b.jsonl.gz", "ragassay")
    assert (tmp_path / "b.jsonl.gz").read_bytes() == first
    assert gzip.decompress(first) == (tmp_path / "a.jsonl").read_bytes()
    write_rows([FULL], tmp_path / "no-ending", "ragchecker")
    assert json.loads((tmp_path / "no-ending").read_text())["results"][0]["query_id"] == "a"


def test_the_report_says_what_was_written_and_what_was_not(tmp_path):
    path = tmp_path / "rows.jsonl"
    report = write_rows([FULL, BadRow("line-2", 2, "E0301", "broken"), Sample("c")], path, "mlflow")
    assert (report.rows, report.bad) == (2, 1)
    assert report.lines == (
        f"wrote 2 rows as mlflow to {path}",
        "left out 1 row that could not be read",
        (
            "not held by mlflow, so left out: answerable (1 row), cluster (1 row), contexts.score"
            " (1 row), error (1 row), labels (1 row), relevant_ids.grade (1 row), slices (1 row),"
            " usage.cost (1 row), usage.input_tokens (1 row), usage.latency (1 row),"
            " usage.output_tokens (1 row), usage.total_tokens (1 row)"
        ),
        "mlflow cannot do without what some rows lack: question (1 row)",
    )
    assert write_rows([FULL], path, "ragassay").lost == {}


def test_metadata_that_first_appears_late_is_read_and_reported(tmp_path):
    path = tmp_path / "rows.jsonl"
    plain = [Sample(f"r{n}", "Q", reference="R") for n in range(300)]
    write_rows([*plain, replace(FULL, id="last")], path, "inspect")
    data = open_rows(path)
    assert replace(list(data)[-1], line=0) == replace(FULL, id="last")
    assert "read metadata.labels as labels" in data.scan().lines
    write_rows(plain, path, "inspect")
    assert not any("labels" in line for line in open_rows(path).scan().lines)


def test_a_file_is_replaced_only_when_everything_was_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("as it was")

    def fails():
        yield FULL
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(fails(), path, "ragassay")
    with pytest.raises(DataError, match="cannot be written") as caught:
        write_rows([FULL, Sample("b", question="\ud800")], path, "ragas")
    assert caught.value.code == "E0305"
    with pytest.raises(DataError, match="cannot be written"):
        write_rows([Sample("b", question="\ud800")], tmp_path / "rows.csv", "ragas")
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]
    write_rows(open_rows([FULL]), path, "ragassay")
    write_rows(open_rows(path), path, "ragassay")  # a file may be written over itself
    assert [replace(row, line=0) for row in open_rows(path)] == [FULL]


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(SetupError, match="Did you mean 'deepeval'"):
        write_rows([FULL], tmp_path / "rows.json", "deep-eval")
    with pytest.raises(SetupError, match=r"cannot be written as \.parquet"):
        write_rows([FULL], tmp_path / "rows.parquet", "ragas")
    with pytest.raises(EnvironmentFailure) as caught:
        write_rows([FULL], tmp_path / "no" / "rows.jsonl", "ragas")
    assert caught.value.code == "E0107"
    with pytest.raises(EnvironmentFailure):
        write_rows([FULL], tmp_path, "ragas")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_memory_follows_one_row_not_their_number(tmp_path):
    row = replace(FULL, contexts=(Context("x" * 10_000),))
    for shape in ("ragassay", "ragchecker", "ares"):
        tracemalloc.start()
        write_rows(
            (replace(row, id=str(n)) for n in range(1_000)), tmp_path / f"rows.{shape}", shape
        )  # 10 MB
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_500_000, shape
