"""Ctrl-C and SIGTERM while a run goes on: the first stops it cleanly, the second at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Stoppable(Protocol):
    """What a signal stops: the engine of a run."""

    def stop(self) -> None:
        """Stop cleanly; called from the event loop."""


@contextmanager
def stop_on_signals(
    engine: Stoppable, resume_command: str, tell: Callable[[str], None] | None, batched: bool
) -> Iterator[None]:
    """First Ctrl-C or SIGTERM: stop cleanly. Second: leave at once (what is judged is on disk)."""
    # Only the main thread may set handlers, and asyncio has none on Windows.
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    seen = 0

    def stop() -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            if tell is not None:
                tell(f"Ended at once. To go on: {resume_command}")
            # Not sys.exit: its clean-up would wait for threads that may hang.
            os._exit(130)
        if tell is not None:
            calls = "the calls in flight are finished and kept"
            if batched:
                calls = "batches at the provider go on, and resume collects them"
            tell(f"Stopping: {calls}. Ctrl-C again ends at once.")
        engine.stop()

    # What the host has set comes back at the end. A handler that it has set through the event loop
    # shows as asyncio's _sighandler_noop and cannot be read: it is left alone, as is an ignored
    # signal.
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    kinds = [
        kind
        for kind, handler in before.items()
        if handler not in (signal.SIG_IGN, None)
        and getattr(handler, "__name__", "") != "_sighandler_noop"
    ]
    for kind in kinds:
        loop.add_signal_handler(kind, stop)
    try:
        yield
    finally:
        for kind in kinds:
            loop.remove_signal_handler(kind)
            signal.signal(kind, before[kind])
