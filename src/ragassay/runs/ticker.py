"""The regular work beside a running engine: progress for a display, the ledger for the store."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from ragassay.core import RagAssayError

if TYPE_CHECKING:
    from ragassay.models.batch import BatchModel
    from ragassay.runs.progress import Progress

Watch = Callable[["Progress"], None]
"""Called about five times a second while a run goes on, and once at its end."""

Tell = Callable[[str], None]
"""Called with each line about how the rows are read ("read user_input as question")."""


class Ticked(Protocol):
    """The engine of a run, as far as the ticker needs it."""

    progress: Progress

    def stop(self, *, reason: str = "") -> None:
        """Stop cleanly; called from the event loop."""


def harmless(watch: Watch | None, tell: Tell | None) -> Watch | None:
    """The callback, which is left alone from its first error on: a display must not cost a run."""
    failed = False

    def call(progress: Progress) -> None:
        nonlocal failed
        if watch is None or failed:
            return
        try:
            watch(progress)
        except Exception as error:
            failed = True
            if tell is not None:
                tell(
                    f"the progress is not shown any more: watch raised {type(error).__name__}:"
                    f" {error}"
                )

    return None if watch is None else call


async def tick(
    engine: Ticked,
    watch: Watch | None,
    save: Callable[[], None],
    parked: BatchModel | None = None,
) -> None:
    """Show progress five times a second; write the ledger down every second, so that a kill loses
    little of it.

    parked: the model with which the run ends when it can only wait.
    """
    for beat in itertools.count(1):
        await asyncio.sleep(0.2)
        if parked is not None and parked.parked:
            engine.stop(reason=f"all calls are handed over ({parked.status.partition(',')[0]})")
        if watch is not None:
            watch(engine.progress)
        if beat % 5 == 0:
            with suppress(RagAssayError):
                await asyncio.to_thread(save)
