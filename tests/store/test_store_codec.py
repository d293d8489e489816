"""Every core value comes back from its bytes as it was; what cannot be kept exactly is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import (
    AppUsage,
    BadRow,
    Cause,
    Context,
    Counts,
    Diagnosis,
    Evidence,
    Figure,
    JudgeInfo,
    Judgment,
    Ledger,
    Manifest,
    Part,
    RowResult,
    Sample,
    Score,
    Spend,
    Status,
    Verdict,
)
from ragassay.store import codec, lines
from support.examples import examples

text = st.text(st.characters(), max_size=12)  # lone surrogates, NUL and all other planes are in
number = st.floats(allow_nan=False, allow_infinity=False)
words = st.lists(text, max_size=3).map(tuple)
maybe_number, maybe_text = st.none() | number, st.none() | text
table = st.dictionaries(text, text, max_size=2)
mixed = st.dictionaries(text, number | text, max_size=2)
nested = st.recursive(
    st.none() | st.booleans() | number | st.integers(-(2**80), 2**80) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=5,
)

FIELDS: dict[type, dict[str, st.SearchStrategy[Any]]] = {
    Spend: {"cost": maybe_number, "seconds": number},
    Evidence: {"quote": text},
    Judgment: {
        "key": text,
        "rating": st.none() | number | text,
        "value": maybe_number,
        "rationale": text,
        "evidence": st.lists(st.builds(Evidence), max_size=2).map(tuple),
        "texts": words,
        "flags": words,
        "passes": st.none() | st.booleans(),
        "spend": st.builds(Spend),
        "probability": maybe_number,
    },
    Context: {"text": text, "id": maybe_text, "score": maybe_number},
    AppUsage: {"cost": maybe_number, "latency": maybe_number},
    Sample: {
        "id": text,
        "question": maybe_text,
        "contexts": st.none() | st.lists(st.builds(Context), max_size=2).map(tuple),
        "response": maybe_text,
        "reference": maybe_text,
        "expected_facts": st.none() | words,
        "relevant_ids": st.none() | st.dictionaries(text, number, max_size=2),
        "guidelines": words,
        "answerable": st.none() | st.booleans(),
        "slices": table,
        "cluster": maybe_text,
        "usage": st.none() | st.builds(AppUsage),
        "labels": mixed,
    },
    BadRow: {"id": text, "what": text, "why": text},
    Part: {
        "text": text,
        "rating": st.none() | number | text,
        "value": maybe_number,
        "probability": maybe_number,
        "weight": maybe_number,
        "evidence": st.lists(st.builds(Evidence), max_size=1).map(tuple),
        "flags": words,
        "passed": st.none() | st.booleans(),
        "start": st.none() | st.integers(0, 99),
    },
    Counts: {},
    Score: {
        "metric": text,
        "value": maybe_number,
        "reason": text,
        "parts": st.lists(st.builds(Part), max_size=2).map(tuple),
        "verdict": st.none() | st.sampled_from(Verdict),
        "pass_mark": maybe_number,
        "flags": words,
        "extra": st.dictionaries(text, number, max_size=2),
        "counts": st.builds(Counts),
    },
    Cause: {"name": text, "detail": text},
    Diagnosis: {
        "verdict": st.none() | st.sampled_from(Verdict),
        "cause": st.none() | st.builds(Cause),
        "others": st.lists(st.builds(Cause), max_size=2).map(tuple),
        "pattern": text,
    },
    RowResult: {
        "sample": st.none() | st.builds(Sample),
        "bad": st.none() | st.builds(BadRow),
        "scores": st.lists(st.builds(Score), max_size=2).map(tuple),
        "diagnosis": st.builds(Diagnosis),
        "done": st.booleans(),
    },
    JudgeInfo: {"rubrics": table, "fingerprints": table, "agreement": text},
    Manifest: {
        "name": text,
        "mapping": table,
        "metrics": words,
        "judge": st.builds(JudgeInfo),
        "options": st.dictionaries(text, nested, max_size=3),
    },
    Ledger: {"confirmed": st.builds(Spend), "uncertain_cost": number},
}
for kind, fields in FIELDS.items():
    st.register_type_strategy(kind, st.builds(kind, **fields))

STORED = (Judgment, RowResult, Manifest, Ledger)


@pytest.mark.parametrize("number", [2**63, 2**64 + 1, -(2**63) - 1, 10**40 + 1])
def test_a_whole_number_of_any_size_comes_back_as_it_was(number: int) -> None:
    usage = AppUsage(total_tokens=number)
    assert codec.decode(AppUsage, codec.encode(usage)) == usage


@pytest.mark.parametrize("kind", STORED)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_decoding_what_was_encoded_gives_the_same_value(kind: type, data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    assert codec.decode(kind, codec.encode(value)) == value


@settings(max_examples=examples(60), deadline=None)
@given(row=st.from_type(RowResult))
def test_the_lines_of_a_row_say_the_same_as_its_scores(row: RowResult) -> None:
    data = lines.pack(row)
    line = lines.row_line(data)
    assert (line.index, line.id, line.bad, line.done) == (row.index, row.id, row.bad, row.done)
    assert (line.verdict, line.pattern) == (row.diagnosis.verdict, row.diagnosis.pattern)
    assert [
        (s.metric, s.value, s.status, s.counts, s.flags, s.extra) for s in lines.score_lines(data)
    ] == [(s.metric, s.value, s.status, s.counts, s.flags, s.extra) for s in row.scores]


@given(text)
def test_any_text_can_be_a_key_and_is_read_back(word: str) -> None:
    key = codec.as_key(word)
    assert codec.from_key(key) == word
    assert "\0" not in key
    key.encode()


def test_two_halves_of_an_emoji_that_were_apart_stay_apart() -> None:
    score = Score("a", Status.JUDGED, reason="\ud83d" + "\ude00")
    assert codec.decode(Score, codec.encode(score)).reason == "\ud83d\ude00"
    assert len(codec.decode(Score, codec.encode(score)).reason) == 2


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: Judgment("k", "j", "r", Status.JUDGED, value=x),
        lambda x: Judgment("k", "j", "r", Status.JUDGED, rating=x),
        lambda x: Judgment("k", "j", "r", Status.JUDGED, probability=x),
        lambda x: Judgment("k", "j", "r", Status.JUDGED, spend=Spend(cost=x)),
        lambda x: RowResult(0, Sample("a", contexts=(Context("t", score=x),))),
        lambda x: RowResult(0, Sample("a"), (Score("m", Status.JUDGED, extra={"max": x}),)),
        lambda x: RowResult(0, Sample("a", usage=AppUsage(latency=x))),
        lambda x: Ledger(uncertain_cost=x),
    ],
)
def test_a_number_that_is_not_finite_is_refused(make: Any, wrong: float) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        codec.encode(make(wrong))


def test_what_equals_its_default_takes_no_room() -> None:
    assert (
        codec.encode(Judgment("k", "j", "r", Status.JUDGED))
        == b'{"key":"k","judge":"j","rubric":"r","status":"judged"}'
    )


@given(st.binary(min_size=1, max_size=40), st.integers(0), st.integers(0, 7))
def test_one_flipped_bit_is_noticed(data: bytes, place: int, bit: int) -> None:
    blob = bytearray(codec.seal(data, "run", 7))
    blob[place % len(blob)] ^= 1 << bit
    with pytest.raises(codec.Damaged):
        codec.unseal(bytes(blob), "run", 7)


def test_the_bytes_of_another_row_are_noticed() -> None:
    with pytest.raises(codec.Damaged):
        codec.unseal(codec.seal(b"{}", "run", 7), "run", 8)


def test_many_blobs_of_one_owner_are_opened_as_each_alone() -> None:
    unseal = codec.unsealer("run \ud800", "line")
    for index in (0, 7, 1_000_000):
        blob = codec.seal(b"[%d]" % index, "run \ud800", "line", index)
        assert (
            unseal(blob, index)
            == codec.unseal(blob, "run \ud800", "line", index)
            == b"[%d]" % index
        )
        for wrong, whose in ((blob, index + 1), (blob[:-1] + b"?", index), (blob[:3], index)):
            with pytest.raises(codec.Damaged, match="checksum"):
                unseal(wrong, whose)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"key":1}',
        b"\xff",
        b'{"key":"k","judge":"j","rubric":"r","status":"x"}',
    ],
)
def test_bytes_that_hold_no_value_are_damage_and_not_a_crash(data: bytes) -> None:
    with pytest.raises(codec.Damaged):
        codec.decode(Judgment, data)


def test_what_anybody_may_have_written_is_read_only_with_every_field_of_its_type() -> None:
    whole = {"name": "kappa", "value": 1, "interval": None, "n": 3, "reason": ""}
    found = codec.read(Figure, whole)
    assert found == Figure("kappa", 1.0, None, 3)
    assert isinstance(found.value, float)
    for name, wrong in (
        ("name", 1),
        ("value", True),
        ("value", "1"),
        ("value", math.inf),
        ("n", 3.0),
        ("interval", []),
    ):
        with pytest.raises((TypeError, ValueError)):
            codec.read(Figure, {**whole, name: wrong})
    with pytest.raises(KeyError, match="reason"):
        codec.read(Figure, {name: value for name, value in whole.items() if name != "reason"})


def test_what_was_left_out_is_made_anew_for_each_value_that_is_read() -> None:
    data = codec.encode(Sample("a", "q"))
    one, two = codec.decode(Sample, data), codec.decode(Sample, data)
    assert one == two == Sample("a", "q")
    assert one.labels is not two.labels


def test_a_name_that_is_no_field_is_passed_over_and_what_is_no_object_is_damage() -> None:
    assert codec.decode(Spend, b'{"calls":2,"since_version_9":1}') == Spend(calls=2)
    for data in (b"[]", b'"calls"', b"2", b"null", b'["calls"]'):
        with pytest.raises(codec.Damaged):
            codec.decode(Spend, data)


def test_a_field_without_a_default_must_stand_there() -> None:
    with pytest.raises(codec.Damaged):
        codec.decode(Sample, b'{"question":"q"}')
