"""Sessions: a token is exchanged once for a cookie, which ends with the server or after a week.

The cookie's value is made here and only its hash is kept, so a value that somebody planted in the
browser before signing in is never one. Wrong tokens are counted, and after ten in a minute all are
refused for the rest of it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable

LASTS_S = 7 * 24 * 3600.0
WRONG_A_MINUTE = 10
MOST = 10_000
"""Sessions at a time; the oldest one ends for a new one."""


class TooManyTries(Exception):
    """Too many wrong tokens in a minute."""


class Sessions:
    """Who is signed in. Thread-safe. clock: seconds that only grow."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = _hash(token)
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: dict[bytes, float] = {}
        self._wrong: list[float] = []

    def begin(self, token: str) -> str:
        """The cookie's value for a token, "" for a wrong one. Raises TooManyTries."""
        with self._lock:
            now = self._clock()
            self._wrong = [when for when in self._wrong if now - when < 60]
            if len(self._wrong) >= WRONG_A_MINUTE:
                raise TooManyTries
            # Hashes of equal length, compared in a time that says nothing of where they differ.
            if not hmac.compare_digest(_hash(token), self._token):
                self._wrong.append(now)
                return ""
            value = secrets.token_urlsafe(32)
            if len(self._ends) >= MOST:
                del self._ends[next(iter(self._ends))]
            self._ends[_hash(value)] = now + LASTS_S
            return value

    def known(self, value: str) -> bool:
        """Whether a cookie's value is of a session that has not ended."""
        if not value:
            return False
        with self._lock:
            ends = self._ends.get(_hash(value))
            return ends is not None and self._clock() < ends

    def accepts(self, token: str) -> bool:
        """Whether a token is the server's, for programs that send it with every request."""
        return hmac.compare_digest(_hash(token), self._token)

    def end(self, value: str) -> None:
        """Sign out."""
        with self._lock:
            self._ends.pop(_hash(value), None)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
