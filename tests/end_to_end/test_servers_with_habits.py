"""Servers with the habits of real ones: each gives a verdict on every question, at the usual price.

Thirty-six questions (twelve rows, three metrics), a call each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.testing import LLMServer

ROWS = [
    {
        "id": f"row-{n}",
        "question": f"When was library {n} founded, and by whom?",
        "contexts": [f"Library {n} was founded in 19{n} by the town of Nord {n}."],
        "response": f"Library {n} was founded in 19{n} by the town of Nord {n}.",
    }
    for n in range(10, 22)
]
METRICS = "context_relevance, groundedness, answer_relevance"
USUAL = 36


HABITS: dict[str, dict[str, Any]] = {
    "no JSON schema": {"rejects": ["json_schema"]},
    "no response format at all": {"rejects": ["response_format"]},
    "neither a format nor tools": {"rejects": ["response_format", "tools"]},
    "a schema or plain text, no JSON object": {"rejects": ["json_object", "schema_parts"]},
    "a schema without numbers to choose from": {"rejects": ["schema_parts"]},
    "a crash for a schema": {"rejects": ["crash"]},
    "max_completion_tokens": {"rejects": ["max_tokens"]},
    "no limit of any name": {"rejects": ["max_tokens", "max_completion_tokens"]},
    "no temperature": {"rejects": ["temperature"]},
    "no system role": {"rejects": ["system"]},
    "thinking must be switched off without streaming": {"rejects": ["thinking"]},
    "streams only": {"streams": "only"},
    "streams only, and no usage": {"streams": "only", "rejects": ["stream_options"]},
    "streams although not asked": {"streams": "always"},
    "a low cap on the reply": {"most_tokens": 600},
    "a small context": {"context": 2600},
    "everything at once": {
        "rejects": ["json_schema", "max_tokens", "temperature", "system", "thinking"],
        "most_tokens": 8000,
    },
    "a byte order mark": {"fault_rates": {"bom": 1.0}},
    "status 201": {"fault_rates": {"201": 1.0}},
    "thinks 4,000 tokens, hidden": {"thinks": 4000},
    "thinks 4,000 tokens, in a field": {"thinks": 4000, "thoughts": "field"},
    "thinks 4,000 tokens, in tags": {"thinks": 4000, "thoughts": "tags"},
    "thinks 12,000 tokens": {"thinks": 12_000},
}


@pytest.mark.slow
@pytest.mark.parametrize("habit", HABITS)
def test_a_server_with_this_habit_gives_every_verdict(habit: str, tmp_path: Path) -> None:
    with LLMServer(**HABITS[habit]) as server:
        run = ragassay.evaluate(
            ROWS, METRICS, judge="openai:mock", base_url=server.url, store=tmp_path / "s.db"
        )
        with run:
            judged = sum(metric.judged for metric in run.summary.metrics)
        assert judged == USUAL
        assert server.calls <= 1.1 * USUAL


@pytest.mark.slow
def test_json_that_a_server_fails_to_make_is_drawn_again(tmp_path: Path) -> None:
    with LLMServer(fault_rates={"json_failed": 0.2}, seed=3) as server:
        run = ragassay.evaluate(
            ROWS, METRICS, judge="openai:mock", base_url=server.url, store=tmp_path / "s.db"
        )
        with run:
            assert sum(metric.judged for metric in run.summary.metrics) == USUAL
        assert server.injected["json_failed"] > 0


def test_a_run_of_few_calls_learns_from_its_first_one(tmp_path: Path) -> None:
    with LLMServer(rejects=["json_schema", "temperature"], thinks=4000) as server:
        run = ragassay.evaluate(
            ROWS[:9],
            "groundedness",
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
        )
        with run:
            assert run.summary.metrics[0].judged == 9
        # Two refusals and a reply without room to think, once.
        assert (server.preflights, server.calls) == (0, 9 + 3)
