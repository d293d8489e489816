"""Caches that threads share: one by size, and one of which a single thread computes a result."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

MOST_RESULTS = 1024
"""Of a SizedCache, however small they are."""


class SizedCache(Generic[Key, Result]):
    """The results that were used last, of at most `room` in size together; the newest always stays.
    Safe across threads.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._results: OrderedDict[Key, tuple[Result, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Result | None:
        """The result for this key; None where it is not stored."""
        with self._lock:
            stored = self._results.get(key)
            if stored is None:
                return None
            self._results.move_to_end(key)
            return stored[0]

    def put(self, key: Key, result: Result, size: int) -> None:
        """Store a result, unless there is one for its key already; the oldest ones make room."""
        with self._lock:
            if key not in self._results:
                self._results[key] = result, size
                self._size += size
            while len(self._results) > 1 and (
                self._size > self._room or len(self._results) > MOST_RESULTS
            ):
                self._size -= self._results.popitem(last=False)[1][1]


class SharedCache(Generic[Key, Result]):
    """At most `room` results of `make`, the most recently used. Safe across threads.

    functools.lru_cache would let threads that miss at the same time compute one result each.
    """

    def __init__(self, make: Callable[[Key], Result], room: int) -> None:
        self._make, self._room = make, room
        self._results: OrderedDict[Key, Future[Result]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Key) -> Result:
        """The result for this key, stored or computed now."""
        with self._lock:
            stored = self._results.get(key)
            if stored is not None:
                self._results.move_to_end(key)
            else:
                pending: Future[Result] = Future()
                self._results[key] = pending
                if len(self._results) > self._room:
                    self._results.popitem(last=False)
        # Outside of the lock: another thread may still be computing it.
        if stored is not None:
            return stored.result()
        try:
            pending.set_result(self._make(key))
        except BaseException as error:
            pending.set_exception(error)
            # A failure is not stored: the next thread that asks tries again.
            with self._lock:
                self._results.pop(key, None)
        return pending.result()
