"""A system behind an HTTP endpoint: a POST of question and contexts, and its answer.

The body is {"question": TEXT, "contexts": [TEXT, ...]}. The answer is a JSON object with the
response by any name that is known of columns, a JSON text, or plain text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ragassay.core import Sample, SetupError, shorten
from ragassay.runs.application import read_answer

MOST_BYTES = 16 << 20
"""Bytes of an answer from which on it is refused."""
_PAGE = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")


class HttpApp:
    """An endpoint as the engine runs it. headers: "Name: value"; "$NAME" in a value is that
    environment variable. Raises SetupError E0101 for another form and a variable that is not set.
    """

    def __init__(self, url: str, headers: Sequence[str] = ()) -> None:
        self.url = url
        self._headers = dict(map(_header, headers))
        # By this the run is named.
        self.__qualname__ = url

    async def __call__(self, row: Sample) -> Mapping[str, Any]:
        """The answer to a row. Raises RuntimeError for a status other than 2xx."""
        import aiohttp

        body = orjson.dumps(
            {
                "question": row.question,
                "contexts": [context.text for context in row.contexts or ()],
            }
        )
        # The deadline of a row is the engine's. A session a row: it belongs to the event loop, and
        # a loop that an application blocks is left behind with all that is in it.
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(self.url, data=body, headers=self._sent()) as reply,
        ):
            content = await _body(reply)
            text = content.decode("utf-8", "replace")
            if not 200 <= reply.status < 300:
                raise RuntimeError(f"the endpoint answered {reply.status}: {shorten(text, 200)}")
            return _read(row, text, reply.content_type)

    def _sent(self) -> dict[str, str]:
        return {"Content-Type": "application/json", **self._headers}


async def _body(reply: Any) -> bytes:
    """The body of an answer. Raises RuntimeError for one without end."""
    content = bytearray()
    async for piece in reply.content.iter_chunked(1 << 16):
        content += piece
        if len(content) > MOST_BYTES:
            raise RuntimeError(f"the endpoint sent more than {MOST_BYTES:,} bytes")
    return bytes(content)


def _read(row: Sample, text: str, content_type: str) -> Mapping[str, Any]:
    """The answer in a body: an object of JSON is read as one, whatever type it is sent with."""
    if _PAGE.match(text):
        raise RuntimeError(f"the endpoint sent a page of HTML: {shorten(text, 100)}")
    returned: Any = text
    if "json" in content_type or text.lstrip().startswith("{"):
        try:
            returned = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            if "json" in content_type:
                raise RuntimeError(f"the endpoint sent no JSON: {error}") from error
    answered = read_answer(row, returned)
    return {"response": answered.response, "error": answered.error}


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise SetupError(
            "E0101",
            "A header is written as 'Name: value'.",
            where=f"--app-header {shorten(line, 40)}",
            fix="for example --app-header 'Authorization: Bearer $MY_KEY'",
        )

    def of_variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise SetupError(
                "E0101",
                f"The variable {match[1]} of a header is not set.",
                where=f"--app-header {name}",
                fix=f"export {match[1]}=...",
            )
        return found

    return name.strip(), _VARIABLE.sub(of_variable, value.strip())
