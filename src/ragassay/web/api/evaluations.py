"""Evaluations of posted rows: each in a thread of its own, to be followed in the store and stopped.

The rows are written beside the store before anything is asked, so that a run whose server was
killed goes on with `ragassay resume`; they are removed when the run has finished.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from ragassay import api
from ragassay.core import RunState
from ragassay.web.api.problems import busy, note_fault

if TYPE_CHECKING:
    from ragassay.runs.session import Session
    from ragassay.store import Store

FOLDER = "posted-rows"
AT_ONCE = 2
"""Evaluations at a time: each of them uses every processor, or pays a judge."""
RETRY_S = 10
STOP_S = 20.0
"""How long the server waits at its end for calls that are under way."""


class Evaluations:
    """The evaluations that one server drives. Thread-safe; `close` stops them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._running: dict[str, _Evaluation] = {}
        self._places = AT_ONCE
        self._closed = False

    def start(
        self, rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> tuple[str, list[str]]:
        """Begin a run of the rows; its id, as soon as the store has it, and how the rows are read,
        a line each: what of them is not known is left out and told. options: arguments of
        `ragassay.evaluate`. Raises Refused E1411 where too many go on already, and what `evaluate`
        raises of the set-up and the rows.
        """
        with self._lock:
            if self._places < 1 or self._closed:
                raise busy(f"{AT_ONCE} evaluations go on already", RETRY_S)
            self._places -= 1
        evaluation = _Evaluation(self, self._store, options)
        try:
            evaluation.write(rows)
            evaluation.thread.start()
        except BaseException:
            evaluation.rows_file.unlink(missing_ok=True)
            self.ended(None)
            raise
        return evaluation.begun.result(), list(evaluation.notes)

    def stop(self, run_id: str) -> bool:
        """Stop a run cleanly: what is judged is kept. False where it does not go on here."""
        with self._lock:
            evaluation = self._running.get(run_id)
        if evaluation is None:
            return False
        evaluation.stop()
        return True

    def close(self) -> None:
        """Stop all of them, and wait for the calls that are under way."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for evaluation in running:
            evaluation.stop()
        for evaluation in running:
            evaluation.thread.join(STOP_S)

    def began(self, run_id: str, evaluation: _Evaluation) -> None:
        """Note the run of an evaluation."""
        with self._lock:
            self._running[run_id] = evaluation
            closed = self._closed
        if closed:
            evaluation.stop()

    def ended(self, run_id: str | None) -> None:
        """Give the place of an evaluation back. run_id: None for one that did not begin."""
        with self._lock:
            self._places += 1
            if run_id is not None:
                self._running.pop(run_id, None)


class _Evaluation:
    """One evaluation and its thread. begun: the run's id, or why there is none. notes: how the rows
    are read.
    """

    def __init__(self, owner: Evaluations, store: Store, options: Mapping[str, Any]) -> None:
        self._owner = owner
        self._store = store
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Session | None = None
        self.begun: Future[str] = Future()
        self.notes: list[str] = []
        self.rows_file = store.beside(FOLDER) / f"{uuid.uuid4().hex}.jsonl"
        self.thread = threading.Thread(target=self._drive, name="evaluation", daemon=True)

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put the rows where a resume finds them, for the owner of the store alone."""
        self.rows_file.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self.rows_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            for row in rows:
                out.write(orjson.dumps(row) + b"\n")

    def stop(self) -> None:
        """Stop cleanly, from any thread."""
        loop, session = self._loop, self._session
        if loop is not None and session is not None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(session.stop)

    def _drive(self) -> None:
        run_id = None
        try:
            run_id = asyncio.run(self._run())
        except BaseException as error:
            if not self.begun.done():
                self._owner.ended(None)
                self.rows_file.unlink(missing_ok=True)
                self.begun.set_exception(error)
                return
            # The run's own state says that it failed, and why.
            note_fault(error)
            run_id = self.begun.result()
        self._remove_rows(run_id)
        self._owner.ended(run_id)

    async def _run(self) -> str:
        session = await api.begin(
            str(self.rows_file),
            store=self._store.address,
            tell=self.notes.append,
            **self._options,
        )
        self._loop, self._session = asyncio.get_running_loop(), session
        self._owner.began(session.run_id, self)
        self.begun.set_result(session.run_id)
        try:
            await session.run()
        finally:
            session.store.close()
        return session.run_id

    def _remove_rows(self, run_id: str) -> None:
        """A run that has finished needs its rows no more: the store has them."""
        with suppress(Exception):
            if self._store.run(run_id).state is RunState.FINISHED:
                self.rows_file.unlink(missing_ok=True)
