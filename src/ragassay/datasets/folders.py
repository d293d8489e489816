"""Folders that hold rows: BEIR's, and those that Dataset.save_to_disk of Hugging Face wrote."""

from __future__ import annotations

from pathlib import Path

import orjson

from ragassay.core import DataError, SetupError, shorten
from ragassay.datasets.beir import BeirFolder, is_beir
from ragassay.datasets.formats.arrow_files import SavedDataset
from ragassay.datasets.source import Reader, find_file


def reader_for(folder: Path) -> Reader:
    """The reader of a folder. Raises SetupError (E0101) for several splits, DataError (E0102) for
    any other folder.
    """
    try:
        if (folder / "dataset_dict.json").is_file():
            raise _several(folder)
        if (folder / "state.json").is_file():
            return SavedDataset(folder)
        if is_beir(folder):
            return BeirFolder(folder)
    except OSError as error:
        raise DataError(
            "E0102", f"The folder {folder.name} cannot be read.", why=shorten(str(error))
        ) from error
    find_file(folder)  # raises: a folder, not a file of rows
    raise AssertionError


def _several(folder: Path) -> SetupError:
    try:
        names = orjson.loads((folder / "dataset_dict.json").read_bytes())["splits"]
    except (OSError, ValueError, KeyError, TypeError):
        names = []
    # A broken list is no error of its own: the message only names fewer splits.
    splits = list(map(str, names)) if isinstance(names, list) else []
    fix = "choose one of its folders"
    if splits:
        fix = f"choose one: {folder.name}/{shorten(splits[0], 40)}"
    return SetupError(
        "E0101",
        "The rows are in several splits.",
        where=str(folder),
        why=shorten(", ".join(splits)) or "dataset_dict.json names none",
        fix=fix,
    )
