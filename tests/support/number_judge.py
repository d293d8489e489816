"""A support team's judge that passes wrong numbers until its rubric speaks of numbers."""

from __future__ import annotations

import json
import re
from typing import Any

from ragassay.testing import FENCE, Body

RUBRIC = """---
id: faithful
purpose: Does the answer say what the passage says?
inputs: [contexts, response]
scale: yes/no
---
- An answer is faithful when it is about what the passage is about.
- Its tone does not matter.
"""
TOPICS = ("refunds", "delivery", "returns", "invoices")


def labelled_rows() -> str:
    """Answers of a support bot with the verdicts of two colleagues: of four rows one has another
    number than its passage, one is about another matter, and two are right.
    """
    rows = []
    for number in range(160):
        topic, days = TOPICS[number % 4], 10 + number
        kind = number // 4 % 4
        said = {0: days, 1: days, 2: days + 7, 3: days}[kind]
        answer = f"{topic.capitalize()} take {said} days in shop {number}."
        if kind == 3:
            answer = "We sell bicycles and tents."
        rows.append(
            {
                "id": f"case-{number}",
                "question": f"How long do {topic} take in shop {number}?",
                "contexts": [f"{topic.capitalize()} take {days} days in shop {number}."],
                "response": answer,
                "label": int(kind < 2),
                "topic": topic,
                "rationale": "wrong number" if kind == 2 else "",
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows)


def judge(body: Body) -> dict[str, Any]:
    """A judge that reads its rubric: it compares numbers only where it is told to."""
    rules, texts = str(body["messages"][0]["content"]), str(body["messages"][-1]["content"])
    fenced = {match[1]: (match[2], match[3]) for match in FENCE.finditer(texts)}
    passage = next(text for name, (_, text) in fenced.items() if name.startswith("passage"))
    tag, answer = fenced["response"]
    is_alike = "days" in answer
    has_numbers = set(re.findall(r"\d+", answer)) <= set(re.findall(r"\d+", passage))
    if "number" in rules.partition("Ratings:")[0]:
        is_alike = is_alike and has_numbers
    why = "It speaks of the same matter." if is_alike else "The passage says something else."
    rating = "yes" if is_alike else "no"
    return {"verdicts": [{"id": tag, "reasoning": why, "rating": rating}]}


def colleague(body: Body) -> str:
    """A proposer that reads the cases: where people speak of numbers, it writes a line on them."""
    seen = str(body["messages"][-1]["content"])
    text = "Be friendly to the answer."
    if "wrong number" in seen:
        text = "Each number of the answer has to be a number of the passage."
    edit = {"action": "add", "part": "criterion", "text": text, "reason": "The cases share it."}
    return f"The cases have one thing in common.\n```json\n{json.dumps({'edits': [edit]})}\n```"


def answers(body: Body) -> Any:
    """The script of an `LLMServer`: the model's name says who is asked."""
    return colleague(body) if body["model"] == "reflector" else judge(body)
