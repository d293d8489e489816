"""The ASGI application of the HTTP API: guard, token, place, table, answer, in this order.

A request is known by its token alone, which a page of another site cannot make a browser send;
cookies count for nothing here. Every answer, a refusal too, has the same headers.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from ragassay.core import RagAssayError
from ragassay.web.api.messages import Call, Download, Events, Json, Operation, Refused, Reply
from ragassay.web.api.openapi import PATH as DOCUMENT
from ragassay.web.api.openapi import document_bytes
from ragassay.web.api.places import (
    AT_ONCE,
    BODIES_AT_ONCE,
    COSTLY_AT_ONCE,
    FILES_AT_ONCE,
    STREAMS_AT_ONCE,
    Places,
)
from ragassay.web.api.problems import (
    MEDIA,
    fault,
    note_fault,
    problem_of,
    status_of,
    unknown_address,
)
from ragassay.web.api.reading import Left, body_of, key_of, media_type, query_of
from ragassay.web.api.streams import follow
from ragassay.web.api.table import OPERATIONS
from ragassay.web.guard import (
    TWICE,
    Guard,
    Message,
    Receive,
    Scope,
    Send,
    headers_by_name,
    headers_of,
)
from ragassay.web.sessions import Role

if TYPE_CHECKING:
    from ragassay.web.api.evaluations import Evaluations
    from ragassay.web.site import Site

PREFIX = "/api/"
_POLICY = "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; sandbox"
_CHUNK = 1 << 18
_ONCE = ("host", "authorization", "content-length", "idempotency-key")
"""Headers that must not stand in a request twice, for which of the two counts is not known."""
_PARAMETER = re.compile(r"\{(\w+)\}")


class Api:
    """The API before the pages: it answers what begins with /api/, and passes the rest on to them.
    `close` ends the evaluations that go on.
    """

    def __init__(self, site: Site, pages: Guard) -> None:
        self._site = site
        self._pages = pages
        self.evaluations = _evaluations(site)
        self._routes = _routes()
        self.places = Places(AT_ONCE, "requests are answered")
        self.costly = Places(COSTLY_AT_ONCE, "judgments, comparisons and exports go on")
        self.streams = Places(STREAMS_AT_ONCE, "runs are followed")
        # Clients that send or fetch slowly keep nobody but others of their kind waiting.
        self.bodies = Places(BODIES_AT_ONCE, "bodies are received")
        self.files = Places(FILES_AT_ONCE, "files are fetched")

    def close(self) -> None:
        """Stop what goes on in the background."""
        self.evaluations.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._pages(scope, receive, send)
            return
        headers = headers_by_name(scope, _ONCE)
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._answer(scope, headers, receive, noted)
        except Left:
            return  # nobody is there to be told
        except Exception as error:
            if started:
                # In the middle of a stream or a file: only breaking it off can be seen.
                note_fault(error)
                return
            told = error if isinstance(error, RagAssayError) else fault(error)
            await self._send_problem(told, scope, receive, noted)

    async def _answer(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> None:
        self._check_caller(scope, headers)
        role = _role(self._site, headers)
        operation, path = self._found(scope)
        if operation is None:
            response = _tagged(document_bytes(), headers)
            await response(scope, receive, _with_headers(send))
            return
        _check_role(role, operation)
        query = query_of(operation.query, scope["query_string"].decode("latin-1"))
        key = key_of(headers) if operation.keyed else ""
        kind = media_type(headers)
        with ExitStack() as taken:
            if operation.lasts is not None:
                places = self.streams if operation.lasts is Events else self.files
                taken.enter_context(places.one())
            body = await self._body(operation, headers, receive)
            call = Call(self._site, self.evaluations, path, query, body, kind, key, role)
            reply = await self._reply(operation, call)
            await self._send(reply, operation, scope, headers, receive, send)

    async def _body(
        self, operation: Operation, headers: Mapping[str, str], receive: Receive
    ) -> Any:
        if operation.body is None and not operation.takes:
            return None
        with self.bodies.one():
            return await body_of(operation, headers, receive)

    async def _reply(self, operation: Operation, call: Call) -> Reply:
        with ExitStack() as taken:
            if operation.lasts is not Events:
                taken.enter_context(self.places.one())
            if operation.costly:
                taken.enter_context(self.costly.one())
            return await run_in_threadpool(operation.answer, call)

    def _check_caller(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raise Refused for a name that is not this server's (E1402) and for a page of another site
        (E1403); whatever the method, for nobody's page has to do with this.
        """
        twice = headers.get(TWICE, "host")
        if twice != "host":
            raise Refused("E1408", "A header stands there twice.", where=twice.title())
        host = headers.get("host", "")
        if TWICE in headers or not self._pages.knows(host, scope):
            raise Refused("E1402", "This server is not called by that name.", where="Host")
        site = headers.get("sec-fetch-site", "none")
        origin = headers.get("origin")
        _, _, named = (origin or "").partition("://")
        own = origin is None or (bool(named) and named.lower() == host.lower())
        if site not in ("none", "same-origin") or not own:
            raise Refused("E1403", "The request comes from a page of another site.", where="Origin")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            raise Refused("E1408", "The length of the body is no number.", where="Content-Length")

    def _found(self, scope: Scope) -> tuple[Operation | None, dict[str, str]]:
        """The operation and the values in the path; None for the document. Raises Refused E1404,
        E1405.
        """
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if scope["path"] == DOCUMENT:
            if method != "GET":
                raise _other_method(["GET"])
            query_of(None, scope["query_string"].decode("latin-1"))
            return None, {}
        for pattern, by_method in self._routes:
            match = pattern.fullmatch(scope["path"])
            if match is None:
                continue
            if method not in by_method:
                raise _other_method(sorted(by_method))
            return by_method[method], match.groupdict()
        raise unknown_address()

    async def _send(
        self,
        reply: Reply,
        operation: Operation,
        scope: Scope,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
    ) -> None:
        if isinstance(reply, Events):
            await follow(reply, scope, receive, _with_headers(send))
        elif isinstance(reply, Download):
            await _send_file(reply, scope, headers, receive, send)
        else:
            response = _json(reply, operation, headers)
            await response(scope, receive, _with_headers(send))

    async def _send_problem(
        self, error: RagAssayError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        problem = problem_of(error, self._site.store.location)
        response = Response(orjson.dumps(problem), status_of(error), media_type=MEDIA)
        if isinstance(error, Refused):
            if error.retry_s:
                response.headers["retry-after"] = str(error.retry_s)
            if error.allowed:
                response.headers["allow"] = ", ".join(error.allowed)
        if error.code == "E1401":
            response.headers["www-authenticate"] = "Bearer"
        await response(scope, receive, _with_headers(send))


def _evaluations(site: Site) -> Evaluations:
    from ragassay.web.api.evaluations import Evaluations

    return Evaluations(site.store)


def _routes() -> list[tuple[re.Pattern[str], dict[str, Operation]]]:
    """Pattern of a path -> its operations by method."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes = []
    for path, by_method in by_path.items():
        pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", path)
        routes.append((re.compile(pattern), by_method))
    return routes


def _role(site: Site, headers: Mapping[str, str]) -> Role:
    """What the token stands for. Raises Refused E1401."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    role = site.sessions.accepts(token.strip()) if scheme.lower() == "bearer" else None
    if role is None:
        what = "The token is wrong." if token else "The request carries no token."
        raise Refused("E1401", what, where="Authorization")
    return role


def _check_role(role: Role, operation: Operation) -> None:
    """Raise Refused E1403 for a token whose role is less than the operation needs."""
    if not role.may(operation.role):
        raise Refused(
            "E1403",
            f"This needs the token of the {operation.role}.",
            why=f"the token is the {role}'s",
            fix="use the token of a role that may",
        )


def _other_method(allowed: list[str]) -> Refused:
    error = Refused(
        "E1405",
        "This address does not take the method.",
        why=f"it takes {', '.join(allowed)}",
        fix=f"use {' or '.join(allowed)}",
    )
    error.allowed = allowed
    return error


def _json(reply: Json, operation: Operation, headers: Mapping[str, str]) -> Response:
    content = orjson.dumps(reply.value)
    if operation.method == "GET" and reply.status == 200:
        return _tagged(content, headers)
    status = operation.status if reply.status == 200 else reply.status
    response = Response(content, status, media_type="application/json")
    if reply.location:
        response.headers["location"] = reply.location
    if reply.retry_s:
        response.headers["retry-after"] = str(reply.retry_s)
    return response


def _tagged(content: bytes, headers: Mapping[str, str]) -> Response:
    """JSON with its ETag; nothing but the ETag for a client that has it already."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if _has(headers, etag):
        return Response(status_code=304, headers={"etag": etag})
    return Response(content, media_type="application/json", headers={"etag": etag})


def _has(headers: Mapping[str, str], etag: str) -> bool:
    """Whether If-None-Match names the content."""
    named = headers.get("if-none-match", "")
    tags = [tag.strip().removeprefix("W/") for tag in named.split(",")]
    return named.strip() == "*" or etag in tags


async def _send_file(
    reply: Download, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
) -> None:
    """Send a file piece by piece, and remove it, also where the client goes away meanwhile."""
    carry = _with_headers(send)
    try:
        if _has(headers, reply.etag):
            await Response(status_code=304, headers={"etag": reply.etag})(scope, receive, carry)
            return
        size = reply.path.stat().st_size
        start = {
            "content-type": reply.kind,
            "content-length": str(size),
            "content-disposition": f"attachment; filename*=UTF-8''{quote(reply.name)}",
            "etag": reply.etag,
        }
        raw = [(name.encode(), value.encode()) for name, value in start.items()]
        await carry({"type": "http.response.start", "status": 200, "headers": raw})
        with reply.path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _CHUNK):
                await carry({"type": "http.response.body", "body": piece, "more_body": True})
        await carry({"type": "http.response.body", "body": b""})
    finally:
        with suppress(OSError):
            reply.path.unlink()


def _with_headers(send: Send) -> Send:
    """The headers that every answer carries."""
    fixed = headers_of("") | {"content-security-policy": _POLICY}

    async def carry(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            present = {key.lower() for key, _ in headers}
            for name, value in fixed.items():
                if name.encode() not in present:
                    headers.append((name.encode(), value.encode()))
            message["headers"] = headers
        await send(message)

    return carry
