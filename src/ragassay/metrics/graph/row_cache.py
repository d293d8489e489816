"""A cache of what was just made of a row's texts.

A dozen metrics cut the same texts of a row and ask the same of them, one right after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MAX_ENTRIES = 64
_MAX_CHARS = 2_000_000


def cached_for_row(function: Callable[P, T]) -> Callable[P, T]:
    """Keep the last results of a pure function of texts: 64 at most, and no more than two million
    characters of arguments.

    The oldest go first; what is larger by itself is made anew each time. For positional arguments,
    from any thread.
    """
    # functools.lru_cache bounds the number of results only, and rows may be of any length.
    results: dict[object, tuple[T, int]] = {}
    lock = Lock()
    total = 0

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        nonlocal total
        cached = results.get(args)
        if cached is not None:
            return cached[0]
        # Outside the lock: two threads may both make it, which costs less than one waiting.
        result = function(*args, **kwargs)
        size = _chars(args)
        if kwargs or size > _MAX_CHARS:
            return result
        with lock:
            if args not in results:  # another thread may have been faster
                results[args] = result, size
                total += size
            # The first in a dict is the oldest.
            while len(results) > _MAX_ENTRIES or total > _MAX_CHARS:
                oldest = next(iter(results))
                total -= results.pop(oldest)[1]
        return result

    return call


def _chars(args: tuple[object, ...]) -> int:
    """Characters of the texts, and of the tuples of texts, among the arguments."""
    total = 0
    for arg in args:
        if isinstance(arg, str):
            total += len(arg)
        elif isinstance(arg, tuple):
            total += sum(map(len, arg))
    return total
