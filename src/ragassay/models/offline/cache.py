"""A cache that threads share: of several that ask for one key at once, one computes the result."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


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
