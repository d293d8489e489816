"""Scripted writers and checkers of test sets, behind real HTTP: rules over words, no opinions."""

from __future__ import annotations

import re
from typing import Any

from ragassay.testing import FENCE, Body

_SENTENCE = re.compile(r"The ([A-Z]\w+ [A-Z]\w+) was (\w+) in (\d{4})\.")


def fenced(body: Body) -> list[tuple[str, str]]:
    """(name, text) of the fenced texts of a request, in order."""
    text = str(body["messages"][-1]["content"])
    return [(match[1], match[3]) for match in FENCE.finditer(text)]


def write(body: Body) -> dict[str, Any] | str:
    """A writer that asks for a date of its passage which is not asked for yet."""
    texts = fenced(body)
    known = {text for name, text in texts if name == "question"}
    passages = [text for name, text in texts if name.startswith("passage")]
    for match in _SENTENCE.finditer(" ".join(passages[0].split())):
        question = f"In which year was the {match[1]} {match[2]}?"
        if question not in known:
            return {"question": question, "answer": match[3], "quotes": [match[0]]}
    return "I cannot help with that."


def check(body: Body) -> dict[str, Any]:
    """A checker that looks for the sentence that answers, and rates what it found."""
    texts = fenced(body)
    question = next(text for name, text in reversed(texts) if name == "question")
    if any(name == "reference" for name, _ in texts):
        return {
            "reason": "One year is asked for.",
            "same_answer": "yes",
            "stands_alone": "yes",
            "clarity": 5,
            "answerability": "yes",
            "difficulty": 2,
            "include": "yes",
        }
    asked = re.fullmatch(r"In which year was the ([\w ]+) (\w+)\?", question)
    for _, text in texts[:-1]:
        for match in _SENTENCE.finditer(" ".join(text.split())):
            if asked and (match[1], match[2]) == (asked[1], asked[2]):
                return {"answerable": True, "answer": match[3], "reason": "It is stated."}
    return {"answerable": False, "answer": "", "reason": "No passage says it."}


def answers(body: Body) -> Any:
    """The script of an `LLMServer`: the model's name says who is asked."""
    return write(body) if body["model"] == "writer" else check(body)
