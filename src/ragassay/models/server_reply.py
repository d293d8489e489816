"""The body of a server's answer, and its JSON."""

from __future__ import annotations

from typing import Any

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
            if response.status < 300:
                what = f"the reply is longer than {limit >> 20} MB"
                raise CallError(
                    "bad_reply", what, retryable=True, maybe_billed=True, status=response.status
                )
            break
    return b"".join(chunks)[:limit]


def parse_json(body: bytes) -> Any:
    """The value, or None when it is no JSON (or null). Not raised: such an error holds the whole
    body.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
