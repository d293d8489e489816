"""The sizes of pages that are read ahead, and bodies of rows grouped to fit them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragassay.store import codec

LINES_A_PAGE = 2000
ROWS_A_PAGE = 500
BYTES_A_PAGE = 8 << 20
"""Bodies in memory at a time: rows may be of any size, so their number alone bounds nothing."""


def portions(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Indices, with their sizes in bytes, in groups of at most BYTES_A_PAGE (or one index)."""
    group: list[int] = []
    total = 0
    for index, size in sizes:
        if not isinstance(size, int) or not isinstance(index, int):
            raise codec.damaged("a row does not say where it is, or how long")
        if group and total + size > BYTES_A_PAGE:
            yield group
            group, total = [], 0
        group.append(index)
        total += size
    if group:
        yield group
