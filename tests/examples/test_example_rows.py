"""Bundled example rows: what their README says of them, and their origin in examples/."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragassay.datasets.examples import rows_path
from ragassay.diagnosis import CAUSES

ROOT = Path(__file__).parents[2]
README = rows_path().with_name("README.md").read_text(encoding="utf-8")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module of the application, which is no part of the installed package."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"examples.docs_assistant.{name}")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows_path().read_text(encoding="utf-8").splitlines()]


def test_the_bundled_rows_are_what_the_application_builds(load: Callable[[str], Any]) -> None:
    assert rows_path().read_text(encoding="utf-8") == load("build_rows").build()


def test_every_root_cause_is_planted_and_more_than_half_of_the_rows_are_fine(
    rows: list[dict[str, Any]],
) -> None:
    causes = Counter(row["labels"]["cause"] for row in rows)
    assert len(rows) == 67
    assert causes == {
        "none": 37,
        "ungrounded": 9,
        "retrieval_irrelevant": 8,
        "nothing_retrieved": 4,
        "answer_irrelevant": 4,
        "over_refusal": 3,
        "no_answer": 1,
        "failed_abstention": 1,
    }
    assert set(causes) - {"none"} <= set(CAUSES)
    assert all(f"| {cause} | {count} |" in README for cause, count in causes.items())
    systems = Counter(row["slices"]["system"] for row in rows)
    told = {
        line.split(" | ")[0].removeprefix("| "): line
        for line in README.splitlines()
        if line.startswith("| ")
    }
    assert all(told[name].endswith(f" | {count} |") for name, count in systems.items())


def test_labels_agree_with_themselves_and_with_the_graded_passages(
    rows: list[dict[str, Any]],
) -> None:
    for row in rows:
        labels, found = row["labels"], {context["id"] for context in row["contexts"]}
        assert (labels["verdict"] == "pass") == (labels["cause"] == "none"), row["id"]
        assert (labels["cause"] == "nothing_retrieved") == (not found), row["id"]
        assert (labels["context_relevance"] >= 2) == bool(
            found & set(row.get("relevant_ids", ()))
        ), row["id"]
        if row.get("answerable") is False:
            assert labels["answer_relevance"] == 0 or labels["cause"] == "failed_abstention", row[
                "id"
            ]
        elif labels["verdict"] == "pass":
            assert (
                min(labels[k] for k in ("context_relevance", "groundedness", "answer_relevance"))
                >= 2
            ), row["id"]


def test_ids_are_unique_and_rows_of_one_question_share_a_cluster(
    rows: list[dict[str, Any]],
) -> None:
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["id"].startswith(row["cluster"] + "-") for row in rows)


def test_bm25_ranks_the_rarer_word_higher_and_an_empty_index_finds_nothing(
    load: Callable[[str], Any],
) -> None:
    app = load("assistant")
    common, rare = (
        app.Passage("p#1", "", "the judge reads rows"),
        app.Passage("p#2", "", "the judge reads claims"),
    )
    other = app.Passage("p#3", "", "rows rows")
    hits = app.Index([common, rare, other]).search("claims rows", 3)
    assert [hit.passage.id for hit in hits] == ["p#2", "p#3", "p#1"]
    assert app.Index([]).search("claims", 3) == []
