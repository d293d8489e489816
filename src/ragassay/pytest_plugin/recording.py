"""The recorded judgments that a session replays.

A session reads a copy: the runs that it stores would change the file that lies beside the code.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import SetupError
from ragassay.store import copy_file, default_location, is_there


def check_recording(location: str | os.PathLike[str] | None) -> None:
    """Raise SetupError E0103 where no recording is at the place. None: the store of this folder."""
    place = default_location() if location is None else str(location)
    if not is_there(place):
        raise SetupError(
            "E0103",
            "There is no recording of judgments at this place.",
            where=place,
            fix="record them, where the judge can be asked: pytest --ragassay-store FILE",
        )


class RecordingCopies:
    """The copies that one session reads, made when they are first asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._copies: dict[str, str] = {}

    def copy_of(self, location: str | os.PathLike[str] | None) -> str:
        """The place of the copy; a database, which many write to, is read as it is. Raises
        SetupError, EnvironmentFailure.
        """
        check_recording(location)
        place = default_location() if location is None else str(location)
        if "://" in place:
            return place
        if place not in self._copies:
            target = self._folder() / "recorded.db"
            copy_file(Path(place).absolute(), target)
            self._copies[place] = str(target)
        return self._copies[place]

    def _folder(self) -> Path:
        """A folder among the temporary ones of pytest, which removes those of older sessions."""
        factory: Any = getattr(self._config, "_tmp_path_factory", None)
        if factory is None:  # -p no:tmpdir
            return Path(tempfile.mkdtemp(prefix="ragassay-"))
        folder: Path = factory.mktemp("ragassay")
        return folder
