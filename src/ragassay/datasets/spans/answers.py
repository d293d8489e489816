"""Answers that are no plain text: texts in pieces, numbers, JSON under names that nobody knows."""

from __future__ import annotations

from typing import Any

import orjson

from ragassay.datasets.names import RESPONSE_NAMES, TEXT_KEYS
from ragassay.datasets.outputs import contexts_in, messages_in, part, question_in

_OFFERS = ("choices", "generations")


def joined(output: object) -> str | None:
    """The text of an output that is a list of texts: what a function gave piece by piece, as those
    that trace a generator record it.
    """
    if not isinstance(output, list) or not output:
        return None
    return "".join(output) if all(isinstance(piece, str) for piece in output) else None


def named_number(output: object) -> str | None:
    """The number, or true or false, that an output names as its answer: {"answer": 42}."""
    if not isinstance(output, dict):
        return None
    answer = part(output, RESPONSE_NAMES)
    return _json(answer) if isinstance(answer, int | float) else None


def as_json(output: object) -> str | None:
    """An output as the JSON that it is; None for what is known to be no answer: documents, a
    conversation that the user ended, a call of a tool, an echo of the question, nothing at all.
    """
    if isinstance(output, int | float):
        return _json(output)
    if not isinstance(output, dict | list) or not output or _is_known(output):
        return None
    values = output.values() if isinstance(output, dict) else output
    return _json(output) if any(value is not None for value in values) else None


def _is_known(output: dict[str, Any] | list[Any]) -> bool:
    """Whether an output has a form in which the answer, had there been one, would have been
    read.
    """
    if contexts_in(output) is not None or messages_in(output):
        return True
    if isinstance(output, dict):
        return question_in(output) is not None or any(name in output for name in _OFFERS)
    return any(isinstance(each, dict) and _is_document_or_piece(each) for each in output)


def _is_document_or_piece(value: dict[str, Any]) -> bool:
    """Whether this is something retrieved, or a piece of a model's stream."""
    return part(value, TEXT_KEYS) is not None or any(name in value for name in _OFFERS)


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
