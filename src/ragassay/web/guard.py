"""The guard before all routes: who may call the server by which name and how often, and the headers
of answers.

Host is checked before anything is routed, so that a foreign name that leads here (DNS rebinding)
reads nothing. Whatever changes anything must come from a page of this server: its Origin, or where
a browser sends none, Sec-Fetch-Site, has to say so.
"""

from __future__ import annotations

import ipaddress
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import Any
from urllib.parse import urlsplit

from ragassay.web.settings import LOOPBACK_NAMES

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""Of a request's body: a form of ours is far smaller."""
METHODS = ("GET", "HEAD", "POST")


def policy(nonce: str) -> str:
    """The content security policy of a page."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "object-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def headers_of(nonce: str) -> dict[str, str]:
    """What every answer carries, whatever its route and status."""
    return {
        "content-security-policy": policy(nonce),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Not no-referrer: a form's Origin would be "null" with it, and could not be checked.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-store",
    }


BURST_S = 10.0
"""A caller may make the requests of so many seconds at once."""
_MOST_CALLERS = 10_000


class RateLimit:
    """How often each caller may ask: `rate` requests a second, after a pause BURST_S times as many
    at once. For one thread. clock: seconds that only grow.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, caller: str) -> float:
        """Count a request: 0 where it may pass, else the seconds until the next one may."""
        now, most = self._clock(), self._rate * BURST_S
        left, when = self._left.get(caller, (most, now))
        left = min(most, left + (now - when) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[caller] = (left - 1 if not wait else left, now)
        self._left.move_to_end(caller)
        if len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)
        return wait


class Guard:
    """An ASGI application around another one.

    names: further names by which it may be called. limit: how often each caller may ask; caller:
    whom a request counts for, by its scope. most_bytes: of a request's body, by its scope. mounted:
    path -> an application that checks its callers, their number and its bodies itself.
    """

    def __init__(
        self,
        app: App,
        names: Sequence[str] = (),
        *,
        limit: RateLimit | None = None,
        caller: Callable[[Scope], str] = lambda scope: str((scope.get("client") or ("",))[0]),
        mounted: Mapping[str, App] | None = None,
        most_bytes: Callable[[Scope], int] = lambda scope: MOST_BYTES,
    ) -> None:
        self._app = app
        self._names = {name.lower() for name in names}
        self._limit = limit
        self._caller = caller
        self._mounted = mounted or {}
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with a nonce in the scope's state."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        nonce = secrets.token_urlsafe(18)
        scope.setdefault("state", {})["nonce"] = nonce
        carry = _with_headers(send, nonce)
        headers = headers_by_name(scope)
        if TWICE in headers or not self.knows(headers.get("host", ""), scope):
            why = "This server is not called by that name. Start it with --allow-host NAME."
            await _refuse(carry, 421, why)
            return
        mounted = self._mounted.get(scope["path"])
        if mounted is not None:
            await mounted(scope, receive, carry)
            return
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(carry, *refusal)
            return
        wait_s = self._limit.wait_s(self._caller(scope)) if self._limit is not None else 0.0
        if wait_s:
            await _refuse(carry, 429, "Too many requests. Wait a moment.", math.ceil(wait_s))
            return
        await self._app(scope, _limited(receive, self._most_bytes(scope)), carry)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and reason, None for a request that may pass."""
        host = headers.get("host", "")
        if scope["method"] not in METHODS:
            return 405, "Pages are read with GET and changed with POST."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:12]) > self._most_bytes(
            scope
        ):
            return 413, f"The request is larger than {self._most_bytes(scope) >> 20} MB."
        if scope["method"] == "POST" and not _from_own_page(headers, host):
            return 403, "Only a page of this server may change anything here."
        return None

    def knows(self, host: str, scope: Scope) -> bool:
        """Whether a Host header names this server."""
        if not host or any(letter in host for letter in "/\\@?#, "):
            return False
        name, port = _split(host.lower())
        own = scope.get("server") or ("", 0)
        if host.lower() in self._names or name in self._names:
            return True
        if port != (own[1] or 80):
            return False
        if name in LOOPBACK_NAMES:
            return True
        # By its own address: names can be made to lead here by anybody, addresses cannot.
        try:
            return ipaddress.ip_address(name) == ipaddress.ip_address(own[0])
        except ValueError:
            return False


TWICE = "\0twice"
"""The name under which `headers_by_name` says what stands there twice; no header can have it."""


def headers_by_name(scope: Scope, once: Collection[str] = ("host",)) -> dict[str, str]:
    """The headers by name in small letters. once: those of which there may be one alone; where
    there are several of one, `TWICE` has its name.
    """
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        if name in once and name in headers:
            headers[TWICE] = name
        headers[name] = value.decode("latin-1")
    return headers


def _split(host: str) -> tuple[str, int]:
    """Name and port of a Host header; -1 for a port that is none."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or "", parts.port or 80
    except ValueError:
        return "", -1


def _from_own_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether a browser says that a page of this server sends the request."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = headers.get("origin")
    if origin is None:
        return site == "same-origin"
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == host.lower()


def _with_headers(send: Send, nonce: str) -> Send:
    async def carry(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {key.decode("latin-1").lower() for key, _ in message.get("headers", ())}
            headers = list(message.get("headers", ()))
            for name, value in headers_of(nonce).items():
                if name not in present:
                    headers.append((name.encode(), value.encode()))
            message["headers"] = headers
        await send(message)

    return carry


class TooLarge(Exception):
    """A body went on beyond what its route allows."""


def _limited(receive: Receive, most: int) -> Receive:
    """A body that was sent without its length is cut off all the same."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise TooLarge
        return message

    return limited


_CODES = {403: "E1403", 405: "E1405", 413: "E1406", 421: "E1402", 429: "E1411"}


async def _refuse(send: Send, status: int, why: str, retry_s: int = 0) -> None:
    code = _CODES[status]
    body = f"{code}: {why}\n`ragassay explain {code}` says more.\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    if retry_s:
        headers.append((b"retry-after", str(retry_s).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
