"""The rows of posted evaluations, and the keys of their requests, in a folder beside the store.

A run whose server was killed is gone on with from its rows, so they are written before anything is
asked, and removed when the run has finished. A request that carried an `Idempotency-Key` is known
again by it, and is answered with the run that it began.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ragassay.core import RunState
from ragassay.report.text import POSTED_FOLDER
from ragassay.web.api.messages import Refused

if TYPE_CHECKING:
    from ragassay.store import Store

KEYS = "keys"
KEPT_S = 30 * 86_400.0
"""How long a key is known."""
ORPHAN_S = 86_400.0
"""Rows that no run names are removed after so long: a request may just be about to begin one."""
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is known again. key: its Idempotency-Key; digest: of its body."""

    key: str
    digest: str


class PostedRows:
    """The folder of one store. Thread-safe: every file is written once, and whole."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folder = store.beside(POSTED_FOLDER)

    def new_file(self) -> Path:
        """Where the rows of a new run are to lie."""
        return self._folder / f"{uuid.uuid4().hex}.jsonl"

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows where a resume finds them, for the owner of the store alone."""
        _write(path, (orjson.dumps(row) + b"\n" for row in rows))

    def holds(self, source: str) -> bool:
        """Whether a run of this source was posted here: nothing else may be read for a request."""
        return Path(source).parent == self._folder

    def run_of(self, request: Request) -> str | None:
        """The run that the request began, None where it did not come before. Raises Refused E1409
        where its key came with another body.
        """
        try:
            known = orjson.loads(self._key_file(request).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        if known["digest"] != request.digest:
            raise Refused(
                "E1409",
                "This Idempotency-Key came with another body before.",
                where="Idempotency-Key",
                why=f"it began run {known['run']}",
                fix="send a key of its own with every new request, and the same body with the same",
            )
        return str(known["run"]) if self._store.has_run(known["run"]) else None

    def remember(self, request: Request, run_id: str) -> None:
        """Note which run the request began."""
        _write(self._key_file(request), [orjson.dumps({"digest": request.digest, "run": run_id})])

    def tidy(self) -> None:
        """Remove what is needed no more: rows of runs that have finished, for instance by the
        command, rows that no run names, and old keys.
        """
        now = time.time()
        for path in _files(self._folder / KEYS):
            _remove_if_older(path, now - KEPT_S)
        left = {str(path): path for path in _files(self._folder)}
        before = ""
        while left:
            runs = self._store.runs(_PAGE, before=before)
            for run in runs:
                its_rows = left.pop(run.manifest.source, None)
                if its_rows is not None and run.state is RunState.FINISHED:
                    its_rows.unlink(missing_ok=True)
            if len(runs) < _PAGE:
                break
            before = runs[-1].run_id
        for path in left.values():
            _remove_if_older(path, now - ORPHAN_S)

    def _key_file(self, request: Request) -> Path:
        # A key is a text of the client's: it is no name of a file.
        name = hashlib.sha256(request.key.encode()).hexdigest()[:32]
        return self._folder / KEYS / f"{name}.json"


def _write(target: Path, pieces: Iterable[bytes]) -> None:
    """A file that is there whole or not at all, for its owner alone."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    half = target.with_name(f"{target.name}.{uuid.uuid4().hex}.half")
    try:
        descriptor = os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.writelines(pieces)
        half.replace(target)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if path.is_file()]


def _remove_if_older(path: Path, than: float) -> None:
    with suppress(OSError):
        if path.stat().st_mtime < than:
            path.unlink()
