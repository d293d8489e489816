"""What has just been made of a row's texts, for its next metric? A dozen metrics cut the same texts
and ask the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ENTRIES, _CHARS = 64, 2_000_000


def recent(make: Callable[P, T]) -> Callable[P, T]:
    """Keep the last results of a pure function of texts: 64 at most, and no more than two million
    characters of arguments.

    The oldest go first; what is larger by itself is made anew each time. For positional arguments,
    from any thread.
    """
    kept: dict[object, tuple[T, int]] = {}
    lock = Lock()
    held = 0

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        nonlocal held
        found = kept.get(args)
        if found is not None:
            return found[0]
        made, size = make(*args, **kwargs), _chars(args)
        if kwargs or size > _CHARS:
            return made
        with lock:
            if args not in kept:
                kept[args] = made, size
                held += size
            while len(kept) > _ENTRIES or held > _CHARS:
                held -= kept.pop(next(iter(kept)))[1]
        return made

    return call


def _chars(args: tuple[object, ...]) -> int:
    """Characters of the texts, and of the tuples of texts, among the arguments."""
    texts = [arg for arg in args if isinstance(arg, str)]
    return sum(map(len, texts)) + sum(sum(map(len, arg)) for arg in args if isinstance(arg, tuple))
