"""The regular work beside a running engine: progress for a display, the ledger for the store."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from ragassay.core import RagAssayError

if TYPE_CHECKING:
    from ragassay.models.batch import BatchModel
    from ragassay.runs.progress import Progress

Watch = Callable[["Progress"], None]
"""Called about five times a second while a run goes on, and once at its end."""

Tell = Callable[[str], None]
"""Called with each line about how the rows are read ("read user_input as question")."""


TICK_SECONDS = 0.2
TICKS_A_SAVE = 5


class Ticked(Protocol):
    """The driver of a run, as far as the ticker needs it."""

    progress: Progress

    def stop(self, *, reason: str = "") -> None:
        """Stop cleanly; called from the event loop."""


def harmless(watch: Watch | None, tell: Tell | None) -> Watch | None:
    """The callback, not called again after its first error: a display must not cost a run."""
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


@asynccontextmanager
async def ticking(
    driver: Ticked,
    watch: Watch | None,
    save: Callable[[], None],
    batches: BatchModel | None = None,
) -> AsyncIterator[None]:
    """Tick while the block runs; arguments as for `tick`."""
    task = asyncio.create_task(tick(driver, watch, save, batches))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def tick(
    driver: Ticked,
    watch: Watch | None,
    save: Callable[[], None],
    batches: BatchModel | None = None,
) -> None:
    """Show progress five times a second; write the ledger down every second, so that a kill loses
    little of it.

    batches: the batch model of a run that does not wait for its batches: the run ends when it could
    do nothing else.
    """
    for count in itertools.count(1):
        await asyncio.sleep(TICK_SECONDS)
        if batches is not None and batches.waits_for_provider:
            driver.stop(reason=f"all calls are handed over ({batches.status.partition(',')[0]})")
        if watch is not None:
            watch(driver.progress)
        if count % TICKS_A_SAVE == 0:
            # In a thread, for a slow disk must not hold up calls. What fails is tried again in a
            # second; where the store fails for good, the journal ends the run.
            with suppress(RagAssayError):
                await asyncio.to_thread(save)
