"""A set of row indices that takes one bit a row: the rows of a run that are done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set


class IndexSet(Set[int]):
    """A read-only set of integers >= 0 (125 kB for a million rows); iterates in ascending order.

    >>> done = IndexSet([3, 0])
    >>> 3 in done, 1 in done, list(done)
    (True, False, [0, 3])
    """

    __slots__ = ("_bits", "_size")

    def __init__(self, indices: Iterable[int] = ()) -> None:
        self._bits = bytearray()
        self._size = 0
        for index in indices:
            byte, bit = index >> 3, 1 << (index & 7)
            if byte >= len(self._bits):
                # Doubled, so that a million rising indices do not copy it a million times.
                self._bits.extend(bytes(max(byte + 1, 2 * len(self._bits)) - len(self._bits)))
            if not self._bits[byte] & bit:
                self._bits[byte] |= bit
                self._size += 1

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int) or index < 0:
            return False
        byte = index >> 3
        return byte < len(self._bits) and bool(self._bits[byte] & (1 << (index & 7)))

    def __iter__(self) -> Iterator[int]:
        for byte, bits in enumerate(self._bits):
            if bits:
                yield from (8 * byte + bit for bit in range(8) if bits >> bit & 1)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"IndexSet({self._size} indices)"
