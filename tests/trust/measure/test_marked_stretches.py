"""Judges beside stretches that people marked as unsupported."""

from __future__ import annotations

from typing import Any

import pytest

from ragassay.core import DataError, NothingToDo, SetupError
from ragassay.testing import LLMServer
from ragassay.trust.measure import benchmark_stretches

FACT = "The museum holds {} paintings."
OTHER = "Lawyers mail judgments abroad."


def rows(count: int) -> list[dict[str, Any]]:
    """Responses of two sentences, of which the second one is made up in every other row."""
    made = []
    for number in range(count):
        first = FACT.format(number + 100)
        second = OTHER if number % 2 else FACT.format(number + 100)
        spans = [{"start": len(first) + 1, "end": len(first) + 1 + len(second)}]
        made.append(
            {
                "id": f"r{number}",
                "question": "What is known?",
                "contexts": [f"{first} It is open."],
                "response": f"{first} {second}",
                "spans": spans if number % 2 else [],
                "mine": [{"start": 0, "end": len(first)}],
            }
        )
    return made


def test_a_judge_marks_the_claims_that_it_fails(tmp_path: Any) -> None:
    with LLMServer() as server:
        got = benchmark_stretches(
            rows(30),
            ["openai:mock", "recorded:mine"],
            base_url=server.url,
            store=tmp_path / "store.db",
            draws=200,
        )
    assert (got.rows, got.marked, got.stretches, got.clusters) == (30, 15, 15, 30)
    asked, recorded = got.judges
    values = {figure.name: figure.value for figure in asked.figures}
    assert values["stretch precision"] == values["stretch recall"] == 1.0
    # The recorded one marks the first sentence of each: none of it is people's.
    assert {figure.value for figure in recorded.figures} == {0.0}


def test_stretches_that_cannot_be_are_told_with_their_line(tmp_path: Any) -> None:
    made = rows(4)
    made[2]["spans"] = [{"start": 3, "end": 4000}]
    with pytest.raises(DataError) as raised:
        benchmark_stretches(made, "recorded:mine", store=tmp_path / "s.db")
    assert raised.value.code == "E0313"
    assert "1 of 4 rows" in raised.value.what
    with pytest.raises(NothingToDo):
        benchmark_stretches(rows(2), "recorded:mine", field="marks", store=tmp_path / "s.db")
    with pytest.raises(SetupError, match="marks no stretches"):
        benchmark_stretches(rows(2), metric="answer_relevance", store=tmp_path / "s.db")
