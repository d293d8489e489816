"""The driver of a run, in one process or over several, as a session sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    """What drives the rows of a run: an Engine, or the driver of several processes."""

    progress: Progress

    @property
    def without_usage(self) -> int:
        """How many replies said nothing about tokens."""

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly; called from the event loop."""

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows that are not done."""


class Leftovers(Protocol):
    """The logs and journals of the workers of a killed driver."""

    @property
    def ledger(self) -> Ledger | None:
        """What the run had spent by the logs of its parts; None where they do not tell."""

    @property
    def replies(self) -> Replies:
        """Replies that had arrived."""

    def remove(self) -> None:
        """Remove them from the disk, once what they say is stored elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedRun:
    """A run that is to be driven over several processes, as its session passes it on.

    base: what the run had spent before. done: the rows that are done, by index. log: the run's own
    log of replies, which gets those of parts that do not come to their end. share_replies: whether
    workers may use the replies in it. save: writes the budget's ledger to disk, before a lease is
    granted. tell: called with lines for the user.
    """

    plan: Plan
    store: Store
    manifest: Manifest
    base: Ledger
    done: IndexSet
    log: ReplyLog
    share_replies: bool
    save: Callable[[], None]
    tell: Tell | None


class Distribution(Protocol):
    """Runs over several processes. Whoever starts a session passes `ragassay.distributed`, which is
    built on runs and so cannot be imported from here.
    """

    def recover_parts(self, store: Store, run_id: str, writer: str) -> Leftovers:
        """Recover what the workers of a killed driver left."""

    def open_driver(self, run: DistributedRun) -> tuple[Budget, Driver]:
        """The driver of the run over several processes, and the budget that they share."""
