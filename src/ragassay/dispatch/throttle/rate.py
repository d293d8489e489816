"""The rate limiter of a key: the rate that a provider's refusals teach, shared on one machine.

Nothing is held back until a provider refuses a call with "too many requests". From then on calls go
out one by one at a rate that follows AIMD (Chiu and Jain, 1989: additive increase, multiplicative
decrease are fair and stable): a refusal takes the rate to what was accepted lately, at least 5 %
down and at most by half (to a tenth, where a hundred calls show it); without refusals it rises
slowly, and faster once the last such step is long ago, so that a raised limit is found within a
minute. Some servers refuse a call in a hundred whatever the rate is, and do not say when to come
back. That is told from a limit by going down: where few calls are refused still, well below a rate
at which they were as few, the rate is not to blame, and it stays.

Processes under one key on one machine share the rate through a file of a few numbers, made by the
first refusal and removed by the last process that used it. Each claims one place at a time, so that
they take turns. The file holds no key: its name is a hash of the address and the key.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

try:
    import fcntl
except ImportError:  # Windows: each process limits itself
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

DOWN = 0.95
"""What a refusal leaves of the rate at most."""

LATELY = 0.97
"""The new rate, as a share of what was accepted lately."""

HALF = 0.5
STEEPLY = 0.1
"""What an event of refusals leaves of the rate at least; where it shows in many calls how few are
accepted.
"""

SHORT = 0.3
BLIND = 0.8
"""Seconds in which too little is accepted to tell a rate by it, and what a refusal within them
leaves of the rate.
"""

CLIMB = 0.002
CLIMB_FAST = 0.03
SETTLED = 25.0
"""Growth of the rate a second: as a share of it while it was lowered less than SETTLED seconds ago,
and after.
"""

FEW = 0.03
ENOUGH = 100.0
MEMORY = 400.0
"""Refusals are few that are no larger share of the calls, and of no fewer calls than that; so many
calls are remembered.
"""

BELOW = 0.8
"""Few refusals below this share of a rate at which they were as few are not due to the rate."""

EVENT = 1.0
"""Refusals within so many seconds are one event: the calls were under way together."""

SLACK = 0.05
"""Seconds of places that may be made up for when a process wakes late."""

LEAST = 0.2
"""Calls a second below which the rate never falls."""

STALE = 60.0
"""A file that nobody used for so long tells nothing any more."""


@dataclass(slots=True)
class _State:
    """What the processes share; all times in seconds of the monotonic clock, which is one for the
    machine.
    """

    rate: float = 0.0  # calls a second; 0 = not limited
    next: float = 0.0  # when the next place is
    blocked: float = 0.0  # nobody sends before
    refused: float = 0.0  # when the last event of refusals began
    lowered: float = 0.0  # when the rate was last lowered
    ceiling: float = 0.0  # the highest rate at which few were refused; 0 when many were since
    asked: float = 0.0  # calls and refusals that are remembered
    turned: float = 0.0
    grown: float = 0.0  # when the rate was last raised
    second: float = 0.0  # when the second of `now_accepted` began
    now_accepted: float = 0.0
    before_accepted: float = 0.0  # in the second before that one
    now_sent: float = 0.0
    before_sent: float = 0.0
    began: float = 0.0  # when calls began after the last pause of a second or more
    used: float = 0.0

    def claim(self, now: float) -> float:
        self._count(now)
        self.now_sent += 1
        self.asked += 1 - self.asked / MEMORY
        self.turned -= self.turned / MEMORY
        if not self.rate:
            return max(0.0, self.blocked - now)
        place = max(self.next, self.blocked, now - SLACK)
        # Where the rate does not bind, it says nothing, and is not raised.
        if self.next > now - SLACK:
            passed = min(1.0, max(0.0, now - self.grown))
            growth = CLIMB if now - self.lowered < SETTLED else CLIMB_FAST
            self.rate *= 1 + passed * growth
        self.grown = now
        self.next = place + 1.0 / self.rate
        return max(0.0, place - now)

    def accept(self, now: float) -> None:
        self._count(now)
        self.now_accepted += 1

    def refuse(self, now: float, pause: float) -> None:
        self.blocked = max(self.blocked, now + pause)
        self.turned += 1
        if self.refused and now - self.refused < EVENT:
            return
        self._count(now)
        # A provider that says when to come back means the rate; and what is saved up in its pauses
        # hides how many would have been refused.
        few = not pause and self.asked >= ENOUGH and self.turned <= FEW * self.asked
        if not (few and self.rate < BELOW * self.ceiling):
            self.ceiling = max(self.ceiling, self.rate) if few else 0.0
            self._lower(now)
        self.refused = now
        # What is accepted is counted anew from when calls may go out again.
        self.now_accepted = 0.0
        self.now_sent = 0.0
        self.before_accepted = 0.0
        self.before_sent = 0.0
        self.second = now + pause
        self.began = now + pause

    def _lower(self, now: float) -> None:
        seconds = min(1.0 + now - self.second, now - self.began)
        # What was just sent was too much; how much too much shows in what is accepted from now on.
        if not self.rate:
            self.rate = DOWN * (self.now_sent + self.before_sent) / max(0.05, seconds)
        elif seconds < SHORT:
            self.rate *= BLIND
        else:
            accepted = (self.now_accepted + self.before_accepted) / seconds
            least = STEEPLY if self.now_sent + self.before_sent >= ENOUGH else HALF
            self.rate = min(DOWN * self.rate, max(LATELY * accepted, least * self.rate))
        self.rate = max(LEAST, self.rate)
        self.lowered = self.grown = now

    def _count(self, now: float) -> None:
        if now - self.second >= 1.0:
            fresh = now - self.second < 2.0
            self.before_accepted = self.now_accepted if fresh else 0.0
            self.before_sent = self.now_sent if fresh else 0.0
            self.began = self.began if fresh else now
            self.now_accepted = 0.0
            self.now_sent = 0.0
            self.second = now


_FORMAT = struct.Struct(f"<8s{len(fields(_State))}d")
_MAGIC = b"RAPACE02"  # of the file's layout: processes of other versions share it


class RateLimiter:
    """The rate of one key. `RateLimiter.of(key)` gives the one of this process, `close` gives it
    back. Thread-safe.
    """

    # The limiters of this process, guarded by the lock.
    _registered: dict[str, RateLimiter] = {}  # noqa: RUF012 - shared on purpose
    _register_lock = threading.Lock()

    def __init__(self, key: str) -> None:
        self._key = key
        self._users = 0
        self._state = _State()
        self._lock = threading.Lock()
        self._shared: _SharedFile | None = None

    @classmethod
    def of(cls, key: str) -> RateLimiter:
        """The limiter of this key, joined to that of other processes where there is one; without a
        key one of its own.
        """
        if not key:
            return cls(key)
        with cls._register_lock:
            limiter = cls._registered.get(key)
            if limiter is None:
                limiter = cls._registered[key] = cls(key)
                limiter._shared = _SharedFile.join(key, create=False)
            limiter._users += 1
            return limiter

    def close(self) -> None:
        """Give it back; the last user in this process leaves the file, the last process removes
        it.
        """
        with self._register_lock:
            self._users -= 1
            if self._users > 0:
                return
            self._registered.pop(self._key, None)
            with self._lock:
                if self._shared is not None:
                    self._shared.leave()
                    self._shared = None

    @property
    def rate(self) -> float | None:
        """Calls a second at the moment; None while nothing limits them."""
        return self._apply(_rate) or None

    def claim(self) -> float:
        """Take the next place: seconds to wait for it, 0 = now."""
        return self._apply(_State.claim)

    def blocked(self) -> float:
        """Seconds until anybody may send; 0 = now."""
        return self._apply(_blocked)

    def accepted(self) -> None:
        """A call was not refused."""
        self._apply(_State.accept)

    def refused(self, pause: float) -> None:
        """A call was refused for the rate; the provider wants nobody for `pause` seconds."""
        with self._register_lock, self._lock:
            if self._shared is None and self._users > 0:
                self._shared = _SharedFile.join(self._key, create=True, start=self._state)

        def refuse(state: _State, now: float) -> None:
            state.refuse(now, pause)

        self._apply(refuse)

    def _apply(self, action: Callable[[_State, float], T]) -> T:
        """Look at or change the numbers, at the present second."""
        with self._lock:
            if self._shared is None:
                return action(self._state, time.monotonic())
            with self._shared.locked() as state:
                return action(state, time.monotonic())


def _rate(state: _State, _: float) -> float:
    return state.rate


def _blocked(state: _State, now: float) -> float:
    return max(0.0, state.blocked - now)


class _SharedFile:
    """The numbers in a file of the machine, under a lock for as long as they are looked at or
    changed.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _FORMAT.size)

    @classmethod
    def join(cls, key: str, *, create: bool, start: _State | None = None) -> _SharedFile | None:
        """The file of this key; None where there is none (and `create` is not given) or files
        cannot be shared.
        """
        if fcntl is None or not key:
            return None
        try:
            folder = _folder(create=create)
            if folder is None:
                return None
            return cls._join(folder / f"pace-{key}", create, start or _State())
        except OSError:
            return None  # the process limits itself

    @classmethod
    def _join(cls, path: Path, create: bool, start: _State) -> _SharedFile | None:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        if create:
            flags |= os.O_CREAT
        while True:
            try:
                descriptor = os.open(path, flags, 0o600)
            except FileNotFoundError:
                return None
            # "I use it": the end of the process lets go of it too.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
                    break
            os.close(descriptor)  # the last user removed it at this instant
        if os.fstat(descriptor).st_size < _FORMAT.size:
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_size < _FORMAT.size:
                start.used = time.monotonic()
                os.pwrite(descriptor, _packed(start), 0)
            fcntl.lockf(descriptor, fcntl.LOCK_UN)
        return cls(path, descriptor)

    @contextlib.contextmanager
    def locked(self) -> Iterator[_State]:
        """The numbers, written back when the block ends."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            magic, *numbers = _FORMAT.unpack_from(self._memory)
            state = _State(*numbers)
            now = time.monotonic()
            if magic != _MAGIC or not now - STALE < state.used <= now:
                state = _State()  # what was there was left by a kill, or before the machine's start
            yield state
            state.used = time.monotonic()
            self._memory[:] = _packed(state)
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def leave(self) -> None:
        """Stop using the file; the last one removes it."""
        self._memory.close()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):
                os.unlink(self._path)
                os.rmdir(self._path.parent)  # fails while it holds another key's file, as it should
        except BlockingIOError:
            pass  # others go on using it
        finally:
            os.close(self._descriptor)


def _packed(state: _State) -> bytes:
    return _FORMAT.pack(_MAGIC, *(getattr(state, f.name) for f in fields(_State)))


def _folder(*, create: bool) -> Path | None:
    """The user's own folder for such files. Raises OSError where it is not ours alone."""
    parent = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = parent / f"ragassay-{os.getuid()}"
    if create:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return None
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder
