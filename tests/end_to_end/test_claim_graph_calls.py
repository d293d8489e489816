"""One claim graph: what metrics share is asked once, counted at the server, whose books are the
oracle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.testing import LLMServer

ROW = {
    "id": "bridge",
    "question": "When was the bridge opened, how long is it, and who built it?",
    "contexts": [
        "The bridge over the sound was opened to traffic in 1937.",
        "The bridge is 2,737 metres long and is painted orange.",
        "The bridge was designed by Joseph Strauss and built by the Bethlehem company.",
        "Tickets for the ferry cost two dollars.",
        "The museum beside the bridge opened in 1987.",
    ],
    "response": (
        "The bridge was opened in 1937. It is 2,737 metres long. It was built by the Bethlehem"
        " company. It is painted orange. The ferry costs two dollars. The museum was opened in"
        " 1937."
    ),
    "reference": (
        "The bridge was opened in 1937. It is 2,737 metres long. It was designed by Joseph Strauss."
        " It was built by the Bethlehem company."
    ),
}
SET = (
    "groundedness, faithfulness, context_precision, context_recall,"
    " answer_correctness_claims(similarity_weight=0), noise_sensitivity, context_utilization,"
    " hallucination"
)


@pytest.mark.parametrize("claims", ["sentences", "llm"])
def test_five_chunks_six_claims_and_four_statements_cost_at_most_six_calls_for_eight_metrics(
    claims: str, tmp_path: Path
) -> None:
    with LLMServer() as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "claims": claims,
        }
        with ragassay.evaluate([ROW], SET, **options) as run:
            scores = run["bridge"].scores
            assert [s.reason for s in scores if s.value is None] == []
            assert [s.counts.asked == s.counts.judged for s in scores] == [True] * 8
        assert server.stats()["calls"] <= 6
        assert server.stats()["answered_twice"] == 0


def test_a_metric_added_to_a_finished_run_asks_only_what_was_never_asked(tmp_path: Path) -> None:
    with LLMServer() as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "s.db",
        }
        ragassay.evaluate([ROW], "groundedness", **options).close()
        assert server.stats()["calls"] == 1
        ragassay.evaluate(
            [ROW], "groundedness, faithfulness(mode=weighted), citation_support", **options
        ).close()
        assert server.stats()["calls"] == 1
        # Reference statements against the contexts: one call, for two metrics.
        ragassay.evaluate(
            [ROW], "groundedness, context_recall, context_precision", **options
        ).close()
        assert server.stats()["calls"] == 2
        # Both directions of response against reference: two more.
        ragassay.evaluate([ROW], SET, **options).close()
        assert server.stats()["calls"] == 4
        ragassay.evaluate(
            [ROW], SET + ", self_knowledge, noise_sensitivity(mode=relevant)", **options
        ).close()
        assert server.stats()["calls"] == 4


def test_similarity_is_measured_here_and_costs_no_call(tmp_path: Path) -> None:
    with LLMServer() as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "s.db",
        }
        with ragassay.evaluate(
            [ROW], "semantic_similarity, answer_correctness_lexical", **options
        ) as run:
            assert all(
                score.value is not None and score.value > 0.5 for score in run["bridge"].scores
            )
        assert server.stats()["calls"] == 0
