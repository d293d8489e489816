"""What keeps native code from ending the process where memory runs out?"""

from __future__ import annotations

import mmap

LARGE = 1 << 15
"""Characters below which nothing is tried out: so little is found in what the process has already."""

FACTOR, RESERVE = 16, 1 << 22
"""Bytes that encoding a character may take for a moment (the encoder reserves eight, and doubles), and what else is going on
meanwhile may take."""


def claim_memory(characters: int) -> None:
    """Raise MemoryError here where there is no room to encode or parse so many characters.

    The JSON encoder (orjson) ends the process by a signal when an allocation fails. So the room is taken first, given back
    untouched, and what fails is an exception that says what to lower.
    """
    if characters < LARGE:
        return
    size = FACTOR * characters + RESERVE
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        mmap.mmap(-1, size, **private).close()
    except (OSError, OverflowError) as error:
        raise MemoryError(f"no room for {size:,} bytes more, to encode a text of {characters:,} characters") from error
