"""The local LLM server with refusals in any words, web pages, and replies longer than allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from ragassay.testing import Body, LLMServer


class Answer(NamedTuple):
    """What a request gets in place of a reply. text: of the error, or the page itself where it
    begins with "<".
    """

    status: int
    text: str


class OddServer(LLMServer):
    """refuse: by the request's body, asked first; None for a reply. tokens: of each reply's
    completion, whatever limit the request names; None for those of its text. requests: all that
    came; billed: dollars for the replies.
    """

    def __init__(
        self,
        refuse: Callable[[Body], Answer | None] = lambda body: None,
        *,
        tokens: int | None = None,
        **settings: Any,
    ) -> None:
        self.refuse = refuse
        self.tokens = tokens
        self.requests = 0
        self.billed = 0.0
        super().__init__(**settings)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        refused = self.refuse(orjson.loads(await request.read()))
        if refused is None:
            return await super()._chat(request)
        if refused.text.startswith("<"):
            page = refused.text
            return web.Response(text=page, status=refused.status, content_type="text/html")
        return web.json_response({"error": {"message": refused.text}}, status=refused.status)

    def _reply(self, *arguments: Any) -> dict[str, Any]:
        reply = super()._reply(*arguments)
        usage = reply["usage"]
        if self.tokens is not None:
            usage["completion_tokens"] = self.tokens
            usage["total_tokens"] = usage["prompt_tokens"] + self.tokens
        per_input, per_output = self.price
        self.billed += usage["prompt_tokens"] * per_input / 1e6
        self.billed += usage["completion_tokens"] * per_output / 1e6
        return reply
