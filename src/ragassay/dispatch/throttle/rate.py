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

The constants were chosen on simulated token buckets (tests/dispatch/test_rate.py) and then measured
over HTTP; docs/decisions/0007-pace-and-breaker.md has the reasons.
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
"""The least that an event of refusals leaves of the rate: half of it, or a tenth where at least
ENOUGH calls were sent lately, so that the few that were accepted are no accident.
"""

SHORT = 0.3
BLIND = 0.8
"""In the first SHORT seconds after a pause too little is accepted to estimate a rate from it; a
refusal then leaves BLIND of the rate.
"""

CLIMB = 0.002
CLIMB_FAST = 0.03
SETTLED = 25.0
"""Growth of the rate in a second, as a share of it: CLIMB in the SETTLED seconds after it was
lowered, CLIMB_FAST from then on.
"""

FEW = 0.03
ENOUGH = 100.0
MEMORY = 400.0
"""Refusals are few where they are at most the share FEW of at least ENOUGH calls. Both are counted
over about the last MEMORY calls.
"""

BELOW = 0.8
"""Few refusals below this share of a rate at which they were as few are not due to the rate."""

EVENT = 1.0
"""Refusals within so many seconds are one event: the calls were under way together."""

SLACK = 0.05
"""Seconds of places that a process may still take when it wakes late; older ones are lost, or they
would all be sent at once.
"""

LEAST = 0.2
"""Calls a second below which the rate never falls."""

STALE = 60.0
"""Seconds after which a file that nobody used says nothing any more: a kill has left it."""


@dataclass(slots=True)
class _State:
    """What the processes share. All times are in seconds of the monotonic clock, which is the same
    for all processes of a machine. The order of the fields is that of the file.
    """

    rate: float = 0.0  # calls a second; 0 = not limited
    next_place: float = 0.0  # when the next place is
    blocked_until: float = 0.0  # nobody sends before
    refused_at: float = 0.0  # when the last event of refusals began
    lowered_at: float = 0.0  # when the rate was last lowered
    ceiling: float = 0.0  # the highest rate at which few were refused; 0 when many were since
    calls: float = 0.0  # calls and refusals, of which older ones fade
    refusals: float = 0.0
    raised_at: float = 0.0  # when the rate was last raised
    second_began: float = 0.0  # when the second of `now_accepted` began
    now_accepted: float = 0.0
    before_accepted: float = 0.0  # in the second before that one
    now_sent: float = 0.0
    before_sent: float = 0.0
    flow_began: float = 0.0  # when calls began after the last pause of a second or more
    used_at: float = 0.0

    def claim(self, now: float) -> float:
        self._count(now)
        self.now_sent += 1
        # Sums that forget by the MEMORY-th part with each call: no list of calls is shared.
        self.calls += 1 - self.calls / MEMORY
        self.refusals -= self.refusals / MEMORY
        if not self.rate:
            return max(0.0, self.blocked_until - now)
        place = max(self.next_place, self.blocked_until, now - SLACK)
        # It is raised only while calls have to wait for it: a rate that nobody reaches is not
        # shown to be too low.
        if self.next_place > now - SLACK:
            passed = min(1.0, max(0.0, now - self.raised_at))
            growth = CLIMB if now - self.lowered_at < SETTLED else CLIMB_FAST
            self.rate *= 1 + passed * growth
        self.raised_at = now
        self.next_place = place + 1.0 / self.rate
        return max(0.0, place - now)

    def accept(self, now: float) -> None:
        self._count(now)
        self.now_accepted += 1

    def refuse(self, now: float, pause: float) -> None:
        self.blocked_until = max(self.blocked_until, now + pause)
        self.refusals += 1
        # Calls that were under way together are refused together, which is one sign and not many.
        if self.refused_at and now - self.refused_at < EVENT:
            return
        self._count(now)
        # A provider that says when to come back means the rate; and what is saved up in its pauses
        # hides how many would have been refused.
        few = not pause and self.calls >= ENOUGH and self.refusals <= FEW * self.calls
        if not (few and self.rate < BELOW * self.ceiling):
            self.ceiling = max(self.ceiling, self.rate) if few else 0.0
            self._lower(now)
        self.refused_at = now
        # What is accepted is counted anew from when calls may go out again.
        self.now_accepted = 0.0
        self.now_sent = 0.0
        self.before_accepted = 0.0
        self.before_sent = 0.0
        self.second_began = now + pause
        self.flow_began = now + pause

    def _lower(self, now: float) -> None:
        seconds = min(1.0 + now - self.second_began, now - self.flow_began)
        # The first refusal: what was just sent was too much. How much less it has to be shows in
        # what is accepted from now on.
        if not self.rate:
            self.rate = DOWN * (self.now_sent + self.before_sent) / max(0.05, seconds)
        elif seconds < SHORT:
            self.rate *= BLIND
        else:
            accepted = (self.now_accepted + self.before_accepted) / seconds
            least = STEEPLY if self.now_sent + self.before_sent >= ENOUGH else HALF
            self.rate = min(DOWN * self.rate, max(LATELY * accepted, least * self.rate))
        self.rate = max(LEAST, self.rate)
        self.lowered_at = self.raised_at = now

    def _count(self, now: float) -> None:
        if now - self.second_began >= 1.0:
            fresh = now - self.second_began < 2.0
            self.before_accepted = self.now_accepted if fresh else 0.0
            self.before_sent = self.now_sent if fresh else 0.0
            self.flow_began = self.flow_began if fresh else now
            self.now_accepted = 0.0
            self.now_sent = 0.0
            self.second_began = now


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
    return max(0.0, state.blocked_until - now)


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
            # Says "this process uses the file"; the lock goes with the process, however it ends.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
                    break
            os.close(descriptor)  # the last user removed it at this instant
        if os.fstat(descriptor).st_size < _FORMAT.size:
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
            # Once more under the lock: another process may have begun the file meanwhile.
            if os.fstat(descriptor).st_size < _FORMAT.size:
                start.used_at = time.monotonic()
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
            if magic != _MAGIC or not now - STALE < state.used_at <= now:
                state = _State()  # what was there was left by a kill, or before the machine's start
            yield state
            state.used_at = time.monotonic()
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
