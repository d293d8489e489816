"""OpenAI's client as its guide on calling functions uses it: the conversation is a list to which
what the model and the function say is added.
"""

from __future__ import annotations

import json
from typing import Any

from openai import OpenAI

from frameworks.tutorials.library import PASSAGES

_LOOK_UP = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "What the library's handbook says.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        },
    },
}


def _look_up(query: str) -> list[dict[str, str]]:
    words = set(query.lower().strip("?").split())
    shared = {name: len(words & set(text.lower().split())) for name, text in PASSAGES.items()}
    best = sorted(PASSAGES, key=lambda name: -shared[name])[:2]
    return [{"id": name, "text": PASSAGES[name]} for name in best]


def functions(question: str) -> Any:
    """The conversation, in which the function gives JSON."""
    client = OpenAI()
    messages: list[Any] = [{"role": "user", "content": question}]
    asked = client.chat.completions.create(model="mock", messages=messages, tools=[_LOOK_UP])
    messages.append(asked.choices[0].message)
    for call in asked.choices[0].message.tool_calls:
        found = _look_up(**json.loads(call.function.arguments))
        said = {"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)}
        messages.append(said)
    answered = client.chat.completions.create(model="mock", messages=messages, tools=[_LOOK_UP])
    messages.append(answered.choices[0].message)
    return messages
