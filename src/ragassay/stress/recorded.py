"""Recorded answers: a stress test repeated without the system.

They are in a run of the store, or in a file with a row for each planned one: id and response, as
`--out` writes them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ragassay.core import Sample, SetupError, shorten


@dataclass(frozen=True, slots=True)
class RecordedApp:
    """The recorded answers as the engine runs them. answers: id of a planned row -> its response,
    and what the system said when it failed.
    """

    answers: Mapping[str, tuple[str | None, str | None]]
    name: str

    def __call__(self, row: Sample) -> Mapping[str, Any]:
        """The recorded answer. Raises LookupError where there is none."""
        found = self.answers.get(row.id)
        if found is None:
            raise LookupError("no answer was recorded")
        response, error = found
        if response is None:
            raise RuntimeError(error or "no answer was recorded")
        return {"response": response, "error": error}


def recorded_app(name: str, store: str | os.PathLike[str] | None) -> RecordedApp:
    """The answers of a file, or of an earlier run by its id or name. Raises SetupError E1105 for a
    file that cannot be read, E0103 where there is no such run.
    """
    if Path(name).suffix in (".jsonl", ".json") or Path(name).is_file():
        return RecordedApp(_of_file(name), name)
    from ragassay.api import open_run

    answers: dict[str, tuple[str | None, str | None]] = {}
    with open_run(name, store=store) as run:
        for row in run.rows():
            if row.sample is not None:
                answers[row.sample.id] = (row.sample.response, row.sample.error)
        return RecordedApp(answers, f"run {run.id}")


def _of_file(name: str) -> dict[str, tuple[str | None, str | None]]:
    answers: dict[str, tuple[str | None, str | None]] = {}
    try:
        with open(name, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    row_id, answer = _answer(line, name, number)
                    answers[row_id] = answer
    except OSError as error:
        raise _unread(name, str(error)) from error
    return answers


def _answer(line: bytes, name: str, number: int) -> tuple[str, tuple[str | None, str | None]]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _unread(f"{name}:{number}", str(error)) from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise _unread(f"{name}:{number}", "the line is no object with an id")
    response, failure = row.get("response"), row.get("error")
    if not isinstance(response, str | None) or not isinstance(failure, str | None):
        raise _unread(f"{name}:{number}", "response and error are texts or null")
    return row["id"], (response, failure)


def _unread(where: str, why: str) -> SetupError:
    return SetupError(
        "E1105",
        "The recorded answers cannot be read.",
        where=where,
        why=shorten(why, 200),
        fix="give a file as --out writes it, with id and response in each line",
    )
