"""A check for free memory before a large text is encoded or parsed as JSON.

Without it the JSON library ends the process where memory runs out for a large request or row.
"""

from __future__ import annotations

import mmap

LARGE = 1 << 15
"""Characters below which nothing is checked: for so few, the process has room already."""

TO_WRITE = 16
"""Bytes that a character may take while it is encoded: the encoder reserves eight for each, and
doubles its buffer.
"""

TO_READ = 4
"""Bytes that a character may take while it is parsed."""

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
    options = {}
    if hasattr(mmap, "MAP_PRIVATE"):  # not on Windows
        options["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    try:
        mmap.mmap(-1, size, **options).close()
    except (OSError, OverflowError) as error:
        raise MemoryError(
            f"no room for {size:,} bytes more, for a text of {characters:,} characters"
        ) from error
