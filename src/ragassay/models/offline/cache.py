"""A cache of what was made last: threads that ask for one thing at once wait for one to make it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")


class Kept(Generic[Key, Made]):
    """At most `room` results of `make`, those asked for last. Safe across threads."""

    def __init__(self, make: Callable[[Key], Made], room: int) -> None:
        self._make, self._room = make, room
        self._kept: OrderedDict[Key, Future[Made]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Key) -> Made:
        """What is made of this, kept or new."""
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
            else:
                mine: Future[Made] = Future()
                self._kept[key] = mine
                if len(self._kept) > self._room:
                    self._kept.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            mine.set_result(self._make(key))
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                self._kept.pop(key, None)
        return mine.result()
