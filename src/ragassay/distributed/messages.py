"""The messages between driver and workers: frozen values, of one version on both sides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import Manifest, RagAssayError, RunState
from ragassay.dispatch import Traffic
from ragassay.distributed.lease import LeaseUse
from ragassay.runs import Replies

if TYPE_CHECKING:
    from sqlalchemy import URL


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to make the run's set-up for itself.

    options: as JSON. store: where the run's store is, with its password where it has one. folder:
    where the driver has the parts; journals: whether parts have journals there, or judgments are
    written into the store itself. token: the content of the file `token` in that folder, and boot:
    the boot id of the driver's machine; both together show a worker whether it sees this very
    folder. replies: the run's own log of calls, whose replies may be used. concurrency: this
    worker's share. current_folder: the driver's, for modules of the user's. source_size: bytes of
    the file of rows, where workers read it.
    """

    version: str
    manifest: Manifest
    options: dict[str, object]
    store: Path | URL
    folder: Path
    journals: bool
    token: str
    boot: str
    replies: Path | None
    concurrency: int
    current_folder: str
    source_size: int


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker has made the same set-up. host, pid: where it runs; sees_folder: whether it is on
    the driver's machine and sees the folder of the parts.
    """

    host: str
    pid: int
    sees_folder: bool


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The progress of a worker's part. rows: those that are finished; messages: reports for the
    user, each sent once; without_usage: replies so far that said nothing about tokens.
    """

    rows: int = 0
    bad: int = 0
    cached: int = 0
    use: LeaseUse = field(default_factory=LeaseUse)
    traffic: Traffic = field(default_factory=Traffic)
    messages: tuple[str, ...] = ()
    without_usage: int = 0


@dataclass(frozen=True, slots=True)
class PartResult:
    """How a part ended. error: one that ends the whole run; replies: those in the part's log, where
    rows are left to do and the driver does not see the log.
    """

    state: RunState
    reason: str
    heartbeat: Heartbeat
    error: RagAssayError | None = None
    replies: Replies = field(default_factory=dict)


def joined(traffics: list[Traffic]) -> Traffic:
    """The counters of several workers as one; `down` since the earliest."""
    total = Traffic()
    for traffic in traffics:
        for counter in fields(Traffic):
            value = getattr(traffic, counter.name)
            if isinstance(value, Counter | int):
                setattr(total, counter.name, getattr(total, counter.name) + value)
    outages = [traffic.down for traffic in traffics if traffic.down is not None]
    total.down = min(outages, default=None)
    return total


def frozen(traffic: Traffic) -> Traffic:
    """A copy of the counters, which stays as it is while the engine goes on counting."""
    return replace(traffic, waits=Counter(traffic.waits))
