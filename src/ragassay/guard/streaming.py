"""Answers that come piece by piece, held back by the sentence until each is judged."""

from __future__ import annotations

import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ragassay.core.boundaries import boundaries
from ragassay.datasets.outputs import part, response_in
from ragassay.guard.settings import RAISES

if TYPE_CHECKING:
    from ragassay.guard.guards import Guard
    from ragassay.guard.result import GuardResult

LONGEST = 2_000
"""Characters of a sentence that are held back; a longer one is judged in parts."""

_MAY_END = re.compile(r"[.!?…:;\n。！？]\s*\S")

# English words that stand for what a sentence before has named, or that go on with it. "That" and
# "such" do so at the beginning only: further on they mostly join clauses.
_REFERS_BACK = re.compile(
    r"\b(?:he|she|it|they|him|his|her|hers|its|them|their|theirs|himself|herself|itself"
    r"|themselves|this|these|those|former|latter|both)\b"
    r"|^\W*(?:that|such|so|also|then|there|however|therefore|and|but|or)\b",
    re.IGNORECASE,
)

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

    def whole(self, *, ended: bool = False) -> Iterator[str]:
        """All sentences that `take` hands out now."""
        while (sentence := self.take(ended=ended)) is not None:
            yield sentence

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


class Released:
    """What was released of an answer, as far as the next sentence may speak of it: back to the last
    sentence that can be understood by itself.
    """

    def __init__(self) -> None:
        self._text = ""

    def needed_by(self, sentence: str) -> str:
        """What is to be read before a sentence; "" where it can be understood by itself."""
        return self._text if _REFERS_BACK.search(sentence) else ""

    def add(self, sentence: str) -> None:
        """Note a sentence that was released."""
        self._text = (self.needed_by(sentence) + sentence)[-LONGEST:]


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
    released = Released()
    try:
        for sentence in _sentences(pieces, read):
            before = released.needed_by(sentence)
            result = guard.check(response=sentence, before=before, **fields())
            if result.blocked:
                yield from _replacement(guard, result)
                return
            released.add(sentence)
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
    released = Released()
    seen: list[str] = []
    try:
        if guard.settings.shadow:
            async for piece in pieces:
                seen.append(read(piece) or "")
                yield seen[-1]
            guard.look_on(response="".join(seen), **fields())
            return
        async with aclosing(_asentences(pieces, read)) as sentences:
            async for sentence in sentences:
                before = released.needed_by(sentence)
                result = await guard.acheck(response=sentence, before=before, **fields())
                if result.blocked:
                    for last in _replacement(guard, result):
                        yield last
                    return
                released.add(sentence)
                yield sentence
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()


def _sentences(
    pieces: Iterable[Any], read: Callable[[Any], str | None]
) -> Generator[str, None, None]:
    """The sentences of an answer, each when it is whole."""
    buffer = SentenceBuffer()
    for piece in pieces:
        buffer.add(read(piece) or "")
        yield from buffer.whole()
    yield from buffer.whole(ended=True)


async def _asentences(
    pieces: AsyncIterable[Any], read: Callable[[Any], str | None]
) -> AsyncGenerator[str, None]:
    """`_sentences` of an asynchronous answer."""
    buffer = SentenceBuffer()
    async for piece in pieces:
        buffer.add(read(piece) or "")
        for sentence in buffer.whole():
            yield sentence
    for sentence in buffer.whole(ended=True):
        yield sentence


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
