"""A judge with a weak slice becomes a certified one: evaluate, optimise there, evaluate again.

Nothing here is a language model. The judge passes an answer that speaks of the right matter,
whatever its numbers are, until its rubric speaks of numbers. The reflector reads the cases that it
is shown and, where people wrote of numbers, proposes a line on them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ragassay
from ragassay.core import JudgeFigures
from ragassay.testing import FENCE, Body, LLMServer

RUBRIC = """---
id: faithful
purpose: Does the answer say what the passage says?
inputs: [contexts, response]
scale: yes/no
---
- An answer is faithful when it is about what the passage is about.
- Its tone does not matter.
"""

OFF_TOPIC = "We sell bicycles and tents."


def labelled_rows() -> list[dict[str, Any]]:
    """300 answers with the verdicts of people: half from help pages, where one answer in three has
    another number than its passage; half from news, where it is right or about another matter.
    """
    rows = []
    for number in range(300):
        source = ("help pages", "news")[number % 2]
        days, kind = 10 + number, number // 2 % 3
        fact = f"Refunds take {{}} days in shop {number}."
        answer, remark = fact.format(days), ""
        if kind == 1 and source == "help pages":
            answer, remark = fact.format(days + 7), "wrong number"
        elif kind == 2:
            answer = OFF_TOPIC
        rows.append(
            {
                "id": f"case-{number}",
                "question": f"How long do refunds take in shop {number}?",
                "contexts": [fact.format(days)],
                "response": answer,
                "label": int(answer == fact.format(days)),
                "source": source,
                "rationale": remark,
            }
        )
    return rows


def judge(body: Body) -> dict[str, Any]:
    """The judge's reply: it compares numbers only where its rubric tells it to."""
    rules, texts = str(body["messages"][0]["content"]), str(body["messages"][-1]["content"])
    fenced = {found[1]: (found[2], found[3]) for found in FENCE.finditer(texts)}
    passage = next(text for name, (_, text) in fenced.items() if name.startswith("passage"))
    tag, answer = fenced["response"]
    is_faithful = "Refunds" in answer
    if "number" in rules.partition("Ratings:")[0]:
        is_faithful = is_faithful and set(re.findall(r"\d+", answer)) <= set(
            re.findall(r"\d+", passage)
        )
    why = "It says what the passage says." if is_faithful else "The passage says something else."
    return {"verdicts": [{"id": tag, "reasoning": why, "rating": "yes" if is_faithful else "no"}]}


def reflector(body: Body) -> str:
    """The reflector's reply: one edit of the rubric."""
    text = "Be friendly to the answer."
    if "wrong number" in str(body["messages"][-1]["content"]):
        text = "Each number of the answer has to be a number of the passage."
    edit = {"action": "add", "part": "criterion", "text": text, "reason": "The cases share it."}
    return f"```json\n{json.dumps({'edits': [edit]})}\n```"


def answers(body: Body) -> Any:
    """The script of an `LLMServer`: the model's name says who is asked."""
    return reflector(body) if body["model"] == "reflector" else judge(body)


def show(title: str, figures: JudgeFigures) -> None:
    """Precision and recall over all rows and by source, and the confusion table."""
    print(title)
    for name, shown in [("all rows", figures.pooled)] + [
        (part.value, part.figures) for part in figures.slices
    ]:
        values = {figure.name: figure.value for figure in shown}
        print(f"  {name:<11}precision {values['precision']:.3f}  recall {values['recall']:.3f}")
    (true_negatives, false_positives), (false_negatives, true_positives) = figures.confusion
    print(f"  people fail: {true_negatives} failed, {false_positives} passed by the judge")
    print(f"  people pass: {false_negatives} failed, {true_positives} passed by the judge")


def main() -> None:
    rows = labelled_rows()
    Path("faithful.md").write_text(RUBRIC, encoding="utf-8")
    with LLMServer(answer=answers, models=["judge", "reflector"]) as server:
        by: dict[str, Any] = {"base_url": server.url}

        def measured(rubric: str) -> JudgeFigures:
            (judge,) = ragassay.benchmark(
                rows, "openai:judge", metric="faithful", rubrics=[rubric], slice="source", **by
            ).judges
            return judge

        show("1. The judge as it is", measured("faithful.md"))

        print("2. Its precision is low on help pages: optimise there, careful of false passes")
        found = ragassay.optimise(
            "faithful",
            rows,
            judge="openai:judge",
            reflector="openai:reflector",
            rubrics=["faithful.md"],
            where=["source=help pages"],
            aim="be cautious of false passes",
            max_calls=1500,
            out="faithful-2.md",
            **by,
        )
        print(f"  {str(found).splitlines()[0]}")

        show("3. The new version on everything", measured("faithful-2.md"))


if __name__ == "__main__":
    main()
