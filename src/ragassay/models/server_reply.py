"""What a server of the OpenAI protocol answers: the body, its JSON, texts and counts of tokens."""

from __future__ import annotations

from typing import Any, TypeGuard

import aiohttp
import orjson

from ragassay.core import CallError

MAX_BODY = 32 * 2**20  # a verdict is a few KB: more is a mistake or an attack
MAX_ERROR = 64 * 2**10


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body; of an error the first `limit` bytes.

    Raises CallError for an answer that is longer than that.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            response.close()
            if response.status == 200:
                what = f"the reply is longer than {limit >> 20} MB"
                raise CallError("bad_reply", what, retryable=True, maybe_billed=True, status=200)
            break
    return b"".join(chunks)[:limit]


def token_counts(usage: object) -> tuple[int, int, int] | None:
    """(input, output, cached input) tokens; None when the server does not say or says nonsense."""
    if not isinstance(usage, dict):
        return None
    input_tokens = usage.get("prompt_tokens")
    output_tokens = usage.get("completion_tokens")
    if not (_is_count(input_tokens) and _is_count(output_tokens)):
        return None
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict):
        cached = details.get("cached_tokens")
    else:
        cached = usage.get("prompt_cache_hit_tokens")  # DeepSeek's name for them
    return input_tokens, output_tokens, min(cached, input_tokens) if _is_count(cached) else 0


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def parse_json(body: bytes) -> Any:
    """The value, or None when it is no JSON (or null). Not raised: such an error holds the whole
    body.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def content_text(content: object) -> str:
    """The text of a message's content: a string, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)
    )
