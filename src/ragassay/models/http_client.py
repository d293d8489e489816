"""The HTTP client of a model: connections, the way to the server, and what went wrong on it.

The texts and the key go to the configured host and nowhere else: redirects are not followed, no
cookies are kept, and of the environment only the proxy is read.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from ragassay.core import CallError
from ragassay.models.base import ABOUT_TO_SEND
from ragassay.models.base_url import host_of
from ragassay.models.proxy import PROXY, credentials, proxy_for
from ragassay.models.server_reply import MAX_BODY, MAX_ERROR, read_body

CONNECT_SECONDS = 10.0

FAILURES = (aiohttp.ClientError, HttpProcessingError, OSError)
"""What the library raises where no complete answer came; a TimeoutError is an OSError."""


class HttpReply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _AnnouncingConnector(aiohttp.TCPConnector):
    """Connections that announce each request between having one and writing to it."""

    async def connect(self, *args: Any, **kwargs: Any) -> Connection:
        connection = await super().connect(*args, **kwargs)
        announce = ABOUT_TO_SEND.get()
        if announce is not None:
            try:
                announce()
            except BaseException:
                connection.close()
                raise
        return connection


class HttpClient:
    """Requests to one host.

    headers: sent with each. concurrency: size of the pool of connections. timeout: seconds for a
    whole attempt. proxy: its address, None: as the environment says. ca: a file of certificates
    that are trusted beside the system's. clean: takes the key out of a text. May be used from one
    event loop after another; `close()` in each loop lets go of that loop's connections.
    """

    def __init__(
        self,
        base: URL,
        headers: Mapping[str, str],
        *,
        concurrency: int,
        timeout: float,
        proxy: str | None = None,
        ca: str | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self.host = host_of(base)
        self._headers = dict(headers)
        self._concurrency, self._timeout = concurrency, timeout
        self._proxy = proxy_for(base, proxy)
        self._ca = ca
        self._clean = clean
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    @property
    def proxy_host(self) -> str:
        """The proxy's host, which sees the texts too where the server is spoken to in the clear."""
        return "" if self._proxy is None else host_of(self._proxy.url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The user name and password that the proxy is given."""
        return () if self._proxy is None else credentials(self._proxy.url)

    def session(self) -> aiohttp.ClientSession:
        """The session of the running loop."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            # A loop that ended without `close` leaves its session behind.
            self._sessions = {
                other: its_session
                for other, its_session in self._sessions.items()
                if not other.is_closed()
            }
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=_AnnouncingConnector(
                    limit=self._concurrency,
                    keepalive_timeout=30,
                    ttl_dns_cache=300,
                    ssl=self._trusted(),
                ),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                # The library would take passwords from ~/.netrc as well.
                trust_env=False,
            )
        return session

    def _trusted(self) -> ssl.SSLContext | bool:
        if self._ca is None:
            return True
        context = ssl.create_default_context()
        context.load_verify_locations(cafile=self._ca)
        return context

    def open(self, method: str, url: URL, **details: Any) -> Any:
        """A request whose answer is read by the caller, as a context manager."""
        proxy = None if self._proxy is None else self._proxy.url
        return self.session().request(method, url, allow_redirects=False, proxy=proxy, **details)

    async def send(
        self, method: str, url: URL, data: bytes | None, headers: Mapping[str, str] | None = None
    ) -> HttpReply:
        """One request and its whole answer. Raises CallError where none came."""
        # aiohttp's exceptions hold the request with its Authorization header, so none may hang on
        # ours as context: the failure is built inside the except clause and raised after it.
        try:
            async with self.open(method, url, data=data, headers=headers) as response:
                limit = MAX_BODY if response.status < 300 else MAX_ERROR
                return HttpReply(
                    response.status, response.headers, await read_body(response, limit)
                )
        except CallError as error:
            failure = error
        except FAILURES as error:
            failure = self.broken(error)
        raise failure

    def broken(self, error: Exception) -> CallError:
        """The failure of a request that got no complete answer."""
        what = self._clean(f"{self.host}: {error or type(error).__name__}")
        if isinstance(error, aiohttp.InvalidURL):
            return CallError("bad_request", what, fatal=True)
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return proxy_failure(self.proxy_host, error.status)
        if self._is_of_the_proxy(error):
            return self._no_proxy(error)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            what = self._clean(f"{self.host}: {error.certificate_error}")
            return CallError("certificate", what, fatal=True)
        # Nothing was sent, so nothing can be billed.
        if isinstance(error, aiohttp.ClientConnectorError):
            what = self._clean(f"{self.host}: {_reason(error.os_error)}")
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return CallError("network", what, retryable=True)
        if isinstance(error, TimeoutError):
            return CallError(
                "timeout",
                f"{self.host}: no complete answer in time",
                retryable=True,
                maybe_billed=True,
            )
        if isinstance(
            error, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, HttpProcessingError)
        ):
            return CallError(
                "bad_reply", f"the reply is damaged: {what}", retryable=True, maybe_billed=True
            )
        return CallError(
            "network", f"the connection broke: {what}", retryable=True, maybe_billed=True
        )

    def _is_of_the_proxy(self, error: Exception) -> bool:
        """Whether it is the proxy, and not the server, to which no connection came about."""
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return True
        # One to which TLS fails is told by the address alone.
        if self._proxy is None or not isinstance(error, aiohttp.ClientConnectorSSLError):
            return False
        return (error.host, error.port) == (self._proxy.url.host, self._proxy.url.port)

    def _no_proxy(self, error: Exception) -> CallError:
        source = "" if self._proxy is None else self._proxy.source
        reason = _reason(getattr(error, "os_error", error))
        what = f"{PROXY} {self.proxy_host} cannot be reached: {reason} ({source} names it)"
        return CallError("network", self._clean(what), retryable=True)

    async def close(self) -> None:
        """Let go of the connections that belong to the running loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def _reason(error: BaseException) -> str:
    """Why no connection came about."""
    inner = getattr(error, "os_error", error)  # the library wraps that of a connection to a proxy
    if isinstance(inner, ssl.SSLError) and inner.reason in _NO_TLS:
        return "the server speaks plain HTTP and no TLS: use http:// in its address"
    return str(inner) or type(inner).__name__


_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL")


def proxy_failure(proxy: str, status: int) -> CallError:
    """The failure of a request that a proxy did not let through."""
    if status == 407:
        what = f"{PROXY} {proxy} asks for a password, or rejects the one it was given"
        return CallError("proxy", what, fatal=True, status=status)
    what = f"{PROXY} {proxy} answered {status} and let nothing through"
    return CallError("network", what, retryable=status >= 500, status=status)
