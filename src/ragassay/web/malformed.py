"""The answer to bytes that are no HTTP, or end before the request does: a problem with a code, as
for every other bad request.

No application is called for bytes that are no HTTP, for there is no request: a line that is no
request line, a header without a colon, a chunk of the body whose size cannot be read.
"""

from __future__ import annotations

import asyncio
import re

import orjson
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ragassay.web.api.messages import Refused
from ragassay.web.api.problems import MEDIA, problem_of

HEAD_S = 30.0
"""Seconds in which the head of a request has to arrive."""
LONGEST_HEAD = 1 << 16
"""Bytes of the head of a request, line and fields together."""
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*\r\n", re.IGNORECASE)
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's reader of HTTP, whichever of its two is installed."""

    _patience: asyncio.TimerHandle | None = None
    _head = b""
    """What came of a head that is not whole yet."""
    _before = b""
    """The last bytes that were handed on: an end of a head may have begun in them."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for a request, not for ever: an open connection costs a file."""
        super().connection_made(transport)
        self._wait_for_a_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read, and hang up: where the next request begins is not known."""
        self._hang_up(
            "What was sent is no HTTP.",
            "a line, a header or the size of a chunk cannot be read",
            "send the request with a library for HTTP",
        )

    def data_received(self, data: bytes) -> None:
        """Take bytes in, a head when it is whole. What it says of other protocols is left out: none
        is spoken here, and the reader would drop the body that comes with such a request.
        """
        if self.cycle is None or not self.cycle.more_body:
            at = self._add_to_head(data)
            if (at or len(self._head)) > LONGEST_HEAD:
                self._head = b""
                self._hang_up(
                    "The head of the request is too long.",
                    f"it has more than {LONGEST_HEAD >> 10} KB",
                    "send less in the address and the headers",
                )
                return
            if not at:
                if self._patience is None:
                    self._wait_for_a_head()
                return
            head, rest = self._head[:at], self._head[at:]
            data = _UPGRADE.sub(b"\r\n", head) + rest
            self._head = b""
        self._before = data[-3:]
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._patience is None:
            self._wait_for_a_head()

    def _add_to_head(self, data: bytes) -> int:
        """Where the head ends, in bytes of it; 0 while it is not whole."""
        before = len(self._before)
        searched = max(0, len(self._head) - 3)
        self._head += data
        for end in _END_OF_HEAD.finditer(self._before + self._head, searched):
            if end.end() > before:
                return end.end() - before
        # What begins no request, such as one for HTTPS, is refused by the reader at once.
        begins = self._head[:1].isalpha() or self._head[:1] in b"\r\n"
        return 0 if begins else len(self._head)

    def on_headers_complete(self) -> None:
        """Fields behind a body in pieces are no fields of the head, which may have been checked."""
        super().on_headers_complete()
        self.headers: list[tuple[bytes, bytes]] = []

    def eof_received(self) -> bool | None:
        """Answer a client that ended its side of the connection: it may still read."""
        cycle = self.cycle
        if cycle is None or cycle.response_started:
            return None
        if not cycle.more_body:
            # The answer to a whole request is on its way, and the last one.
            cycle.keep_alive = False
            return True
        self._hang_up(
            "The body ended before it was whole.",
            "the connection ended with fewer bytes than were announced",
            "send the request again, whole",
        )
        return None

    def _wait_for_a_head(self) -> None:
        self._patience = self.loop.call_later(HEAD_S, self._no_head)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _no_head(self) -> None:
        self._patience = None
        if self.cycle is None or self.cycle.response_complete:
            self._hang_up(
                "The request did not arrive in time.",
                f"its head was not whole after {HEAD_S:g} s",
                "send the request again, whole",
            )

    def _hang_up(self, what: str, why: str, fix: str) -> None:
        error = Refused("E1408", what, why=why, fix=fix)
        content = orjson.dumps(problem_of(error, "\0"))
        head = (
            "HTTP/1.1 400 Bad Request\r\n"
            f"content-type: {MEDIA}\r\n"
            f"content-length: {len(content)}\r\n"
            "x-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + content)
        self.transport.close()
