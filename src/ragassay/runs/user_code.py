"""The runner of the user's own code: threads of its own, so that it cannot hold up a run.

Each call has a deadline. A thread that does not come back is given up and another one takes its
place. Where it runs Python code, that code is ended by an exception (SystemExit) as soon as the
interpreter gets to it; where it is stuck in a system call, it is left behind. These threads are
daemons: a process can end although one of them never does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

from ragassay.runs.threads import end_thread

T = TypeVar("T")

THREADS = 8
"""Calls of the user's code at once, in one run."""

MOST_LOST = 32
"""Threads that did not come back and still live. With so many no further call is made: the process
would fill with them.
"""


class UserCodeTimeout(Exception):
    """The user's code did not come back in time; with words where it was not even called. Internal
    to the runner.
    """


class UserCode:
    """Runs callables in threads with a deadline. One instance, one run; close it at the end."""

    def __init__(self, threads: int = THREADS) -> None:
        self._slots = asyncio.Semaphore(threads)
        self._idle: list[_Worker] = []
        self._lost_workers: list[_Worker] = []

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """What `work` returns. Raises what it raises, whatever that is, and UserCodeTimeout after
        `seconds` of its own time: waiting for a free thread does not count.
        """
        async with self._slots:
            worker = self._take_worker()
            loop = asyncio.get_running_loop()
            done: asyncio.Future[None] = loop.create_future()

            def wake(_: Future[T]) -> None:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    # Cancelled, as set_result raises where the wait has been cancelled before.
                    loop.call_soon_threadsafe(done.cancel)

            answer = worker.start(work)
            answer.add_done_callback(wake)
            in_time = False
            try:
                await asyncio.wait({done}, timeout=seconds)
                in_time = answer.done()
            finally:
                self._release(worker, in_time)
            return _outcome(answer, in_time)

    def wait(self, work: Callable[[], T], seconds: float) -> T:
        """`run` for callers outside of an event loop."""
        worker = self._take_worker()
        answer = worker.start(work)
        done = threading.Event()
        answer.add_done_callback(lambda _: done.set())
        in_time = False
        try:
            in_time = done.wait(seconds)
        finally:
            self._release(worker, in_time)
        return _outcome(answer, in_time)

    def close(self) -> None:
        """End the idle threads; those that did not come back are not waited for."""
        for worker in self._idle:
            worker.end()
        self._idle.clear()

    def _take_worker(self) -> _Worker:
        self._lost_workers = [worker for worker in self._lost_workers if worker.alive]
        if len(self._lost_workers) >= MOST_LOST:
            raise UserCodeTimeout(
                f"it was not called: {len(self._lost_workers)} earlier calls have not come back"
            )
        return self._idle.pop() if self._idle else _Worker()

    def _release(self, worker: _Worker, in_time: bool) -> None:
        if in_time:
            self._idle.append(worker)
        else:
            worker.give_up()
            self._lost_workers.append(worker)


def _outcome(answer: Future[T], in_time: bool) -> T:
    if not in_time:
        raise UserCodeTimeout
    return answer.result()


class _Worker:
    """One thread, one call at a time."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="ragassay-own-code", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self, work: Callable[[], T]) -> Future[T]:
        answer: Future[T] = Future()

        def job() -> None:
            try:
                result = work()
            except BaseException as error:
                # Also exit() and what else only a whole program should raise.
                answer.set_exception(error)
            else:
                answer.set_result(result)

        self._jobs.put(job)
        return answer

    def end(self) -> None:
        self._jobs.put(None)

    def give_up(self) -> None:
        self.end()
        end_thread(self._thread)

    def _serve(self) -> None:
        # The exception that ends a thread may come when its job is over already.
        with suppress(SystemExit):
            while (job := self._jobs.get()) is not None:
                job()
