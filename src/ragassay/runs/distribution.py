"""The driver of a run, and the way to have one over several processes, as a session sees them.

A session is handed the distribution by whoever starts it: the room `distributed` is built on runs,
so that runs cannot import it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from ragassay.core import Ledger, Manifest, RunState

if TYPE_CHECKING:
    from ragassay.core import BadRow, Sample
    from ragassay.dispatch import Budget
    from ragassay.runs.engine import Outcome
    from ragassay.runs.plan import Plan
    from ragassay.runs.progress import Progress
    from ragassay.runs.reply_log import Replies, ReplyLog
    from ragassay.runs.ticker import Tell
    from ragassay.store import IndexSet, Store


class Driver(Protocol):
    """What drives the rows of a run: the engine of this process, or one over several processes."""

    progress: Progress

    @property
    def without_usage(self) -> int:
        """How many replies said nothing about tokens."""

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly; called from the event loop."""

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows that are not done."""


class Leftovers(Protocol):
    """What the workers of a killed driver left."""

    @property
    def ledger(self) -> Ledger | None:
        """What the run had spent by the logs of its parts, None where that is not known."""

    @property
    def replies(self) -> Replies:
        """Replies that had arrived."""

    def remove(self) -> None:
        """Remove them from the disk, once what they say is stored elsewhere."""


class Distribution(Protocol):
    """Runs over several processes: `ragassay.distributed`, which whoever starts a session hands in,
    because it is built on runs.
    """

    def recover_parts(self, store: Store, run_id: str, writer: str) -> Leftovers:
        """Take in what the workers of a killed driver left."""

    def open_driver(
        self,
        plan: Plan,
        store: Store,
        manifest: Manifest,
        base: Ledger,
        done: IndexSet,
        *,
        log: ReplyLog,
        share_replies: bool,
        save: Callable[[], None],
        tell: Tell | None,
    ) -> tuple[Budget, Driver]:
        """What drives the run over several processes, and the budget that they share."""
