"""Judgments: appended, never changed, and found again by who judged and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, func, select

from ragassay.core import Exchange, Judgment, JudgmentAddress, Spend, Status
from ragassay.store import codec, paging, schema
from ragassay.store.access import IN_LIST, Access
from ragassay.store.exchanges import EXCHANGE, values_of
from ragassay.store.locks import RunLocks
from ragassay.store.runs import RunRecords

JUDGMENT = ("run", "judge", "key", "status", "payload")
"""The columns of a judgment, in the order in which they are inserted."""

REUSABLE = (Status.JUDGED.value, Status.ABSTAINED.value)


class JudgmentRecords:
    """The judgments of one open store. on_put: called in the transaction that stores judgments of
    a run, with the run's number. Thread-safe.
    """

    def __init__(
        self,
        access: Access,
        runs: RunRecords,
        locks: RunLocks,
        on_put: Callable[[Connection, int, Sequence[Judgment]], None],
    ) -> None:
        self._access = access
        self._runs = runs
        self._locks = locks
        self._on_put = on_put

    def put(
        self, run_id: str, judgments: Sequence[Judgment], exchanges: Sequence[Exchange]
    ) -> None:
        """Append judgments and the exchanges that they come from, all in one commit. Raises
        ValueError for NaN and infinities.
        """
        number = self._runs.number(run_id)
        self._locks.check_not_lost(run_id, number)
        values = [
            (number, j.judge, j.key, j.status.value, codec.seal(codec.encode(j), j.judge, j.key))
            for j in judgments
        ]
        if not values:
            return
        replies = values_of(exchanges, run_id, number)

        def work(connection: Connection) -> None:
            self._access.database.insert(connection, schema.judgments, JUDGMENT, values)
            if replies:
                self._access.database.insert(connection, schema.exchanges, EXCHANGE, replies)
            self._on_put(connection, number, judgments)

        self._access.write(work)

    def get(
        self, addresses: Sequence[JudgmentAddress], run_id: str | None
    ) -> dict[JudgmentAddress, Judgment]:
        """The newest judgment of each address that may be used again: judged or abstained."""
        number = None if run_id is None else self._runs.number(run_id)
        keys_by_judge = group_by_judge(addresses)
        payloads = self._access.read(lambda c: payloads_of(c, keys_by_judge, number))
        return {
            address: self._access.value(Judgment, payload, *address)
            for address, payload in payloads.items()
        }

    def unknown_judges(self, judges: Iterable[str]) -> tuple[str, ...]:
        """Those of these fingerprints of which no judgment is stored."""
        fingerprints = tuple(judges)
        return self._access.read(
            lambda c: tuple(judge for judge in fingerprints if not _has_judged(c, judge))
        )

    def last_number(self) -> int:
        """The number of the newest judgment, 0 when there is none."""
        return self._access.scalar(select(func.max(schema.judgments.c.id))) or 0

    def spend(self, run_id: str) -> Spend:
        """What the run's own judgments cost: the sum of their shares."""
        table = schema.judgments.c
        query = (
            select(table.judge, table.key, table.payload, table.id)
            .where(table.run == self._runs.number(run_id))
            .order_by(table.id)
        )
        total: dict[str, Any] = {}
        for page in self._access.pages(query, (table.id,), paging.LINES_A_PAGE):
            self._access.checked(_add_shares, page, total)
        if "cost" in total:  # shares of a call are floats, whose last digits are of no account
            total["cost"] = float(round(total["cost"], 12))
        return Spend(**total)


def group_by_judge(addresses: Iterable[JudgmentAddress]) -> dict[str, list[str]]:
    """The keys asked of each judge, each once."""
    keys_by_judge: dict[str, list[str]] = {}
    for judge, key in dict.fromkeys(addresses):
        keys_by_judge.setdefault(judge, []).append(key)
    return keys_by_judge


def payloads_of(
    connection: Connection, keys_by_judge: Mapping[str, list[str]], number: int | None
) -> dict[JudgmentAddress, bytes]:
    """The payload of the newest judgment of each address. number: only of this run."""
    table = schema.judgments.c
    payloads: dict[JudgmentAddress, bytes] = {}
    for judge, keys in keys_by_judge.items():
        for start in range(0, len(keys), IN_LIST):
            query = (
                select(table.key, table.payload)
                .where(table.judge == judge, table.key.in_(keys[start : start + IN_LIST]))
                .where(table.status.in_(REUSABLE))
                .order_by(table.id)
            )
            if number is not None:
                query = query.where(table.run == number)
            # Newer ones come later, and take the place of older ones.
            for key, payload in connection.execute(query):
                payloads[judge, key] = payload
    return payloads


def _has_judged(connection: Connection, judge: str) -> bool:
    table = schema.judgments.c
    query = select(table.id).where(table.judge == judge).limit(1)
    return connection.execute(query).first() is not None


def _add_shares(page: Sequence[Any], total: dict[str, Any]) -> None:
    """Add what each judgment cost, out of its plain values: a resume reads all judgments of its
    run.
    """
    for judge, key, payload, *_ in page:
        shares = codec.load(codec.unseal(payload, judge, key)).get("spend", {})
        for name, amount in shares.items():
            share = Decimal(repr(amount)) if name == "cost" else amount
            total[name] = total.get(name, 0) + share
