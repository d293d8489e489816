"""Sessions: a token is exchanged once for a cookie, which ends with the server or after a week.
Each token stands for a role.

The cookie's value is made here and only its hash is kept, so a value that somebody planted in the
browser before signing in is never one. A token holds 128 bits or more, which nobody guesses: so
the right one is always taken, and nobody is locked out by the mistakes of others. Wrong ones are
counted for each address, so that whoever sends many is told to wait.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import StrEnum

LASTS_S = 7 * 24 * 3600.0
WRONG_A_MINUTE = 10
MOST = 10_000
"""Sessions at a time; the oldest one ends for a new one."""
_MOST_CALLERS = 10_000


class Role(StrEnum):
    """What somebody may do; each may what those before it may."""

    READER = "reader"  # read every page
    LABELLER = "labeller"  # and label rows
    ADMIN = "admin"  # and choose rows to label, take in sheets, decide what people differ on

    def may(self, needed: Role) -> bool:
        """Whether this role may what needs that one."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class TooManyTries(Exception):
    """Too many wrong tokens in a minute from one address. wait_s: seconds until a further one is
    answered like the first.
    """

    def __init__(self, wait_s: float = 60.0) -> None:
        super().__init__()
        self.wait_s = wait_s


class Sessions:
    """Who is signed in. Thread-safe. token: the admin's; others: those of lesser roles. clock:
    seconds that only grow.
    """

    def __init__(
        self,
        token: str,
        clock: Callable[[], float] = time.monotonic,
        others: Mapping[Role, str] | None = None,
    ) -> None:
        self._tokens = {Role.ADMIN: _hash(token)}
        for role, other in (others or {}).items():
            self._tokens[role] = _hash(other)
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[bytes, tuple[float, Role]] = {}
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def begin(self, token: str, caller: str = "") -> str:
        """The cookie's value for a token, "" for a wrong one. caller: the address that it comes
        from. Raises TooManyTries for a further wrong one after WRONG_A_MINUTE from there.
        """
        role = self.accepts(token)
        with self._lock:
            now = self._clock()
            if role is None:
                self._count_wrong(caller, now)
                return ""
            value = secrets.token_urlsafe(32)
            if len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            self._open[_hash(value)] = now + LASTS_S, role
            return value

    def _count_wrong(self, caller: str, now: float) -> None:
        """Count a wrong token. Raises TooManyTries. The lock is held."""
        recent = [when for when in self._wrong.get(caller, ()) if now - when < 60]
        if len(recent) >= WRONG_A_MINUTE:
            raise TooManyTries(60 - (now - recent[0]))
        self._wrong[caller] = [*recent, now]
        self._wrong.move_to_end(caller)
        if len(self._wrong) > _MOST_CALLERS:
            self._wrong.popitem(last=False)

    def known(self, value: str) -> Role | None:
        """The role of the session that a cookie's value is of; None where it has ended."""
        if not value:
            return None
        with self._lock:
            ends, role = self._open.get(_hash(value), (0.0, None))
            return role if self._clock() < ends else None

    def accepts(self, token: str) -> Role | None:
        """The role that a token stands for, None for a wrong one: for programs that send it with
        every request.
        """
        found: Role | None = None
        for role, known in self._tokens.items():
            # Hashes of equal length, compared in a time that says nothing of where they differ.
            if hmac.compare_digest(_hash(token), known):
                found = role
        return found

    def end(self, value: str) -> None:
        """Sign out."""
        with self._lock:
            self._open.pop(_hash(value), None)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
