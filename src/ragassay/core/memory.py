"""What keeps the JSON encoder from ending the process where memory runs out for a large request or
row?
"""

from __future__ import annotations

import mmap

LARGE = 1 << 15
"""Characters below which nothing is tried out: so little is found in what the process has already.
"""

TO_WRITE, TO_READ = 16, 4
"""Bytes that a character may take for a moment while it is encoded (the encoder reserves eight for
each, and doubles its buffer), and while it is parsed.
"""

RESERVE = 1 << 22
"""Bytes for whatever else goes on meanwhile."""


def claim_memory(characters: int, bytes_each: int = TO_WRITE) -> None:
    """Raise MemoryError here where there is no room to encode (or, with TO_READ, to parse) so many
    characters.

    The JSON encoder (orjson) ends the process by a signal when an allocation fails. So the room is
    taken first, given back untouched, and what fails is an exception that says what to lower.
    """
    if characters < LARGE:
        return
    size = bytes_each * characters + RESERVE
    private = (
        {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    )
    try:
        mmap.mmap(-1, size, **private).close()
    except (OSError, OverflowError) as error:
        raise MemoryError(
            f"no room for {size:,} bytes more, for a text of {characters:,} characters"
        ) from error
