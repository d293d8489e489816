"""The standard benchmark sets: balanced, repeatable, and wrong answers really wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import SetupError
from ragassay.metrics import catalogue
from ragassay.runs.label_scales import default_cut
from ragassay.trust.benchmark_sets import (
    BENCHMARK_SETS,
    NEGATIVES,
    answer_type,
    make_answer_negatives,
    trec_rows,
)
from support.examples import examples

QUESTIONS: list[dict[str, Any]] = [
    {"id": "a", "question": "Who wrote Emma?", "reference": "Jane Austen"},
    {"id": "b", "question": "Who painted Guernica?", "reference": ["Pablo Picasso", "Picasso"]},
    {"id": "c", "question": "In what year did the war end?", "reference": "1945"},
    {"id": "d", "question": "In what year was he born?", "reference": "1881"},
    {"id": "e", "question": "Is the Moon a star?", "reference": "no"},
    {"id": "f", "question": "Is Paris in France?", "reference": "yes"},
    {"id": "g", "question": "What city hosts the court?", "reference": "The Hague"},
    {"id": "h", "question": "How many bones has a hand?", "reference": "27"},
]


def test_every_standard_names_a_metric_that_exists_and_its_own_cut() -> None:
    for standard in BENCHMARK_SETS.values():
        assert standard.metric in catalogue()
        assert default_cut(standard.scale) == standard.cut
    assert BENCHMARK_SETS["answer_relevance"].kind == "human and constructed"


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Is it?", "Yes.", "yes_no"),
        ("When?", "1945", "year"),
        ("How many?", "3,500", "number"),
        ("How far?", "12 km", "number"),
        ("Who wrote it?", "Jane Austen", "person"),
        ("What city hosts it?", "The Hague", "place"),
        ("Which band?", "Queen", "name"),
        ("Why?", "because of the long rain in spring", "text"),
    ],
)
def test_the_type_of_an_answer_follows_simple_rules(question: str, answer: str, kind: str) -> None:
    assert answer_type(question, answer) == kind


def test_every_question_gives_a_gold_row_and_a_wrong_one_in_its_own_cluster() -> None:
    made = list(make_answer_negatives(QUESTIONS, seed=1))
    assert len(made) == 16
    assert Counter(row["label"] for row in made) == {1: 8, 0: 8}
    assert Counter(row["slice"] for row in made if row["label"] == 0).keys() <= set(NEGATIVES)
    assert all(count == 2 for count in Counter(row["cluster"] for row in made).values())
    assert len({row["id"] for row in made}) == 16
    assert {row["label_kind"] for row in made} == {"constructed"}


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**6), st.sets(st.sampled_from(NEGATIVES), min_size=1))
def test_a_wrong_answer_is_never_a_gold_one_and_a_yes_never_answers_a_yes_or_no_question(
    seed: int, kinds: set[str]
) -> None:
    gold = {row["id"]: row["reference"] for row in QUESTIONS}
    made = list(make_answer_negatives(QUESTIONS, sorted(kinds), seed=seed))
    assert made == list(make_answer_negatives(QUESTIONS, sorted(kinds), seed=seed))
    for row in made:
        if row["label"] == 0:
            own = gold[str(row["cluster"])]
            assert row["response"] not in ([own] if isinstance(own, str) else own)
            assert not (str(row["cluster"]) in "ef" and row["response"] in ("yes", "no"))


def test_a_negative_of_the_same_type_has_it_and_one_without_a_match_is_called_shuffled() -> None:
    made = {
        row["cluster"]: row
        for row in make_answer_negatives(QUESTIONS, ["same_type"], seed=2)
        if row["label"] == 0
    }
    assert made["c"]["response"] == "1881"
    assert made["c"]["slice"] == "same_type"
    assert made["a"]["response"] == "Pablo Picasso"
    assert made["h"]["slice"] == "shuffled"  # no other answer is a number


def test_rows_without_question_or_answer_are_skipped_and_too_few_are_refused() -> None:
    unusable: list[dict[str, Any]] = [
        {"question": "Why?"},
        {"reference": "x"},
        {"question": "", "reference": "x"},
    ]
    assert len(list(make_answer_negatives([*QUESTIONS, *unusable]))) == 16
    with pytest.raises(SetupError, match="too few"):
        list(make_answer_negatives(unusable))
    with pytest.raises(SetupError, match="Did you mean 'evasive'"):
        list(make_answer_negatives(QUESTIONS, ["evasiv"]))


def test_relevance_grades_are_joined_with_the_texts_that_are_at_hand() -> None:
    found = list(
        trec_rows({"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 1}}, {"q1": "why?"}, {"d1": "because"})
    )
    assert found == [
        {
            "id": "q1/d1",
            "question": "why?",
            "contexts": ["because"],
            "label": 3,
            "task": "context_relevance",
            "cluster": "q1",
        }
    ]
