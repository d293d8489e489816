"""Queries of users join a set: redacted, each once, drawn as often as they were asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import ragassay
from ragassay.testsets.real_queries import draw, read_real
from ragassay.testsets.set_files import read_set
from ragassay.testsets.values import REAL
from support.small_town import PAGES

LOG = [
    "when is the harbour museum open",
    "When is the Harbour Museum open?",
    "tickets for ada@example.org in the ferry hall",
    "?!",
    "is the ferry hall open on monday",
]


def test_a_log_is_redacted_and_its_repetitions_are_weights() -> None:
    found = read_real(LOG)
    assert [(query.question, query.weight) for query in found.questions] == [
        ("when is the harbour museum open", 2),
        ("tickets for [EMAIL_1] in the ferry hall", 1),
        ("is the ferry hall open on monday", 1),
    ]
    assert (found.read, found.redacted, found.repeated, found.empty) == (5, 1, 1, 1)


def test_what_was_asked_often_is_drawn_often() -> None:
    queries = read_real([*["where is the museum"] * 9, "who built the hall"]).questions
    drawn = Counter(draw(queries, 1, seed)[0].question for seed in range(1000))
    # 900 are expected, with a standard deviation of 9.5.
    assert 860 < drawn["where is the museum"] < 940
    assert draw(queries, 2, 0) == list(queries)


def test_real_queries_are_a_share_of_the_set(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"query": text}) + "\n" for text in LOG))
    documents = [{"id": name, "text": text} for name, text in PAGES.items()]
    out = tmp_path / "set.jsonl"
    made = ragassay.make_testset(documents, size=6, types=["simple"], real=log, out=out)
    assert made.asked == 6
    assert sum(question.type == REAL for question in made.questions) == 2
    assert any("5 real queries: 3 distinct ones" in note for note in made.notes)
    assert "ada@example.org" not in out.read_text()
    # Whether the documents answer it is not known, and the row does not say so.
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(("answerable" in row) == (row["slices"]["type"] != REAL) for row in rows)
    assert len(read_set(out)[1]) == len(rows)
    assert ragassay.check_testset(out, docs=documents).failing == 0


def test_a_share_of_everything_is_none() -> None:
    with pytest.raises(ragassay.RagAssayError, match="E0803"):
        ragassay.make_testset(list(PAGES.values()), size=4, real=LOG, real_share=1.0)
