"""What a function was asked, out of the arguments that its decorator recorded as a call.

Langfuse's @observe and OpenLLMetry's @workflow and @task write {"args": [...], "kwargs": {...}}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from ragassay.datasets.names import QUESTION_NAMES
from ragassay.datasets.outputs import question_in
from ragassay.datasets.spans.names import HIDDEN, QUESTION_VARIABLES

_NAMED_LIKE_A_QUESTION = dict.fromkeys((*QUESTION_VARIABLES, *QUESTION_NAMES))

# What Langfuse and Python write for an object without a form of its own, as the `self` of a method.
_OBJECT = re.compile(r"<[A-Za-z_][\w.]*(?: object at 0x[0-9a-fA-F]+)?>")


def is_call(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a recorded input is a call: its arguments by position, by name, or both."""
    if not isinstance(value, dict) or not value or not value.keys() <= {"args", "kwargs"}:
        return False
    return isinstance(value.get("args", []), list) and isinstance(value.get("kwargs", {}), dict)


def asked_in_call(call: Mapping[str, Any]) -> str | None:
    """The argument that is named like a question, else the first one that is a text; None where
    several single words were given, of which none is known to be the question.
    """
    named = call.get("kwargs") or {}
    for name in _NAMED_LIKE_A_QUESTION:
        text = _text_in(named.get(name))
        if text is not None:
            return text
    texts = list(_texts((*(call.get("args") or ()), *named.values())))
    # One word may be a language, a mode or the id of a user.
    for text in texts:
        if " " in text.strip():
            return text
    return texts[0] if len(texts) == 1 else None


def _texts(arguments: tuple[Any, ...]) -> Iterator[str]:
    for argument in arguments:
        text = _text_in(argument)
        if text is not None:
            yield text


def _text_in(argument: Any) -> str | None:
    """What an argument says: itself, or the question in an object or a list of messages."""
    text = argument if isinstance(argument, str) else question_in(argument)
    if not text or not text.strip() or text == HIDDEN or _OBJECT.fullmatch(text.strip()):
        return None
    return text
