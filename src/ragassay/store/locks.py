"""Locks of runs: one process at a time works on a run, and one that is gone is replaced.

A lock says which process of which machine holds a run, and when it was last seen. Its owner says
every BEAT_S seconds that it still works, so that a process on another machine, which cannot be
looked at, can be told from one that is gone.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from ragassay.core import EnvironmentFailure
from ragassay.store import owner, schema
from ragassay.store.access import Access

BEAT_S = 20.0
"""How often the owner of a run says that it still works on it."""

FOREIGN_LOCK_S = 300.0
"""After how long without that the lock of a process that cannot be seen from here counts as left
behind.
"""

_OPEN: set[str] = set()
"""Tokens of the stores that are open in this process."""


class RunLocks:
    """The locks that one open store holds. Runs are named by their primary keys. Thread-safe.

    token: what the store owns runs by; no two stores have the same.
    """

    def __init__(self, access: Access, token: str) -> None:
        self._access = access
        self.token = token
        self._held: set[int] = set()
        self._lost: set[int] = set()
        self._heartbeat: threading.Thread | None = None
        self._stop_heartbeat = threading.Event()

    @property
    def lost(self) -> frozenset[int]:
        """Runs that another process has taken over."""
        return frozenset(self._lost)

    def open(self) -> None:
        """Count the store as open: its locks are those of a living owner."""
        _OPEN.add(self.token)

    def close(self) -> None:
        """Count the store as closed."""
        _OPEN.discard(self.token)

    def acquire(self, run_id: str, number: int) -> None:
        """Take a run. Raises EnvironmentFailure E0504 when another living process has it."""
        runs, locks = schema.runs.c, schema.run_locks

        def work(connection: Connection) -> None:
            # The run's record is locked first: of two who take the run at once, one waits here and
            # then sees the other's lock.
            run = select(runs.id).where(runs.id == number).with_for_update(key_share=True)
            connection.execute(run)
            now = self.refuse_owned(connection, run_id, number)
            connection.execute(delete(locks).where(locks.c.run == number))
            connection.execute(
                insert(locks).values(
                    run=number,
                    token=self.token,
                    pid=os.getpid(),
                    host=owner.host(),
                    started=owner.started(os.getpid()),
                    seen=now,
                )
            )

        self._access.write(work)
        self._lost.discard(number)
        self._held.add(number)
        self._begin_heartbeat()

    def release(self, number: int) -> None:
        """Give a run back; nothing happens when this store does not have it."""
        locks = schema.run_locks
        self._held.discard(number)
        self._lost.discard(number)
        if not self._held:
            self._end_heartbeat()
        self._access.execute(
            delete(locks).where(locks.c.run == number, locks.c.token == self.token)
        )

    def release_all(self) -> None:
        """Give all runs back."""
        if not self._held:
            return
        self._held.clear()
        self._end_heartbeat()
        locks = schema.run_locks
        self._access.execute(delete(locks).where(locks.c.token == self.token))

    def refuse_owned(self, connection: Connection, run_id: str, number: int) -> float:
        """The time by the database's clock. Raises EnvironmentFailure E0504 when another living
        process has the run.
        """
        locks, now = schema.run_locks, self._access.database.now(connection)
        lock = connection.execute(select(locks).where(locks.c.run == number)).one_or_none()
        if lock is not None and lock.token != self.token and _is_living(lock, now):
            raise EnvironmentFailure(
                "E0504",
                f"The run is being worked on by process {lock.pid} on {lock.host}.",
                where=f"run {run_id} in {self._access.location}",
                why=f"it was seen {max(0.0, now - lock.seen):.0f} s ago",
                fix=f"wait until it ends, or stop it (kill {lock.pid} on {lock.host})",
            )
        return now

    def working(
        self, connection: Connection, numbers: Collection[int], within_s: float
    ) -> set[int]:
        """Those of the runs that somebody works on: the owner is there, and was seen within so many
        seconds.
        """
        if not numbers:
            return set()
        locks, now = schema.run_locks, self._access.database.now(connection)
        rows = connection.execute(select(locks).where(locks.c.run.in_(numbers))).all()
        return {lock.run for lock in rows if now - lock.seen < within_s and _is_living(lock, now)}

    def is_held(self, number: int) -> bool:
        """Whether a living owner has the run."""
        return bool(self._access.read(lambda c: self.working(c, (number,), math.inf)))

    def check_not_lost(self, run_id: str, number: int) -> None:
        """Raise EnvironmentFailure E0504 where it is known that another process has taken the run
        over.
        """
        if number in self._lost:
            raise self._taken_over(run_id)

    def check_still_owner(self, connection: Connection, run_id: str, number: int) -> None:
        """The same, looked up: what a new owner has written must stay."""
        if number not in self._held and number not in self._lost:
            return
        locks = schema.run_locks.c
        own_lock = select(locks.run).where(locks.run == number, locks.token == self.token)
        if connection.execute(own_lock).first() is None:
            raise self._taken_over(run_id)

    def _begin_heartbeat(self) -> None:
        if self._heartbeat is None:
            self._stop_heartbeat.clear()
            self._heartbeat = threading.Thread(
                target=self._beat, name="ragassay-owner", daemon=True
            )
            self._heartbeat.start()

    def _end_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._stop_heartbeat.set()
            self._heartbeat.join()
            self._heartbeat = None

    def _beat(self) -> None:
        """Say again and again that the owner works, also while no judgment arrives; notice when it
        is owner no more.
        """
        while not self._stop_heartbeat.wait(BEAT_S):
            numbers = set(self._held)
            with contextlib.suppress(EnvironmentFailure):  # whoever writes next is told
                still_owned = self._access.write(lambda c, runs=numbers: self._touch(c, runs))  # type: ignore[misc]
                self._lost |= (numbers - still_owned) & self._held

    def _touch(self, connection: Connection, numbers: set[int]) -> set[int]:
        """Mark the locks as seen now; those of the runs that are still owned."""
        locks = schema.run_locks
        now = self._access.database.now(connection)
        mark = update(locks).where(locks.c.token == self.token).values(seen=now)
        return {
            number
            for number in numbers
            if connection.execute(mark.where(locks.c.run == number)).rowcount
        }

    def _taken_over(self, run_id: str) -> EnvironmentFailure:
        return EnvironmentFailure(
            "E0504",
            "Another process has taken the run over.",
            where=f"run {run_id} in {self._access.location}",
            why=(
                f"this one did not write for {FOREIGN_LOCK_S:.0f} s or more: was it, or its"
                " machine, suspended?"
            ),
            fix="let the other one finish",
        )


def _is_living(lock: Row[Any], now: float) -> bool:
    """Whether the owner of a lock works, as far as can be seen from here."""
    if lock.host == owner.host():
        # This process lives, but the store that took the lock may have been closed.
        if lock.pid == os.getpid() and lock.started == owner.started(os.getpid()):
            return bool(lock.token in _OPEN)
        alive = owner.alive(lock.pid, lock.started)
        if alive is not None:
            return alive
    return bool(abs(now - lock.seen) < FOREIGN_LOCK_S)
