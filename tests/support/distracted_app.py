"""A small RAG application over a language model behind a server, and that model's script.

The model takes the year of the first passage that names the place asked for, and always answers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ragassay.testing import Body

PLACES = (
    "Halden Brook Corvin Dunmore Elster Farrow Gresham Holt Ister Jarrow Kessel Lorne Marden"
    " Norwell Ostrand Pelham Quill Rowan Selby Thorne Ulmer Varden Wexley Yarm"
)

APP = """
import json, os, urllib.request

INSTRUCTION = "Answer from the passages."

def answer(question, contexts):
    prompt = INSTRUCTION + "\\nQuestion: " + question + "\\nPassages:\\n" + "\\n".join(contexts)
    body = {"model": "mock", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(
        os.environ["MODEL_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
"""

CAREFUL = APP.replace(
    "Answer from the passages.",
    "Answer from the passages, say so where they do not tell, and name conflicts.",
)


def rows() -> str:
    """A question a place, with the passage that answers it and one that does not, as JSONL."""
    lines = []
    for number, place in enumerate(PLACES.split()):
        row: dict[str, Any] = {
            "id": f"q{number}",
            "question": f"When was the {place} bridge opened?",
            "reference": str(1850 + 3 * number),
            "contexts": [
                f"The {place} bridge was opened in {1850 + 3 * number}. It crosses the river.",
                f"The {place} mill stands near the river and grinds corn for the villages.",
            ],
            "cluster": place,
        }
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def model(body: Body) -> str:
    """The reply to a prompt of the application."""
    prompt = str(body["messages"][-1]["content"])
    instruction, _, rest = prompt.partition("\nQuestion: ")
    question, _, passages = rest.partition("\nPassages:\n")
    place = re.search(r"the (\w+) bridge", question)
    assert place is not None
    years = []
    for passage in passages.splitlines():
        told = re.search(rf"{place[1]} bridge was opened in (\d+)", passage)
        if told is not None:
            years.append(told[1])
    if "name conflicts" not in instruction:
        return f"It was opened in {years[0] if years else 1900}."
    if not years:
        return "The passages do not say when it was opened."
    if len(set(years)) > 1:
        return f"The passages disagree: {' or '.join(dict.fromkeys(years))}."
    return f"It was opened in {years[0]}."
