"""A writer model for distractors: what it writes is checked, paid once, and replaced where it
is bad.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted
from ragassay.stress.result import StressResult
from ragassay.testing import Body, LLMServer, answer_by_words
from stress.test_application import ROWS, clean, read

CHANGED: dict[str, Any] = {
    "tests": ["noise"],
    "numbers": [2],
    "kinds": ["changed-fact", "same-topic"],
    "positions": ["first"],
    "arms": ["added"],
}


def good(body: Body) -> Any:
    """Years that no rule would write, and passages that say nothing of the opening."""
    prompt = str(body["messages"])
    if "wrong answers" in prompt:
        return {"items": [{"id": "1", "texts": ["2001", "2002"]}]}
    place = re.findall(r"When was the (\w+) bridge", prompt)[-1]
    text = f"{place} has a bridge of stone with many arches, of which the town is proud."
    return {"items": [{"id": "1", "texts": [text, text + " It is lit at night."]}]}


def hostile(body: Body) -> Any:
    """The right answer itself, the right answer in a passage, a refusal, and a book."""
    prompt = str(body["messages"])
    place = re.findall(r"When was the (\w+) bridge", prompt)[-1]
    right = next(row["reference"] for row in ROWS if row["id"] == place)
    if "wrong answers" in prompt:
        return {"items": [{"id": "1", "texts": [right, "I do not know.", "word " * 50]}]}
    texts = [f"The bridge of {place}, which is of stone, was opened in {right}, they say.", "x"]
    return {"items": [{"id": "1", "texts": texts}]}


def stressed(server: LLMServer, tmp_path: Path, **options: Any) -> StressResult:
    given = {**CHANGED, "writer": "openai:mock", "writer_base_url": server.url, **options}
    return ragassay.stress_test(
        read, ROWS, store=tmp_path / "s.db", out=tmp_path / "o.jsonl", **given
    )


def test_what_a_writer_writes_is_used_where_it_passes_the_checks(tmp_path: Path) -> None:
    with LLMServer(answer=good) as server:
        result = stressed(server, tmp_path)
        assert clean(result) == 1.0
        assert result.notes == (
            "openai:mock wrote for 8 of 8 questions; 0 texts were refused by the checks, and rules"
            " took their place.",
        )
        written = (tmp_path / "o.jsonl").read_text()
        assert "opened in 2001." in written
        assert "many arches" in written
        calls = server.calls
        # The same again: nothing is bought, and nothing differs.
        again = stressed(server, tmp_path)
        assert server.calls == calls
        assert again.noise == result.noise


def test_what_would_give_the_answer_away_is_refused_and_rules_take_its_place(
    tmp_path: Path,
) -> None:
    with LLMServer(answer=hostile) as server:
        result = stressed(server, tmp_path)
    assert result.notes == (
        "openai:mock wrote for 0 of 8 questions; 40 texts were refused by the checks, and rules"
        " took their place.",
    )
    assert result.undelivered == 0
    assert clean(result) == 1.0


def test_a_writer_that_fails_leaves_the_rules(tmp_path: Path) -> None:
    with LLMServer(down="400") as server, pytest.raises(ragassay.RagAssayError):
        stressed(server, tmp_path)  # a set-up that cannot work is said at once
    with LLMServer(fault_for=lambda body: "refusal") as server:
        result = stressed(server, tmp_path, force=True)
    assert "wrote for 0 of 8 questions" in result.notes[0]
    assert clean(result) == 1.0


def test_the_caps_hold_for_writer_and_judge_together(tmp_path: Path) -> None:
    def both(body: Body) -> Any:
        return good(body) if "texts" in str(body["messages"][0]) else answer_by_words(body)

    with LLMServer(answer=both) as server:
        with pytest.raises(BudgetExhausted):
            stressed(server, tmp_path, max_calls=5)
        assert server.calls + server.preflights <= 5
