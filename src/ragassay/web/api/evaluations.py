"""Evaluations of posted rows: each in a thread of its own, to be followed in the store, stopped,
and gone on with after its server was killed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragassay import api
from ragassay.core import RagAssayError, RunState
from ragassay.web.api.messages import Refused
from ragassay.web.api.over_http import in_words_of_a_request
from ragassay.web.api.posted_rows import PostedRows, Request
from ragassay.web.api.problems import busy, note_fault

if TYPE_CHECKING:
    from ragassay.runs.session import Session
    from ragassay.runs.ticker import Tell
    from ragassay.store import Store

AT_ONCE = 2
"""Evaluations at a time: each of them uses every processor, or pays a judge."""
RETRY_S = 10
STOP_S = 20.0
"""How long the server waits at its end for calls that are under way."""
KEYED_S = 20.0
"""How long a request with a key waits for another one that is just beginning its run."""
_ENDED = (RunState.FINISHED, RunState.BUDGET)
"""States in which the same request again has nothing to do: the rows are done, or its cap is
reached.
"""


class Begun(NamedTuple):
    """A run that goes on, or has ended. notes: how its rows are read, a line each."""

    run_id: str
    notes: list[str]


class Evaluations:
    """The evaluations that one server drives. Thread-safe; `close` stops them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posted = PostedRows(store)
        self._lock = threading.Lock()
        self._keyed = threading.Lock()
        self._running: dict[str, _Evaluation] = {}
        self._places = AT_ONCE
        self._closed = False
        with suppress(RagAssayError, OSError):  # what is left lies there until the next start
            self._posted.tidy()

    def start(
        self,
        rows: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
        request: Request | None = None,
    ) -> Begun:
        """Begin a run of the rows, as soon as the store has it; what of the rows is not known is
        left out and told. options: arguments of `ragassay.evaluate`. request: where it came before,
        its run is answered, and goes on if nobody works on it. Raises Refused E1411 where too many
        go on already, E1409 where the key came with another body, and what `evaluate` raises of the
        set-up and the rows.
        """
        if request is None:
            return self._begin(rows, options, None)
        with self._one_keyed():
            known = self._posted.run_of(request)
            if known is None:
                return self._begin(rows, options, request)
            return self._again(known, rows)

    def resume(self, run_id: str, changes: Mapping[str, Any]) -> Begun:
        """Go on with a run of posted rows that nobody works on. changes: caps and concurrency.
        Raises Refused E1412 where there is nothing to go on with, E1411, and what `resume` raises.
        """
        stored = self._store.run(run_id)
        self._check_stopped(run_id, stored.state, stored.manifest.source)

        def begin(tell: Tell) -> Coroutine[Any, Any, Session]:
            tell(f"goes on: {stored.done:,} of {stored.manifest.rows:,} rows are done")
            return api.begin_again(run_id, store=self._store.address, tell=tell, **changes)

        return self._launch(_Evaluation(self, begin, Path(stored.manifest.source)))

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
        """Note the run of an evaluation, before anything is asked for it."""
        if evaluation.request is not None:
            self._posted.remember(evaluation.request, run_id)
        with self._lock:
            self._running[run_id] = evaluation
            closed = self._closed
        if closed:
            evaluation.stop()

    def ended(self, run_id: str | None, rows_file: Path) -> None:
        """Give the place of an evaluation back, and remove the rows of a run that has finished: the
        store has them. run_id: None for one that did not begin.
        """
        with suppress(Exception):
            if run_id is not None and self._store.run(run_id).state is RunState.FINISHED:
                rows_file.unlink(missing_ok=True)
        with self._lock:
            self._places += 1
            if run_id is not None:
                self._running.pop(run_id, None)

    @contextmanager
    def _one_keyed(self) -> Iterator[None]:
        """One request with a key at a time: of two that are the same, one begins the run."""
        if not self._keyed.acquire(timeout=KEYED_S):
            raise busy("other evaluations are just beginning", RETRY_S)
        try:
            yield
        finally:
            self._keyed.release()

    def _begin(
        self,
        rows: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
        request: Request | None,
    ) -> Begun:
        rows_file = self._posted.new_file()

        def begin(tell: Tell) -> Coroutine[Any, Any, Session]:
            return api.begin(str(rows_file), store=self._store.address, tell=tell, **options)

        evaluation = _Evaluation(self, begin, rows_file, request)
        try:
            return self._launch(evaluation, rows)
        except RagAssayError as error:
            rows_file.unlink(missing_ok=True)
            raise in_words_of_a_request(error, "/rows", rows_file) from None
        except BaseException:
            rows_file.unlink(missing_ok=True)
            raise

    def _again(self, run_id: str, rows: Sequence[Mapping[str, Any]]) -> Begun:
        """The run of a request that came before; it goes on where it stopped before its end."""
        stored = self._store.run(run_id)
        if stored.state in _ENDED or self._store.driven(run_id):
            return Begun(run_id, [f"this request began run {run_id} before"])
        rows_file = Path(stored.manifest.source)
        if not rows_file.exists():
            self._posted.write(rows_file, rows)
        return self.resume(run_id, {})

    def _check_stopped(self, run_id: str, state: RunState, source: str) -> None:
        """Raise Refused E1412 where the run cannot go on from here."""
        why, fix = "", ""
        if not self._posted.holds(source):
            why = "its rows were not posted to this server"
            fix = "`ragassay resume` goes on with it, on the machine that has its rows"
        elif state is RunState.FINISHED:
            why, fix = "it has finished", "read it, or POST the rows again for a new run"
        elif self._store.driven(run_id):
            why, fix = "it goes on already", f"GET /api/v1/runs/{run_id}/events follows it"
        if why:
            what = "There is nothing to go on with."
            raise Refused("E1412", what, where=f"run {run_id}", why=why, fix=fix)

    def _launch(
        self, evaluation: _Evaluation, rows: Sequence[Mapping[str, Any]] | None = None
    ) -> Begun:
        """Drive the evaluation in a thread of its own. rows: to be written before, None where they
        are.
        """
        with self._lock:
            if self._places < 1 or self._closed:
                raise busy(f"{AT_ONCE} evaluations go on already", RETRY_S)
            self._places -= 1
        try:
            if rows is not None:
                self._posted.write(evaluation.rows_file, rows)
            evaluation.thread.start()
        except BaseException:
            self.ended(None, evaluation.rows_file)
            raise
        return Begun(evaluation.begun.result(), list(evaluation.notes))


class _Evaluation:
    """One evaluation and its thread. begin: makes the session, given where notes on the rows go.
    begun: the run's id, or why there is none.
    """

    def __init__(
        self,
        owner: Evaluations,
        begin: Callable[[Tell], Coroutine[Any, Any, Session]],
        rows_file: Path,
        request: Request | None = None,
    ) -> None:
        self._owner = owner
        self._begin = begin
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Session | None = None
        self.rows_file = rows_file
        self.request = request
        self.begun: Future[str] = Future()
        self.notes: list[str] = []
        self.thread = threading.Thread(target=self._drive, name="evaluation", daemon=True)

    def stop(self) -> None:
        """Stop cleanly, from any thread."""
        loop, session = self._loop, self._session
        if loop is not None and session is not None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(session.stop)

    def _drive(self) -> None:
        try:
            run_id = asyncio.run(self._run())
        except BaseException as error:
            if not self.begun.done():
                self._owner.ended(None, self.rows_file)
                self.begun.set_exception(error)
                return
            # The run's own state says that it failed, and why.
            note_fault(error)
            run_id = self.begun.result()
        self._owner.ended(run_id, self.rows_file)

    async def _run(self) -> str:
        session = await self._begin(self.notes.append)
        try:
            self._loop, self._session = asyncio.get_running_loop(), session
            self._owner.began(session.run_id, self)
            self.begun.set_result(session.run_id)
            await session.run()
        finally:
            session.store.close()
        return session.run_id
