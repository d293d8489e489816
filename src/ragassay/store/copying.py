"""Copies of runs from one store into another: page by page, checked while they are read, whole or
not to be seen.

A run is written under a state that no reader knows, and becomes visible in one last step. A copy
that was killed leaves at most one such run, which the next copy begins anew; runs that are there
whole are compared and left alone. The payloads are sealed for their run and row, not for their
store: they are copied as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import delete, select, update

from ragassay.core import DataError, SetupError
from ragassay.core.counting import count
from ragassay.store import codec, paging, schema
from ragassay.store.access import IN_LIST
from ragassay.store.batches import BATCH
from ragassay.store.exchanges import EXCHANGE
from ragassay.store.judgments import JUDGMENT
from ragassay.store.paging import portions
from ragassay.store.rows import BODY, ROW
from ragassay.store.runs import COPYING
from ragassay.store.store import Store

Tell = Callable[[str], None]

_STATE_COLUMNS = ("name", "state", "stop_reason", "seconds", "updated", "manifest", "ledger")
_ROWS_A_DELETION = 5000
"""Rows of an unfinished copy that are deleted in one transaction."""


@dataclass
class Copied:
    """What a copy wrote. known: runs that were there already, with the same content."""

    runs: int = 0
    known: int = 0
    rows: int = 0
    judgments: int = 0
    batches: int = 0
    labels: int = 0
    certificates: int = 0


def copy_store(source: Store, target: Store, tell: Tell | None = None) -> Copied:
    """Copy all runs, labels and certificates; what is there already stays.

    Raises EnvironmentFailure E0504 while somebody works on one of the source's runs or copies it
    too, E0503 where a payload is damaged; DataError E0508 where the target has a run of the same id
    with other content.
    """
    if source.location == target.location:
        raise SetupError(
            "E0101",
            "A store cannot be copied into itself.",
            where=source.location,
            fix="name two different stores",
        )
    copied = Copied()
    runs = schema.runs.c
    query = select(runs.run_id, runs.id).where(runs.state != COPYING).order_by(runs.id)
    all_runs = [(codec.from_key(row.run_id), int(row.id)) for row in source.access.all(query)]
    acquired: list[str] = []
    try:
        # All first: nothing is copied while anything is still being written.
        for run_id, number in all_runs:
            if source.database.read_only:
                source.access.read(partial(source.locks.refuse_owned, run_id=run_id, number=number))
                continue
            source.acquire(run_id)
            acquired.append(run_id)
        for run_id, number in all_runs:
            before = (copied.rows, copied.judgments)
            is_new = _copy_run(source, target, run_id, number, copied)
            copied.labels += _copy_labels(source, target, run_id)
            if tell is not None:
                rows = count(copied.rows - before[0], "row")
                judgments = count(copied.judgments - before[1], "judgment")
                done = f"{rows}, {judgments}" if is_new else "is there already"
                tell(f"{run_id}: {done}")
    finally:
        for run_id in acquired:
            source.release(run_id)
    labels = schema.labels.c
    for (source_hash,) in source.access.all(
        select(labels.source_hash).where(labels.run == "").distinct()
    ):
        name = codec.from_key(source_hash)
        copied.labels += target.put_labels(
            "", source.labels("", source_hash=name), source_hash=name
        )
    present = {certificate.id for certificate in target.certificates()}
    for certificate in reversed(source.certificates()):
        if certificate.id not in present:
            target.put_certificate(certificate)
            copied.certificates += 1
    known = {model.key for model in target.known_models()}
    for model in source.known_models():
        if model.key not in known:
            target.put_known_model(model)
    return copied


def _copy_labels(source: Store, target: Store, run_id: str) -> int:
    """Copy a run's labels, the rows that are to be labelled, and every answer; how many labels."""
    labels = target.put_labels(run_id, source.labels(run_id))
    for name in source.names_to_label(run_id):
        target.add_to_label(run_id, name, source.to_label(run_id, name))
        target.add_answers(run_id, name, source.label_answers(run_id, name))
    return labels


def _copy_run(source: Store, target: Store, run_id: str, number: int, copied: Copied) -> bool:
    """Copy one run, and count what is copied; False where the target has it already."""
    runs = schema.runs.c
    (record,) = source.access.all(
        select(*(runs[name] for name in _STATE_COLUMNS)).where(runs.id == number)
    )
    copies = target.access.all(
        select(runs.id, runs.state).where(runs.run_id == codec.as_key(run_id))
    )
    if copies and copies[0].state != COPYING:
        if _content(source, run_id, number) != _content(target, run_id, copies[0].id):
            raise DataError(
                "E0508",
                "The other store has a run of this id with other content.",
                where=f"run {run_id} in {target.location}",
                why="it was resumed or labelled there or here after it was copied",
                fix="keep the store in which it went on; to have both, copy into a new store",
            )
        copied.known += 1
        return False
    if not copies:
        target.run_records.create_sealed(
            run_id, codec.from_key(record.name), record.manifest, state=COPYING
        )
        copies = target.access.all(select(runs.id).where(runs.run_id == codec.as_key(run_id)))
    new = int(copies[0].id)
    target.locks.acquire(run_id, new)
    try:
        _forget(target, new)
        for rows in _rows(source, run_id, number):
            _insert(target, schema.rows, ROW, [_columns(row, new) for row in rows])
            bodies = [(new, row.idx, row.payload) for row in rows]
            _insert(target, schema.bodies, BODY, bodies)
            copied.rows += len(rows)
        for judgments in _judgments(source, number):
            _insert(target, schema.judgments, JUDGMENT, [(new, *j[:4]) for j in judgments])
            copied.judgments += len(judgments)
        for exchanges in source.exchange_records.pages(run_id, number):
            _insert(target, schema.exchanges, EXCHANGE, [(new, *each) for each in exchanges])
        batches = _batches(source, run_id, number)
        if batches:
            _insert(target, schema.batches, BATCH, [(new, *batch) for batch in batches])
            copied.batches += len(batches)
        # Last of all: with its own state the run becomes visible.
        change = update(schema.runs).where(runs.id == new).values(**record._mapping)
        target.access.execute(change)
    finally:
        target.locks.release(new)
    copied.runs += 1
    return True


def _columns(row: Any, number: int) -> tuple[Any, ...]:
    """The values of a row's columns under the run's number in the target."""
    return (number, *[getattr(row, name) for name in ROW[1:]])


def _insert(store: Store, table: Any, names: Sequence[str], values: list[tuple[Any, ...]]) -> None:
    store.access.write(lambda connection: store.database.insert(connection, table, names, values))


def _forget(store: Store, number: int) -> None:
    """Delete what an unfinished copy left, in pieces that are no burden."""
    for table, key in (
        (schema.rows, schema.rows.c.idx),
        (schema.bodies, schema.bodies.c.idx),
        (schema.judgments, schema.judgments.c.id),
        (schema.exchanges, schema.exchanges.c.id),
        (schema.batches, schema.batches.c.id),
    ):
        while True:
            keys = select(key).where(table.c.run == number).order_by(key).limit(_ROWS_A_DELETION)
            page = [row[0] for row in store.access.all(keys)]
            if not page:
                break
            # A range, not a list: no database has to look up thousands of keys one by one.
            store.access.execute(
                delete(table).where(table.c.run == number, key.between(page[0], page[-1]))
            )


def _rows(store: Store, run_id: str, number: int) -> Iterator[list[Any]]:
    """The rows of a run with their bodies, at most BYTES_A_PAGE of them at once, each checked
    against its seal.
    """
    rows, bodies = schema.rows.c, schema.bodies.c
    sizes = select(rows.size, rows.idx).where(rows.run == number).order_by(rows.idx)
    whole = select(*(rows[name] for name in ROW[1:]), bodies.payload).join_from(
        schema.rows, schema.bodies, (bodies.run == rows.run) & (bodies.idx == rows.idx)
    )
    for page in store.access.pages(sizes, (rows.idx,), IN_LIST):
        for indices in portions([(row[1], row[0]) for row in page]):
            query = whole.where(rows.run == number, rows.idx.in_(indices)).order_by(rows.idx)
            portion = list(store.access.all(query))
            if len(portion) != len(indices):
                store.access.checked(_missing, run_id)
            for row in portion:
                store.access.checked(codec.unseal, row.payload, run_id, "body", row.idx)
                store.access.checked(codec.unseal, row.line, run_id, "line", row.idx)
            yield portion


def _missing(run_id: str) -> None:
    raise codec.Damaged(f"bodies of rows of run {run_id} are missing")


def _judgments(store: Store, number: int) -> Iterator[Sequence[Any]]:
    """The judgments of a run in the order in which they were made, checked against their seals."""
    table = schema.judgments.c
    query = (
        select(table.judge, table.key, table.status, table.payload)
        .where(table.run == number)
        .order_by(table.id)
    )
    for page in store.access.pages(query, (table.id,), paging.LINES_A_PAGE):
        for judge, key, _, payload, *_ in page:
            store.access.checked(codec.unseal, payload, judge, key)
        yield page


def _batches(store: Store, run_id: str, number: int) -> list[tuple[Any, ...]]:
    table = schema.batches.c
    query = (
        select(*(table[name] for name in BATCH[1:])).where(table.run == number).order_by(table.id)
    )
    batches = [tuple(row) for row in store.access.all(query)]
    for batch, *_, payload in batches:
        store.access.checked(codec.unseal, payload, run_id, "batch", codec.from_key(batch))
    return batches


def _content(store: Store, run_id: str, number: int) -> str:
    """A hash of everything that belongs to a run but its labels, which are compared one by one."""
    runs, total = schema.runs.c, hashlib.sha256()

    def add(*parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            total.update(len(data).to_bytes(8, "big") + data)

    (record,) = store.access.all(
        select(runs.state, runs.manifest, runs.ledger).where(runs.id == number)
    )
    add(*record)
    for rows in _rows(store, run_id, number):
        for row in rows:
            add(row.idx, row.line, row.payload)
    for judgments in _judgments(store, number):
        for judge, key, status, payload, *_ in judgments:
            add(judge, key, status, payload)
    for exchanges in store.exchange_records.pages(run_id, number):
        for index, key, payload in exchanges:
            add(index, key, payload)
    for batch, state, _, _, payload in _batches(store, run_id, number):
        add(batch, state, payload)
    return total.hexdigest()
