"""What the applications of this folder know, and the model that they ask.

Each question is answered by one passage. VAGUE shares no word with the passage that answers it, so
that a search brings up others, which a graph may find out and mend.
"""

from __future__ import annotations

from typing import Any

from support.scripted_model import Body, Reply, ToolCall

PASSAGES = {
    "founding": "The city library was founded in 1911 by the council.",
    "loans": "A book may be kept for four weeks and renewed twice.",
    "cafe": "The cafe on the ground floor opens at nine.",
    "fee": "A lost library card costs two euros to replace.",
}
"""Id -> text."""

QUESTIONS = {
    "founded": ("When was the city library founded?", "founding"),
    "books": ("How long may a book be kept?", "loans"),
    "lost": ("What does a lost library card cost to replace?", "fee"),
}
"""Id of a row -> question, and the passage that answers it."""

GRADE = "Does this passage help with the question?"
REWRITE = "Put the question in clearer words."
VAGUE = "By when is the reader, who forgot it on the bus, at the desk again?"


def reply(body: Body) -> Reply:
    """What the model says: the call of the tool that it is offered, until it has given something,
    then the first passage that stands in what it is told.
    """
    messages = body["messages"]
    prompt = "\n".join(map(_text, messages))
    if GRADE in prompt:
        helps = any(
            question in prompt and PASSAGES[key] in prompt for question, key in QUESTIONS.values()
        )
        return '{"verdict": "yes"}' if helps else '{"verdict": "no"}'
    if REWRITE in prompt:
        return QUESTIONS["lost"][0]
    last = max(place for place, each in enumerate(messages) if each["role"] == "user")
    searched = any(each["role"] == "tool" for each in messages[last:])
    if body.get("tools") and not searched:
        tool = body["tools"][0]["function"]
        (argument,) = tool["parameters"]["properties"]
        return ToolCall(tool["name"], {argument: _text(messages[last])})
    places = [(prompt.find(text), text) for text in PASSAGES.values() if text in prompt]
    return min(places)[1] if places else "That is not known here."


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(each["text"] for each in content)
