"""The contexts that were retrieved for the answer which is being made.

A guard of answers and a trace open a collection; retrievers that run inside, however deep, add what
they return. The collection is shared with tasks and threads that copy the context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from ragassay.core.sample import Context

MOST = 10_000
"""Contexts of one answer that are remembered."""

COLLECTED: ContextVar[list[Context] | None] = ContextVar("ragassay_retrieved", default=None)
"""The collection that is open; None where nobody collects, as inside of a retriever."""


@contextmanager
def collecting(into: list[Context]) -> Iterator[None]:
    """Collect into this list what is retrieved inside; an outer collection gets it afterwards."""
    outer = COLLECTED.get()
    before = len(into)
    token = COLLECTED.set(into)
    try:
        yield
    finally:
        COLLECTED.reset(token)
        if outer is not None and outer is not into:
            _add_to(outer, into[before:])


@contextmanager
def apart() -> Iterator[None]:
    """Collect nothing that is retrieved inside."""
    token = COLLECTED.set(None)
    try:
        yield
    finally:
        # A generator that was moved to another task is closed in another context.
        with suppress(ValueError):
            COLLECTED.reset(token)


def add(contexts: Iterable[Context]) -> None:
    """Note what was retrieved, each context once; nothing where nobody collects."""
    collected = COLLECTED.get()
    if collected is not None:
        _add_to(collected, contexts)


def collected() -> tuple[Context, ...] | None:
    """What was retrieved so far for the answer that is being made; None where nobody collects."""
    current = COLLECTED.get()
    return None if current is None else tuple(current)


def _add_to(collected: list[Context], contexts: Iterable[Context]) -> None:
    for context in contexts:
        if len(collected) < MOST and context not in collected:
            collected.append(context)
