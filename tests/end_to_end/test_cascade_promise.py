"""What a certified cascade answers by its cheap judge when it is run: the very rows that were
certified.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.judges.composed.cascade import ESCALATED
from ragassay.testing import LLMServer, answer_by_words

RUBRIC = """---
id: politeness
version: 1
purpose: Is the response polite?
inputs: [question, response]
scale:
  pass: 2
  points:
    0: It is rude.
    1: It is curt.
    2: It is plain.
    3: It is friendly.
    4: It is warm and charming.
---
Polite means that the reader is addressed with respect.
"""


def rated(ratings: dict[int, int]) -> Any:
    """An answer for the server: the rating of the row whose number stands in the text."""

    def answer(body: dict[str, Any]) -> Any:
        reply = answer_by_words(body)
        numbers = [
            int(found)
            for found in re.findall(r"token#(\d+)#", str(body["messages"][-1]["content"]))
        ]
        if isinstance(reply, dict):
            for entry, number in zip(reply.get("verdicts", ()), numbers, strict=False):
                entry["rating"] = ratings[number]
        return reply

    return answer


def labelled(path: Path, sharp: set[int], dull: set[int], passing: int) -> dict[int, int]:
    """A judge that is right at the ratings in `sharp` and guesses at those in `dull`."""
    rng, ratings, rows = random.Random(1), {}, []
    for i in range(150):
        ratings[i] = rng.choice(sorted(sharp | dull))
        right = ratings[i] in sharp or rng.random() < 0.6
        good = (ratings[i] >= passing) is right
        rows.append(
            {
                "id": f"r{i}",
                "question": f"Q{i}?",
                "response": f"Answer token#{i}# here.",
                "label": int(good),
            }
        )
    path.write_text("\n".join(map(json.dumps, rows)))
    return ratings


@pytest.mark.parametrize("metric", ["answer_relevance", "answer_relevance(scale=5)", "politeness"])
def test_the_cheap_judge_of_a_certified_cascade_answers_the_rows_that_were_certified(
    tmp_path: Path, metric: str
) -> None:
    sharp, dull, passing = {
        "answer_relevance": ({0, 3}, {1, 2}, 2),
        "answer_relevance(scale=5)": ({1, 5}, {2, 3, 4}, 4),
        "politeness": ({0, 4}, {1, 2, 3}, 2),
    }[metric]
    ratings = labelled(tmp_path / "labels.jsonl", sharp, dull, passing)
    options: dict[str, Any] = {"store": tmp_path / "s.db"}
    if metric == "politeness":
        (tmp_path / "politeness.md").write_text(RUBRIC)
        options["rubrics"] = [tmp_path / "politeness.md"]
    with LLMServer(models=["cheap", "big"], answer=rated(ratings)) as server:
        options["base_url"] = server.url
        found = ragassay.cascade(
            str(tmp_path / "labels.jsonl"),
            "openai:cheap",
            expensive="openai:big",
            metric=metric,
            agreement=0.9,
            **options,
        )
        assert found.uri.startswith("cascade:openai:cheap>openai:big@")
        assert found.guarantee.agreement == 1.0
        with ragassay.evaluate(
            tmp_path / "labels.jsonl", metric, judge=found.uri, **options
        ) as run:
            cheap = {
                row.id
                for row in run
                if not any(ESCALATED in part.flags for part in row.scores[0].parts)
            }
    assert cheap == {f"r{i}" for i, rating in ratings.items() if rating in sharp}
    assert len(cheap) == round(found.guarantee.coverage * found.guarantee.n)


def test_recorded_scores_certify_a_threshold_but_no_cascade_to_run(tmp_path: Path) -> None:
    rows = [
        {"id": f"r{i}", "label": i % 2, "score": (0.05, 0.95)[i % 2], "other": i % 2}
        for i in range(100)
    ]
    found = ragassay.cascade(rows, "recorded:score", expensive="recorded:other")
    assert found.guarantee.threshold is not None
    assert found.uri == ""
    assert (found.accuracy, found.expensive) == (1.0, 1.0)
