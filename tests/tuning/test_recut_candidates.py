"""A candidate at a pass mark of its own: a text that moves all ratings is not worse for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ragassay
from ragassay.testing import FENCE, Body, LLMServer
from support.number_judge import colleague, labelled_rows
from support.present import present

RUBRIC = """---
id: faithful
purpose: Does the answer say what the passage says?
inputs: [contexts, response]
scale:
  pass: 2
  points:
    0: It says something else.
    1: It says it in part.
    2: It says it.
    3: It says it in full.
---
- An answer is faithful when it is about what the passage is about.
- Its tone does not matter.
"""


def judge(body: Body) -> dict[str, Any]:
    """Told of numbers it stops wrong ones, and rates every third right answer a point below the
    mark.
    """
    rules, texts = str(body["messages"][0]["content"]), str(body["messages"][-1]["content"])
    fenced = {match[1]: (match[2], match[3]) for match in FENCE.finditer(texts)}
    passage = next(text for name, (_, text) in fenced.items() if name.startswith("passage"))
    tag, answer = fenced["response"]
    rating = 3 if "days" in answer else 0
    if rating and "number" in rules.partition("Ratings:")[0]:
        numbers = re.findall(r"\d+", answer)
        is_right = set(numbers) <= set(re.findall(r"\d+", passage))
        low = 1 if int(numbers[-1]) % 3 == 0 else 2
        rating = low if is_right else 0
    return {"verdicts": [{"id": tag, "reasoning": "As it is.", "rating": rating}]}


def test_a_better_text_that_rates_lower_is_certified_with_a_lower_mark(tmp_path: Path) -> None:
    (tmp_path / "faithful.md").write_text(RUBRIC)
    rows = [json.loads(line) for line in labelled_rows().splitlines()]

    def answers(body: Body) -> Any:
        return colleague(body) if body["model"] == "reflector" else judge(body)

    with LLMServer(answer=answers, models=["judge", "reflector"]) as server:
        options: dict[str, Any] = {
            "judge": "openai:judge",
            "base_url": server.url,
            "store": tmp_path / "s.db",
        }
        found = ragassay.optimise(
            "faithful",
            rows,
            reflector="openai:reflector",
            rubrics=[tmp_path / "faithful.md"],
            max_calls=600,
            aim="accuracy",
            out=tmp_path / "new.md",
            **options,
        )
        assert found.certified
        assert found.finalists[0][0] == "rubric 1 at another pass mark"
        # At the old mark a third of the right answers would fail; at 1 all is right.
        assert found.rubric is not None
        assert found.rubric.scale is not None
        assert found.rubric.scale.pass_mark == 1
        certificate = present(found.certificate)
        chosen = certificate.finalists[present(certificate.chosen)]
        assert chosen.after.figures["kappa"] == 1.0
        # The file is used as it stands.
        with ragassay.evaluate(
            rows[:24], "faithful", rubrics=[tmp_path / "new.md"], **options
        ) as run:
            passed = [row.scores[0].verdict == "pass" for row in run.rows()]
    assert passed == [bool(row["label"]) for row in rows[:24]]
