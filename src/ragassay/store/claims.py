"""Claims on questions: of two runs that ask the same at the same time, one buys the answer.

A run that asks its judge is listed with the judge's fingerprints, so that runs that could ask the
same see each other. Only then they claim: a question is claimed before it is asked, and the claim
goes in the commit that brings its judgment. A claim holds as long as the run that made it is seen
to work; the claims of one that was killed, or is suspended, are anybody's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, text, update

from ragassay.core import Judgment, JudgmentAddress
from ragassay.store import schema
from ragassay.store.access import IN_LIST, Access
from ragassay.store.judgments import group_by_judge, payloads_of
from ragassay.store.locks import RunLocks
from ragassay.store.runs import RunRecords
from ragassay.store.sharing import Claimed, OtherRuns

EXPIRES_S = 60.0
"""A run that was not seen for so long has no claims, whether or not its process is there: its
heartbeats come three times as often.
"""

_CLAIM = text(
    "INSERT INTO claims (judge, key, run) VALUES (:judge, :key, :run) ON CONFLICT DO NOTHING"
)


class ClaimRecords:
    """The claims of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords, locks: RunLocks) -> None:
        self._access = access
        self._runs = runs
        self._locks = locks
        self._held: dict[int, set[JudgmentAddress]] = {}  # by run, as far as claimed from here
        self._judges: dict[int, str] = {}
        self._lock = Lock()  # around _held

    # -- which runs are asking

    def register(self, run_id: str, judges: Iterable[str]) -> OtherRuns:
        """List a run as asking these judges; the other ones. It counts as claiming from the start
        where there are any.
        """
        number = self._runs.number(run_id)
        self._judges[number] = "\n".join(sorted(judges))
        return self._list(number)

    def _list(self, number: int) -> OtherRuns:
        names = self._judges[number]
        asking = schema.asking_runs

        def work(connection: Connection) -> OtherRuns:
            # Of two that register at once, the second sees the first.
            self._access.database.alone(connection, "claims")
            self._forget_dead(connection, number)
            connection.execute(delete(asking).where(asking.c.run == number))
            others = self._others(connection, number, names)
            values = {"run": number, "judges": names, "claiming": others.runs > 0}
            connection.execute(insert(asking).values(values))
            return others

        return self._access.write(work)

    def others(self, run_id: str) -> OtherRuns:
        """The other runs that ask now what a registered one may ask."""
        number = self._runs.number(run_id)
        own = select(schema.asking_runs.c.run).where(schema.asking_runs.c.run == number)

        def work(connection: Connection) -> OtherRuns | None:
            if connection.scalar(own) is None:
                return None
            return self._others(connection, number, self._judges[number])

        others = self._access.read(work)
        # Another run has taken this one for dead: it was suspended.
        return self._list(number) if others is None else others

    def set_claiming(self, run_id: str) -> None:
        """Say that the run claims what it asks, and has claimed what it is asking."""
        asking = schema.asking_runs
        self._access.execute(
            update(asking).where(asking.c.run == self._runs.number(run_id)).values(claiming=True)
        )

    def stop_claiming(self, run_id: str) -> bool:
        """Say that the run does not claim any more, unless another one asks; whether it is so."""
        number = self._runs.number(run_id)
        asking = schema.asking_runs

        def work(connection: Connection) -> bool:
            # A run that registers comes before this, and is seen, or after it, and sees this.
            self._access.database.alone(connection, "claims")
            if self._others(connection, number, self._judges[number]).runs:
                return False
            connection.execute(update(asking).where(asking.c.run == number).values(claiming=False))
            return True

        return self._access.write(work)

    def forget(self, number: int) -> None:
        """The run asks nothing more: it is not listed any more, and has no claims."""
        self._held.pop(number, None)
        if self._judges.pop(number, None) is not None:
            self._access.write(lambda connection: _forget(connection, [number]))

    def forget_all(self) -> None:
        """The same for all runs that were registered by this store."""
        for number in list(self._judges):
            self.forget(number)

    # -- claims

    def claim(self, run_id: str, addresses: Sequence[JudgmentAddress]) -> Claimed:
        """Claim questions: each has a judgment, is granted, or is being asked elsewhere."""
        number = self._runs.number(run_id)
        keys_by_judge = group_by_judge(sorted(addresses))
        rows = []
        for judge, keys in keys_by_judge.items():
            rows += [{"judge": judge, "key": key, "run": number} for key in keys]

        def work(connection: Connection) -> tuple[dict[JudgmentAddress, bytes], set[Any]]:
            self._access.database.alone(connection, "claims")
            self._forget_dead(connection, number)
            connection.execute(_CLAIM, rows)
            own = {
                address for address, run in _claims_on(connection, keys_by_judge) if run == number
            }
            # After the claims: a judgment that came meanwhile took its claim along.
            payloads = payloads_of(connection, keys_by_judge, None)
            _drop(connection, number, own & payloads.keys())
            return payloads, own

        payloads, own = self._access.write(work)
        granted = frozenset(own - payloads.keys())
        with self._lock:
            self._held.setdefault(number, set()).update(granted)
        judgments = {
            address: self._access.value(Judgment, payload, *address)
            for address, payload in payloads.items()
        }
        return Claimed(judgments, granted)

    def open_to_claim(
        self, run_id: str, addresses: Sequence[JudgmentAddress]
    ) -> list[JudgmentAddress]:
        """Those of the questions that no other living run is asking. Only reads, so that it may be
        asked often.
        """
        number = self._runs.number(run_id)

        def work(connection: Connection) -> set[JudgmentAddress]:
            claims = _claims_on(connection, group_by_judge(addresses))
            runs = {run for _, run in claims} - {number}
            living = self._living(connection, runs)
            return {address for address, run in claims if run in living}

        taken = self._access.read(work)
        return [address for address in addresses if address not in taken]

    def held(self, run_id: str) -> frozenset[JudgmentAddress]:
        """The claims that the run has made and that have not gone with a judgment."""
        with self._lock:
            return frozenset(self._held.get(self._runs.number(run_id), ()))

    def give_up(self, run_id: str, addresses: Collection[JudgmentAddress]) -> None:
        """Let others ask these questions of the run's."""
        number = self._runs.number(run_id)
        self._access.write(lambda connection: _drop(connection, number, addresses))
        with self._lock:
            self._held.get(number, set()).difference_update(addresses)

    def drop(self, connection: Connection, number: int, judgments: Sequence[Judgment]) -> None:
        """The judgments of a run have come, or have failed: its claims on them go, in the same
        commit.
        """
        if self._held.get(number):
            _drop(connection, number, self._held_of(number, judgments))

    def dropped(self, run_id: str, judgments: Sequence[Judgment]) -> None:
        """The commit was made."""
        number = self._runs.number(run_id)
        if self._held.get(number):
            answered = self._held_of(number, judgments)
            with self._lock:
                self._held[number] -= answered

    def _held_of(self, number: int, judgments: Sequence[Judgment]) -> set[JudgmentAddress]:
        with self._lock:
            held = self._held.get(number, set())
            return {(each.judge, each.key) for each in judgments} & held

    # -- who lives

    def _others(self, connection: Connection, number: int, judges: str) -> OtherRuns:
        asking = schema.asking_runs.c
        own = set(judges.split("\n"))
        rows = connection.execute(
            select(asking.run, asking.judges, asking.claiming).where(asking.run != number)
        ).all()
        living = self._living(connection, {row.run for row in rows}) if rows else set()
        flags = []
        for row in rows:
            if row.run in living and own & set(row.judges.split("\n")):
                flags.append(bool(row.claiming))
        return OtherRuns(len(flags), all(flags))

    def _living(self, connection: Connection, numbers: Collection[int]) -> set[int]:
        """Those of the runs whose owner was seen lately and is there."""
        return self._locks.working(connection, numbers, EXPIRES_S)

    def _forget_dead(self, connection: Connection, number: int) -> None:
        """Remove what runs have left behind that nobody works on."""
        asking = schema.asking_runs.c
        others = set(connection.scalars(select(asking.run).where(asking.run != number)))
        dead = others - self._living(connection, others)
        if dead:
            _forget(connection, sorted(dead))


def _claims_on(
    connection: Connection, keys_by_judge: Mapping[str, list[str]]
) -> list[tuple[JudgmentAddress, int]]:
    """(address, run) of the claims on these questions."""
    table = schema.claims.c
    claims: list[tuple[JudgmentAddress, int]] = []
    for judge, keys in keys_by_judge.items():
        for start in range(0, len(keys), IN_LIST):
            query = select(table.key, table.run).where(
                table.judge == judge, table.key.in_(keys[start : start + IN_LIST])
            )
            claims += [((judge, key), run) for key, run in connection.execute(query)]
    return claims


def _drop(connection: Connection, number: int, addresses: Collection[JudgmentAddress]) -> None:
    if not addresses:
        return
    table = schema.claims
    statement = delete(table).where(
        table.c.judge == bindparam("of_judge"),
        table.c.key == bindparam("of_key"),
        table.c.run == number,
    )
    rows = [{"of_judge": judge, "of_key": key} for judge, key in sorted(addresses)]
    connection.execute(statement, rows)


def _forget(connection: Connection, numbers: Sequence[int]) -> None:
    for table in (schema.claims, schema.asking_runs):
        connection.execute(delete(table).where(table.c.run.in_(numbers)))
