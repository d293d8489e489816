"""The servers that replay what was recorded, and that answer a judge in recorded envelopes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

# The transport's own; the recorded ones are of another transport.
_NOT_SENT = {
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
}


@dataclass(frozen=True)
class Sent:
    """An answer of a server."""

    status: int
    payload: bytes
    content_type: str
    headers: dict[str, str]


Answering = Callable[[dict[str, Any], int], Sent]
"""(the request's body, how many came before it) -> the answer."""


class ReplayServer:
    """A server that answers every path below `url(name)` by the function of that name."""

    def __init__(self) -> None:
        self._answering: dict[str, Answering] = {}
        self.requests: dict[str, int] = {}
        self._port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def answer(self, name: str, answering: Answering) -> str:
        """Answer so from now on; the base URL."""
        self._answering[name] = answering
        self.requests[name] = 0
        return f"http://127.0.0.1:{self._port}/{name}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{name}/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        raw = await request.read()
        body = json.loads(raw) if raw else {}
        before = self.requests[name]
        self.requests[name] += 1
        sent = self._answering[name](body, before)
        headers = {k: v for k, v in sent.headers.items() if k.lower() not in _NOT_SENT}
        headers["Content-Type"] = sent.content_type
        return web.Response(status=sent.status, body=sent.payload, headers=headers)
