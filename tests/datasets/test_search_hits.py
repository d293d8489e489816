"""Chunks as search engines, vector stores and retrievers write them, kept as contexts of a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import Context, DataError, NothingToDo
from ragassay.datasets import open_rows
from support.rows import samples

PASSAGE = "The tower is 40 metres high."
SCORED = (Context(PASSAGE, "7", 0.25),)
PLAIN = (Context(PASSAGE),)

ANSWERS: dict[str, tuple[Any, tuple[Context, ...]]] = {
    "Elasticsearch": (
        {
            "hits": {
                "total": 1,
                "hits": [{"id": "7", "score": 0.25, "_source": {"content": PASSAGE}}],
            }
        },
        SCORED,
    ),
    "Pinecone": ({"matches": [{"id": "7", "score": 0.25, "metadata": {"text": PASSAGE}}]}, SCORED),
    "Qdrant": ([{"id": "7", "score": 0.25, "payload": {"text": PASSAGE, "page": 3}}], SCORED),
    "Weaviate": ({"objects": [{"properties": {"body": PASSAGE}}]}, PLAIN),
    "Milvus": (
        [[{"id": "7", "distance": 0.1, "entity": {"text": PASSAGE}}]],
        (Context(PASSAGE, "7"),),
    ),
    "Chroma": ({"documents": [[PASSAGE]], "ids": [["7"]]}, PLAIN),
    "LangChain.js": ([{"pageContent": PASSAGE, "metadata": {}}], PLAIN),
    "a chunk with its score": ([[{"pageContent": PASSAGE}, 0.25]], (Context(PASSAGE, None, 0.25),)),
    "citations": ([{"title": "Towers", "snippet": PASSAGE}], PLAIN),
}


def written(folder: Path, row: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps({"question": "How high is it?", "response": "40 m."} | row))
    return path


@pytest.mark.parametrize("name", ANSWERS)
def test_the_hits_of_a_search_are_contexts(tmp_path: Path, name: str) -> None:
    hits, contexts = ANSWERS[name]
    (row,) = samples(open_rows(written(tmp_path, {"contexts": hits})))
    assert row.contexts == contexts


def test_two_texts_are_two_chunks_and_no_text_with_a_score(tmp_path: Path) -> None:
    (row,) = samples(open_rows(written(tmp_path, {"contexts": [["One.", "Two."]]})))
    assert row.contexts == (Context("One."), Context("Two."))


def test_hits_under_a_name_that_is_not_known_are_asked_for_and_not_passed_over(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, {"found": ANSWERS["Pinecone"][0]})
    (unread,) = open_rows(path).unread(["contexts"])
    assert (unread.field, unread.guess) == ("contexts", "found.matches")


def test_a_hit_without_any_text_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.raises((DataError, NothingToDo), match="has no text"):
        open_rows(written(tmp_path, {"contexts": [{"id": "7", "payload": {"page": 3}}]})).scan()
