"""The declaration of a file format: its name, the endings of its files, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragassay.datasets.source import Reader


@dataclass(frozen=True, slots=True)
class Format:
    """A file format that rows are read from.

    name: as `--format` takes it. endings: of file names, in small letters. open: the reader of a
    file; raises as `open_rows` does. compressible: the files may also be compressed, with .gz after
    the ending.
    """

    name: str
    endings: tuple[str, ...]
    open: Callable[[Path], Reader]
    compressible: bool = True
