"""A server that gives one reply to every request, and keeps what it was asked: for dialects that
`ragassay.testing` does not speak.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from typing import Any, Self

import orjson
from aiohttp import web


class NativeServer:
    """Answers any path with `reply`: an object as JSON, or a response. first: (status, object) of
    the requests before it. context: serves over TLS.
    """

    def __init__(
        self,
        reply: object,
        *,
        first: list[tuple[int, object]] | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._reply = reply
        self._first = list(first or [])
        self._context = context
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        self._ready = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(120)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        self.paths.append(request.raw_path)
        self.headers.append(dict(request.headers))
        self.bodies.append(orjson.loads(raw) if raw else None)
        if self._first:
            status, body = self._first.pop(0)
            return web.json_response(body, status=status)
        if isinstance(self._reply, web.Response):
            return web.Response(
                body=self._reply.body, status=self._reply.status, headers=self._reply.headers
            )
        return web.json_response(self._reply)
