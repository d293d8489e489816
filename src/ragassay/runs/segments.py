"""The segments of a log: files of records that outlive a process which is killed at any moment.

A segment is mapped into memory, so that a record costs no call of the system. What stands there
outlives a process that is killed, though not a power cut. A record is its length, the CRC-32 of its
body, and its body as JSON; behind the last one there are zeros.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

CHUNK_BYTES = 1 << 20
"""By so much a segment grows; its blocks are claimed first, for a mapped file must not meet a full
disk.
"""

HEAD = struct.Struct("<II")  # length of the body, CRC-32 of the body

DAMAGED = "damaged"
"""The kind of what stands where a record is damaged."""


class Segment:
    """A new segment, to be written. Raises OSError where the file cannot be made, or is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0  # bytes that are written
        self._map: mmap.mmap | None = None
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, record: dict[str, Any]) -> None:
        """Add a record. Raises OSError on a full disk, with what is written untouched."""
        body = orjson.dumps(record)
        start = self.size + HEAD.size
        end = start + len(body)
        if self._map is None or end + HEAD.size > len(self._map):
            self._grow(end + HEAD.size)
        assert self._map is not None
        self._map[start:end] = body
        # Last, so that a kill in between leaves the zeros of no record here.
        self._map[self.size : start] = HEAD.pack(len(body), zlib.crc32(body))
        self.size = end

    def truncate(self) -> None:
        """Keep only what is written."""
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file, self.size)

    def close(self) -> None:
        """Let go of the file."""
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _grow(self, least: int) -> None:
        """Make room for `least` bytes in all."""
        assert self._file is not None
        have = 0 if self._map is None else len(self._map)
        size = -(-least // CHUNK_BYTES) * CHUNK_BYTES
        try:
            _claim(self._file, have, size - have)
        except OSError as error:
            # What is free is looked for now: a file that cannot begin goes away again.
            with suppress(OSError):
                free = shutil.disk_usage(self.path.parent).free
                error.strerror = (
                    f"{error.strerror}: {size - have:,} bytes were asked for, {free:,} bytes free"
                )
            raise
        if self._map is not None:
            self._map.close()
            self._map = None
        self._map = mmap.mmap(self._file, size)


def _claim(file: int, start: int, size: int) -> None:
    """Claim the blocks of so many bytes from `start` on."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, start, size)
    elif os.pwrite(file, bytes(size), start) != size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a segment with their kinds, up to one that a kill has torn; a damaged one is
    (DAMAGED, {}) and the last.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return
    at = 0
    while at + HEAD.size <= len(data):
        size, checksum = HEAD.unpack_from(data, at)
        if not size:  # the zeros behind the last record
            return
        body = data[at + HEAD.size : at + HEAD.size + size]
        if len(body) != size:
            return
        # No kill does that: the disk or the machine has failed.
        if zlib.crc32(body) != checksum:
            yield DAMAGED, {}
            return
        record = orjson.loads(body)
        yield record["is"], record
        at += HEAD.size + size
