"""The messages of a span of a language model or an agent, in the forms of all conventions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragassay.datasets.outputs import messages_in, text_of
from ragassay.datasets.spans import names
from ragassay.datasets.spans.span import Span, parsed

_NUMBERED = re.compile(r"(\d{1,4})\.(?:message\.)?(role|content|contents?\..+\.text)")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}
_FINAL_ROLES = ("assistant", "unknown", "")


class Said(NamedTuple):
    """One message. role: user, assistant, tool, system, "" for another one. text: None where it has
    none, as one that only calls a tool.
    """

    role: str
    text: str | None


def messages_of(span: Span, keys: Sequence[str], prefixes: Sequence[str]) -> list[Said]:
    """The messages of a span under these attributes, or numbered under these prefixes."""
    for name in keys:
        listed = span.value((name,))
        if isinstance(listed, dict):
            listed = listed.get("messages")
        if isinstance(listed, list):
            said = [_said(each) for each in listed if isinstance(each, dict)]
            if said:
                return said
    for prefix in prefixes:
        numbered = _numbered(span.attributes, prefix)
        if numbered:
            return numbered
    return []


def _said(message: Mapping[str, Any]) -> Said:
    """A message of GenAI (role and parts), of Pydantic AI, or of OpenInference's lists."""
    inner = message.get("message")
    if isinstance(inner, dict):
        message = inner
    role = message.get("role") or message.get("message.role") or ""
    role = _ROLES.get(str(role).lower(), str(role).lower())
    parts = message.get("parts")
    if not isinstance(parts, list):
        content = message.get("content", message.get("message.content"))
        return Said(role, text_of(content))
    texts: list[str] = []
    kinds: set[str] = set()
    for part in parts:
        if isinstance(part, dict):
            kinds.add(str(part.get("type")))
            content = part.get("content")
            if part.get("type") == "text" and isinstance(content, str):
                texts.append(content)
    # Pydantic AI gives the results of tools as messages of the user.
    if not texts and "tool_call_response" in kinds:
        role = "tool"
    return Said(role, "".join(texts) if texts else None)


def _numbered(attributes: Mapping[str, Any], prefix: str) -> list[Said]:
    """Messages whose role and content are attributes of their own."""
    found: dict[int, dict[str, list[str]]] = {}
    for name, value in attributes.items():
        if not name.startswith(prefix) or not isinstance(value, str) or value == names.HIDDEN:
            continue
        match = _NUMBERED.fullmatch(name.removeprefix(prefix))
        if match:
            part = "role" if match[2] == "role" else "content"
            found.setdefault(int(match[1]), {}).setdefault(part, []).append(value)
    messages: list[Said] = []
    for number in sorted(found):
        role = "".join(found[number].get("role", ())).lower()
        content = found[number].get("content")
        messages.append(Said(_ROLES.get(role, role), "".join(content) if content else None))
    return messages


def asked(span: Span) -> str | None:
    """What the user said last, as this span was told."""
    for message in reversed(messages_of(span, names.INPUT_MESSAGES, names.NUMBERED_INPUTS)):
        if message.role == "user" and message.text:
            return message.text
    given = span.value(names.INPUTS)
    for given_one in reversed(messages_in(given)):
        if given_one.role == "user" and given_one.text:
            return given_one.text
    return None


def answered(span: Span) -> str | None:
    """What the model or agent said to the user: None for a call that only asks for a tool."""
    said = messages_of(span, names.OUTPUT_MESSAGES, names.NUMBERED_OUTPUTS)
    for message in reversed(said):
        if message.role in _FINAL_ROLES and message.text:
            return message.text
    if said:
        return None
    for message in reversed(messages_of(span, names.INPUT_MESSAGES[1:3], ())):
        # The whole conversation of an agent: what stands after the last turn of the user.
        if message.role in ("user", "tool"):
            return None
        if message.role == "assistant" and message.text:
            return message.text
    return None


def tool_results_in(span: Span) -> list[Any]:
    """What tools gave after the last turn of the user, as a model was told it."""
    results: list[Any] = []
    listed = span.value(names.INPUT_MESSAGES[:1])
    for message in listed if isinstance(listed, list) else ():
        if not isinstance(message, dict):
            continue
        found: list[Any] = []
        parts = message.get("parts")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_call_response":
                found.append(part.get("response", part.get("result")))
        if not found and _said(message).role == "user":
            results = []
        results += found
    if results:
        return results
    for said in _numbered_first(span):
        if said.role == "user":
            results = []
        elif said.role == "tool" and said.text:
            results.append(said.text)
    return results


def _numbered_first(span: Span) -> list[Said]:
    return messages_of(span, names.INPUT_MESSAGES[3:], names.NUMBERED_INPUTS)


def variables(span: Span) -> dict[str, str]:
    """The variables of a prompt that was filled, by name."""
    found: dict[str, str] = {}
    whole = span.value(names.VARIABLES)
    for name, value in (whole if isinstance(whole, dict) else {}).items():
        if isinstance(value, str):
            found[str(name)] = value
    for name, value in span.attributes.items():
        if name.startswith(names.VARIABLE_PREFIX):
            text = parsed(value) if isinstance(value, str) and value[:1] == '"' else value
            if isinstance(text, str):
                found[name.removeprefix(names.VARIABLE_PREFIX)] = text
    return {name: value for name, value in found.items() if value and value != names.HIDDEN}
