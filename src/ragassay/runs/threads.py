"""Threads for work that may never come back: the user's code, a name server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def end_thread(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread, as soon as it runs Python code again. One that is stuck in a
    system call is left as it is, and must be a daemon, so that the process can end without it.

    For a thread that runs the user's code and nothing else: a loop there that never ends would take
    its share of every second that is left to the run.
    """
    import ctypes  # hardly ever needed, and it would be loaded with the package

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
        )


def in_daemon_thread(work: Callable[[], T]) -> tuple[asyncio.Future[T], threading.Thread]:
    """What `work` returns, for the running loop, from a daemon thread: one that never comes back
    holds up neither the loop's end nor that of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():  # cancelled: nobody waits any more
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def call() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = work(), None
        except BaseException as error:
            # A future takes no StopIteration, and a loop ends at SystemExit.
            plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            outcome = None, error if plain else RuntimeError(type(error).__name__)
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(settle, *outcome)

    thread = threading.Thread(target=call, name="ragassay-app", daemon=True)
    thread.start()
    return done, thread
