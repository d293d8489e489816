"""The team's own judge passes wrong numbers: a better rubric is found, and only then used."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ragassay.testing import FENCE, Body, LLMServer
from support.shell import Shell

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
    return colleague(body) if body["model"] == "reflector" else judge(body)


def precision(shell: Shell, rubric: str, by: str) -> float:
    """What a benchmark of the judge under a rubric says."""
    done = shell(
        f"ragassay benchmark labels.jsonl --metric faithful --rubric {rubric} {by} --json",
        at_most=2000,
    )
    (measured,) = json.loads(done.out)["judges"]
    return float(next(f["value"] for f in measured["pooled"] if f["name"] == "precision"))


@pytest.fixture
def server() -> Any:
    with LLMServer(answer=answers, models=["judge", "reflector"], strict_models=True) as running:
        yield running


def test_a_judge_that_passes_wrong_numbers_is_improved_and_the_gain_is_certified(
    shell: Shell, server: LLMServer
) -> None:
    shell.write("labels.jsonl", labelled_rows())
    shell.write("faithful.md", RUBRIC)
    by = f"--judge openai:judge --base-url {server.url}"

    assert precision(shell, "faithful.md", by) == pytest.approx(2 / 3)

    optimise = (
        f"ragassay optimise faithful --rubric faithful.md --labels labels.jsonl {by}"
        ' --reflector openai:reflector --aim "f1 where precision >= 0.85" --max-calls 1200'
    )
    plan = shell(f"{optimise} --forecast")
    assert plan.lines[0] == (
        "aim: raise F1, with precision of at least 0.85; a false pass costs 1, a false fail 1"
    )
    assert "rows: 65 to search on, 48 to choose on, 47 sealed" in plan.lines
    asked = server.calls

    # Nobody is at the terminal: nothing starts that was not confirmed.
    refused = shell(optimise, code=2)
    assert any("error[E0708]" in line for line in refused.messages)
    assert server.calls == asked

    found = shell(f"{optimise} --yes --html report.html")
    assert found.lines[0].startswith("Certified: F1 0.8")
    assert found.lines[1] == "wrote faithful-2.md"
    assert any("+ criterion: Each number of the answer has to be" in line for line in found.lines)
    assert "Each number" in (shell.folder / "faithful-2.md").read_text()
    assert "Certified" in (shell.folder / "report.html").read_text()

    # The same command again buys nothing and says the same.
    bought = server.calls
    again = shell(f"{optimise} --yes")
    assert again.lines[0] == found.lines[0]
    assert server.calls == bought

    # The new version is used as it stands, and agrees with people.
    assert precision(shell, "faithful-2.md", by) == 1.0


def test_where_nothing_helps_the_rubric_stays_and_the_tool_says_so(
    shell: Shell, server: LLMServer
) -> None:
    """A proposer that only ever asks for friendliness: no certificate, no new file."""
    shell.write("labels.jsonl", labelled_rows().replace("wrong number", "not what it says"))
    shell.write("faithful.md", RUBRIC)
    done = shell(
        "ragassay optimise faithful --rubric faithful.md --labels labels.jsonl --yes"
        f" --judge openai:judge --reflector openai:reflector --base-url {server.url}"
        " --max-calls 600"
    )
    assert done.lines[0] == "No certified gain: faithful stays as it is."
    assert not list(shell.folder.glob("faithful-*.md"))
