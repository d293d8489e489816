"""The type of a query by its words."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from ragassay.core import Sample
from ragassay.diagnosis import query_type, with_query_type

QUERIES = {
    "simple": (
        "When was the bridge opened?",
        "How long does the battery of the lamp last?",
        "who runs the berlin office",
        "In which year did the museum close?",
        "Can I return a lamp without the receipt?",
        "Please explain how refunds work.",
        "What is the population of Trondheim?",
        "is parking free on weekdays",
        "how to reset the router",
        "What is the difference between a lease and a loan?",
        "Which film won the prize for best sound in 1999?",
        "where was the summer fair held in 2012",
        "Who was the first woman to lead the council?",
    ),
    "multi-hop": (
        "Who was born first, Anna Weiss or Tom Brandt?",
        "Which office is larger, Berlin or Paris?",
        "Were both the tunnel and the bridge opened in 1998?",
        "What do the Berlin office and the Paris office have in common?",
        "In which city was the woman who founded the Harbour Museum born?",
        "What is the capital of the country in which the tunnel was built?",
        "How old was the director of the film starring Anna Weiss when it was released?",
        "When was the bridge opened, and who paid for it?",
        "What does the lamp cost? How long does it last?",
        "Are the refund and the exchange both free of charge?",
    ),
    "keywords": (
        "museum opening hours",
        "Golden Gate Bridge",
        "battery life lamp L2",
        "refund",
        "berlin office address phone",
    ),
    "phrase": (
        "opening hours of the museum",
        "benefits of a water filter",
        "types and causes of hearing loss",
        "refunds for customers in Norway",
        "the tallest building in Europe",
    ),
    "statement": (
        "The bridge was opened in 1937.",
        "I cannot log in to my account.",
        "I am interested in the Berlin office.",
        "The tunnel under the bay is 2.7 kilometres long",
        "My lamp stopped working after two weeks",
        "Parking is not free on weekdays.",
    ),
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [(question, name) for name, questions in QUERIES.items() for question in questions],
)
def test_a_query_has_its_type(question: str, expected: str) -> None:
    assert query_type(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "  ?! ",
        "Как долго работает батарея?",
        "本はいつ開きましたか",
        "big bang theory season 11 how many episodes",  # a question in the words of a search
    ],
)
def test_what_the_rules_cannot_tell_has_no_type(question: str) -> None:
    assert query_type(question) == ""


def test_the_type_is_a_slice_of_the_row_unless_the_row_names_one() -> None:
    row = Sample("r", question="museum opening hours", slices={"source": "web"})
    assert with_query_type(row).slices == {"source": "web", "query type": "keywords"}
    for name in ("query_type", "Question Type", "type"):
        named = Sample("r", question="museum opening hours", slices={name: "faq"})
        assert with_query_type(named) is named
    without = Sample("r", response="It is open.")
    assert with_query_type(without) is without


DATA = os.environ.get("RAGASSAY_DATA", "")


@pytest.mark.skipif(not DATA, reason="RAGASSAY_DATA does not name the labelled data")
def test_questions_of_public_sets_that_are_labelled_by_type() -> None:
    # Every question of HotpotQA is multi-hop by construction, nearly every one of NQ is simple.
    multi_hop = _share_of_multi_hop("hotpotqa_answer")
    single = _share_of_multi_hop("nq_open")
    assert multi_hop >= 0.25
    assert single <= 0.015


def _share_of_multi_hop(name: str) -> float:
    path = Path(DATA) / name / f"{name}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        questions = {json.loads(line)["question"] for line in lines}
    types = [query_type(question) for question in questions]
    return types.count("multi-hop") / len(types)
