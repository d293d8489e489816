"""Answers that come piece by piece, held back by the sentence until each is judged."""

from __future__ import annotations

import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from typing import TYPE_CHECKING, Any

from ragassay.core import boundaries
from ragassay.datasets.outputs import part, response_in
from ragassay.guard.settings import RAISES

if TYPE_CHECKING:
    from ragassay.guard.guards import Guard
    from ragassay.guard.result import GuardResult

LONGEST = 2_000
"""Characters of a sentence that are held back; a longer one is judged in parts."""

_MAY_END = re.compile(r"[.!?…:;\n。！？]\s*\S")
Fields = Callable[[], Mapping[str, Any]]
"""Question and contexts of the answer, asked for at each sentence: a retriever may run late."""


class SentenceBuffer:
    """Text that is held back. `take` hands out whole sentences; joined, what it hands out is what
    was added.
    """

    def __init__(self) -> None:
        self._text = ""

    def add(self, text: str) -> None:
        """Add what came."""
        self._text += text

    def take(self, *, ended: bool = False) -> str | None:
        """The next whole sentence with the white space behind it; None where none is whole yet.
        ended: nothing more will come, so the rest is one.
        """
        end = self._end()
        if end is None:
            if not ended or not self._text:
                return None
            end = len(self._text)
        sentence, self._text = self._text[:end], self._text[end:]
        return sentence

    def _end(self) -> int | None:
        """Where the first whole sentence ends: known when the next one has begun."""
        if _MAY_END.search(self._text) or len(self._text) > LONGEST:
            for start, _ in boundaries(self._text[: LONGEST + 1]):
                if start and self._text[:start].strip():
                    return start
        if len(self._text) <= LONGEST:
            return None
        space = max(self._text.rfind(" ", 1, LONGEST), self._text.rfind("\n", 1, LONGEST))
        return space + 1 if space > 0 else LONGEST


def piece_text(piece: object) -> str | None:
    """The text of a piece of an answer, also as the clients of models give it."""
    if isinstance(piece, str):
        return piece
    choices = part(piece, ("choices",))
    if isinstance(choices, list | tuple):
        delta = part(choices[0], ("delta",)) if choices else None
        content = part(delta, ("content",))
        return content if isinstance(content, str) else ""
    delta = part(piece, ("delta",))
    return delta if isinstance(delta, str) else response_in(piece)


def stream_of(
    guard: Guard, pieces: Iterable[Any], fields: Fields, text: Callable[[Any], str | None] | None
) -> Generator[str, None, None]:
    """The released sentences of an answer."""
    read = text or piece_text
    if guard.settings.shadow:
        yield from _looked_at(guard, pieces, fields, read)
        return
    buffer = SentenceBuffer()
    try:
        for piece in pieces:
            buffer.add(read(piece) or "")
            while (sentence := buffer.take()) is not None:
                result = guard.check(response=sentence, **fields())
                if result.blocked:
                    yield from _replacement(guard, result)
                    return
                yield sentence
        while (sentence := buffer.take(ended=True)) is not None:
            result = guard.check(response=sentence, **fields())
            if result.blocked:
                yield from _replacement(guard, result)
                return
            yield sentence
    finally:
        # The model need not go on with what nobody reads.
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


async def astream_of(
    guard: Guard,
    pieces: AsyncIterable[Any],
    fields: Fields,
    text: Callable[[Any], str | None] | None,
) -> AsyncGenerator[str, None]:
    """`stream_of` for an asynchronous answer."""
    read = text or piece_text
    buffer = SentenceBuffer()
    seen: list[str] = []
    try:
        async for piece in pieces:
            given = read(piece) or ""
            if guard.settings.shadow:
                seen.append(given)
                yield given
                continue
            buffer.add(given)
            while (sentence := buffer.take()) is not None:
                result = await guard.acheck(response=sentence, **fields())
                if result.blocked:
                    for last in _replacement(guard, result):
                        yield last
                    return
                yield sentence
        while (sentence := buffer.take(ended=True)) is not None:
            result = await guard.acheck(response=sentence, **fields())
            if result.blocked:
                for last in _replacement(guard, result):
                    yield last
                return
            yield sentence
        if seen:
            guard.look_on(response="".join(seen), **fields())
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()


def _looked_at(
    guard: Guard, pieces: Iterable[Any], fields: Fields, read: Callable[[Any], str | None]
) -> Generator[str, None, None]:
    """The answer as it comes; what it was is judged when it is whole."""
    seen: list[str] = []
    for piece in pieces:
        given = read(piece) or ""
        seen.append(given)
        yield given
    guard.look_on(response="".join(seen), **fields())


def _replacement(guard: Guard, result: GuardResult) -> list[str]:
    """The last piece of a blocked answer. Raises Blocked where none was named."""
    if guard.settings.instead is RAISES:
        guard.replacement(result)
    instead = guard.replacement(result)
    return [] if instead is None else [str(instead)]
