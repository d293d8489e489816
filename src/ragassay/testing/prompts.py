"""Readers of a chat request: its text, its digest, and the JSON schema that it asks for."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import orjson

Body = dict[str, Any]
"""The JSON body of a chat request."""

_SCHEMA_START = re.compile(r"\{\s*\"(?:type|properties|\$defs|title|additionalProperties)\"")


def prompt_text(body: Body) -> str:
    """All messages of a request as one text."""
    return "\n".join(str(m.get("content") or "") for m in body.get("messages") or [])


def prompt_digest(body: Body) -> str:
    """A digest of the messages alone: the same for one prompt under any parameters."""
    return hashlib.blake2b(orjson.dumps(body.get("messages")), digest_size=12).hexdigest()


_KNOWN_EXAMPLE = "The Harbour Museum opens at nine in the morning and closes at five"


def is_known_example(body: Body) -> bool:
    """Whether a request asks about the example by which RagAssay learns a model."""
    return _KNOWN_EXAMPLE in prompt_text(body)


def embedded_schema(text: str) -> dict[str, Any] | None:
    """The last JSON schema in a text; None where there is none.

    A judge writes the schema into the prompt where the server takes none in `response_format`.
    """
    decoder = json.JSONDecoder()
    schema = None
    position = 0
    while (match := _SCHEMA_START.search(text, position)) is not None:
        try:
            value, position = decoder.raw_decode(text, match.start())
        except ValueError:
            position = match.end()
            continue
        if isinstance(value.get("properties"), dict):
            schema = value
    return schema
