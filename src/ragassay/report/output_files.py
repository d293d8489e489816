"""The check that an output file can be written, made before anything is paid for."""

from __future__ import annotations

import os
from pathlib import Path

from ragassay.core import SetupError


def private(path: str | os.PathLike[str], flags: int) -> int:
    """The `opener` of a report's file: a new one is for its owner alone, like the store, for it
    holds the same texts.
    """
    return os.open(path, flags, 0o600)


_STORE_ENDINGS = ("", "-wal", "-shm")
"""A store is three files."""


def check_output_file(target: Path | None, *others: str | Path | None) -> None:
    """Refuse an output path that cannot be written, or that is one of `others`. Raises SetupError
    E0107.
    """
    if target is None:
        return
    why = _obstacle(target, _files_of(others))
    if why:
        raise SetupError(
            "E0107",
            "The output file cannot be written.",
            where=str(target),
            why=why,
            fix="name a file of its own in a folder that exists and that you may write to",
        )


def _files_of(others: tuple[str | Path | None, ...]) -> list[Path]:
    """Every file that must not be written over."""
    files = []
    for other in others:
        if other is not None:
            files += [Path(f"{other}{ending}") for ending in _STORE_ENDINGS]
    return files


def _obstacle(target: Path, others: list[Path]) -> str:
    """Why the target cannot be written, "" where it can."""
    if target.is_dir():
        return "it is a folder"
    folder = target.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return "its folder does not exist or may not be written"
    if target.exists() and not target.is_file():
        return "it is a device or a pipe, not a file"
    if any(_same(target, other) for other in others):
        return "it is the store, the rows, a rubric or another output of this command"
    if any(_inside(target, other) for other in others):
        return "it lies in the folder of the rows"
    return ""


def _same(a: Path, b: Path) -> bool:
    if a.absolute() == b.absolute():
        return True
    try:
        return a.samefile(b)
    except OSError:
        return False


def _inside(target: Path, folder: Path) -> bool:
    return folder.is_dir() and target.resolve().is_relative_to(folder.resolve())
