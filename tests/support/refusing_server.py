"""A server that refuses some requests, in its own words, and answers the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from support.native_server import NativeServer


class Rule(NamedTuple):
    """What is refused: a request of which `applies` is true; and how."""

    applies: Callable[[Any], bool]
    body: object
    status: int = 400


class RefusingServer(NativeServer):
    """Answers with the body (a text is sent as it is) of the first rule that applies, else with
    `reply`.
    """

    def __init__(self, reply: object, *rules: Rule) -> None:
        super().__init__(reply)
        self._rules = rules

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        body = orjson.loads(raw) if raw else None
        for rule in self._rules if request.method == "POST" else ():
            if rule.applies(body):
                self.bodies.append(body)
                if isinstance(rule.body, str):
                    return web.Response(text=rule.body, status=rule.status)
                return web.json_response(rule.body, status=rule.status)
        return await super()._answer(request)
