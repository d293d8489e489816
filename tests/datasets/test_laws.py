"""Laws of the readers: nothing but our errors, every line accounted for, and rows that read back as
they were.
"""

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragassay.core import AppUsage, BadRow, Context, DataError, RagAssayError, Sample
from ragassay.datasets import from_record, open_rows, to_record
from support.examples import examples

unicode = st.text(st.characters(exclude_categories=["Cs"]))
names = unicode.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False)
amounts = st.floats(0, 1e12)
counts = st.integers(0, 2**53)
contexts = st.builds(Context, unicode, st.none() | names, st.none() | numbers)
samples = st.builds(
    Sample,
    id=names,
    question=unicode,
    contexts=st.none() | st.lists(contexts, max_size=4).map(tuple),
    response=st.none() | unicode,
    reference=st.none() | unicode,
    expected_facts=st.none() | st.lists(unicode, max_size=3).map(tuple),
    relevant_ids=st.none() | st.dictionaries(unicode, numbers, max_size=3),
    guidelines=st.lists(unicode, max_size=2).map(tuple),
    answerable=st.none() | st.booleans(),
    slices=st.dictionaries(unicode, unicode, max_size=2),
    cluster=st.none() | unicode,
    usage=st.none()
    | st.builds(
        AppUsage,
        st.none() | counts,
        st.none() | counts,
        st.none() | counts,
        st.none() | amounts,
        st.none() | amounts,
    ),
    labels=st.dictionaries(unicode, numbers | unicode, max_size=2),
    line=st.just(1),
)


def listed(data, name, **options):
    """All rows of these bytes as a file, or None when the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            return list(open_rows(path, **options))
        except RagAssayError:
            return None


@given(samples)
def test_a_sample_reads_back_from_its_record(sample):
    assert from_record(to_record(sample)) == replace(sample, line=0)
    assert list(open_rows([to_record(sample)])) == [sample]


@given(samples)
@settings(max_examples=examples(50), deadline=None)
def test_a_sample_reads_back_from_a_file_of_its_record(sample):
    line = json.dumps(to_record(sample), ensure_ascii=False).encode()
    assert listed(line, "rows.jsonl") == [sample]
    assert listed(b"[" + line + b"]", "rows.json") == [sample]


@given(st.lists(st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")), max_size=6))
@settings(max_examples=examples(200), deadline=None)
def test_any_bytes_as_json_lines_give_a_row_for_every_line(lines):
    whole = b'{"question": "Q"}\n' + b"\n".join(lines)
    items = listed(whole, "rows.jsonl")
    assert items is not None
    assert [item.line for item in items] == [
        1,
        *(n for n, line in enumerate(lines, 2) if line.strip(b" \t\r\n\v\f")),
    ]


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = [
    "id",
    "question",
    "contexts",
    "context_ids",
    "response",
    "reference",
    "expected_facts",
    "relevant_ids",
    "guidelines",
    "answerable",
    "slices",
    "slice",
    "cluster",
    "labels",
    "label",
    "usage",
    "latency",
    "cost",
    "total_tokens",
]


@pytest.mark.slow
@example({"labels": [[None, None], [[], None]]})
@given(st.dictionaries(st.sampled_from(FIELDS), json_like, max_size=8))
@settings(max_examples=examples(300), deadline=None)
def test_any_json_in_any_field_is_a_sample_or_a_bad_row(row):
    anchor = {"question": "Q"}
    anchor_item, item = open_rows([anchor, row])
    assert isinstance(anchor_item, Sample)
    assert isinstance(item, Sample | BadRow)
    if isinstance(item, Sample):
        again = from_record(to_record(item))
        assert replace(again, line=2) == item
        json.dumps(to_record(item), allow_nan=False)  # no NaN or infinity got in


@given(st.binary(max_size=200))
@settings(max_examples=examples(150), deadline=None)
def test_any_bytes_in_any_format_raise_nothing_but_our_errors(data):
    for name in ("a.jsonl", "a.json", "a.csv", "a.tsv", "a.jsonl.gz"):
        for items in (listed(data, name), listed(b"question,answer\n" + data, name)):
            assert items is None or all(isinstance(item, Sample | BadRow) for item in items)


@given(st.text('{}[],:"\\ \nab1', max_size=60))
@settings(max_examples=examples(200), deadline=None)
def test_any_brackets_and_quotes_as_an_array_keep_the_row_before_them(text):
    items = listed(b'[{"question": "Q"},' + text.encode(), "a.json")
    assert items is not None
    assert items[0].question == "Q"


@given(
    st.lists(
        st.lists(
            st.text(
                st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=8
            ),
            min_size=1,
            max_size=4,
        ),
        max_size=5,
    )
)
@settings(max_examples=examples(150), deadline=None)
def test_every_line_of_a_csv_that_says_something_is_a_row(rows):
    lines = [",".join(row).replace('"', "") for row in rows]
    items = listed(("question,answer\nQ,A\n" + "\n".join(lines)).encode(), "a.csv")
    assert items is not None
    assert len(items) == 1 + sum(line.replace(",", "").strip() != "" for line in lines)


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 255))
@settings(max_examples=examples(100), deadline=None)
def test_damage_to_a_gzip_file_is_never_a_crash(data, place, byte):
    packed = bytearray(gzip.compress(b'{"question": "Q"}\n' * 20 + data))
    packed[place % len(packed)] = byte
    items = listed(bytes(packed), "a.jsonl.gz")
    assert items is None or items


def test_a_record_that_is_none_of_ours_is_a_data_error():
    with pytest.raises(DataError, match="question is a list"):
        from_record({"id": "a", "question": []})


@pytest.mark.parametrize("done", [(), (0,), (1, 2), (0, 1, 2, 3), (4,), range(5)])
def test_what_is_left_of_a_file_is_what_reading_all_of_it_gives(tmp_path, done):
    path = tmp_path / "rows.jsonl"
    lines = [
        '{"id": "a", "question": "q"}',
        '{"id": "b", "late": 1, "response": "r"}',
        "not JSON",
        "",
        '{"id": "c", "context": "x"}',
    ]
    path.write_text("\n".join([*lines, '{"id": "d", "contexts": ["y"]}']))
    dataset = open_rows(path)
    every = list(enumerate(dataset))
    assert len(every) == 5
    assert list(dataset.rest(done)) == [(index, row) for index, row in every if index not in done]


def test_a_file_is_known_again_by_its_bytes_and_rows_in_memory_are_not(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "question": "q"}\n')
    dataset = open_rows(path)
    before = dataset.scan().source_hash
    assert dataset.unchanged(before)
    path.write_text('{"id": "a", "question": "p"}\n')
    assert not open_rows(path).unchanged(before)
    rows = open_rows([{"id": "a", "question": "q"}])
    assert not rows.unchanged(rows.scan().source_hash)
