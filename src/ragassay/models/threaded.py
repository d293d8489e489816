"""A model that runs here: each match call is answered on its own by one of a few threads."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    EnvironmentFailure,
    MatchCall,
    MatchReply,
    is_fault,
)
from ragassay.models.replay_model import not_recorded

TRIM_SECONDS = 0.25
"""How often memory that was freed is given back to the system."""


class MatchEngine(Protocol):
    """What answers match calls; safe across threads."""

    def answer(self, call: MatchCall) -> MatchReply:
        """The reply to one call, whatever was asked before or beside it. Raises CallError."""
        ...


Engine = TypeVar("Engine", bound=MatchEngine)


class ThreadedModel(Generic[Engine]):
    """The threads, and the members of `models.base` that all models here have in common.

    Cheap to make: the engine is loaded and threads started by the first call. name: of the model in
    messages. tasks: those of the match calls that it takes. threads: how many calls are worked on
    at once (default: the cores this process may use, at most 8). `replaying` is set where recorded
    judgments alone are used: a call is then one that is not recorded.
    """

    replaying = False

    def __init__(self, name: str, tasks: Sequence[str], threads: int | None = None) -> None:
        cores = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        self._threads = threads or min(8, cores)
        self._name, self._tasks = name, tuple(tasks)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._closed = False
        self._trimmed = time.monotonic()

    @property
    def uri(self) -> str:
        """As the user named it."""
        raise NotImplementedError

    @property
    def concurrency(self) -> int | None:
        """Enough calls to keep every thread busy while others return."""
        return 8 * self._threads

    def score(self, calls: Sequence[MatchCall]) -> list[MatchReply]:
        """Replies to the calls, in order; waits for them. Raises as `call`, also where one call
        fails.
        """
        pool = self._start()
        return list(pool.map(self._answer, calls))

    async def call(self, call: Call) -> MatchReply:
        """The reply to a MatchCall.

        Raises CallError ("bad_request" for another kind of call or an unknown task, "server" when
        answering it fails) and EnvironmentFailure for a model that cannot be loaded, E0606 while
        replaying.
        """
        if self.replaying:
            raise not_recorded(self._name)
        if not isinstance(call, MatchCall) or call.task not in self._tasks:
            raise CallError(
                "bad_request",
                f"{self._name} answers match calls ({', '.join(self._tasks)}) only; it writes no"
                " text",
            )
        ready = self._pool is not None and self._process == os.getpid()
        pool = self._start() if ready else await asyncio.to_thread(self._start)
        try:
            return await asyncio.wrap_future(pool.submit(self._answer, call))
        except (CallError, EnvironmentFailure):
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            raise CallError(
                "server", f"{self._name} failed: {type(error).__name__}: {error}"
            ) from error

    def lane(self, call: ChatCall) -> str:
        """Shared with nobody."""
        return ""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """0.0: it runs here."""
        return 0.0

    async def close(self) -> None:
        """End the threads when the calls under way are done. Later calls fail."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)

    def _load(self) -> Engine:
        """The engine; its weights are read now. Raises EnvironmentFailure."""
        raise NotImplementedError

    def _start(self) -> ThreadPoolExecutor:
        # A fork has copied the pool without its threads, and perhaps a lock that is held.
        if self._process != os.getpid():
            self._lock, self._pool, self._process = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._closed:
                raise CallError("bad_request", f"{self._name} was closed")
            if self._engine is None:
                self._engine = self._load()
            if self._pool is None:
                scheme = self.uri.partition(":")[0]
                self._pool = ThreadPoolExecutor(
                    self._threads, thread_name_prefix=f"ragassay-{scheme}"
                )
            return self._pool

    def _answer(self, call: MatchCall) -> MatchReply:
        assert self._engine is not None
        reply = self._engine.answer(call)
        # By whichever thread is first; a second one does no harm.
        if time.monotonic() - self._trimmed > TRIM_SECONDS:
            self._trimmed = time.monotonic()
            _trim()
        return reply


def _trim() -> None:
    """Give freed memory back to the system, where the C library can be told to (glibc).

    The network's buffers are of another size for each text; glibc keeps the freed gaps between them
    for each thread, which comes to hundreds of megabytes in a run. Takes milliseconds.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], object] | None:
    import ctypes  # loaded by numpy in any case, but not before the first call

    try:
        trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # a system without one C library for all
        return None
    return trim
