"""Labels that people gave to rows: one a person, a row and a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, insert, select

from ragassay.core import DataError, HumanLabel, shorten
from ragassay.store import codec, schema
from ragassay.store.access import Access, now_utc
from ragassay.store.runs import RunRecords


class LabelRecords:
    """The labels of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords) -> None:
        self._access = access
        self._runs = runs

    def put(
        self, run_id: str, labels: Sequence[HumanLabel], *, source_hash: str, replace: bool
    ) -> int:
        """Keep labels, all in one commit; returns how many are new or changed."""
        if run_id:
            self._runs.number(run_id)

        def work(connection: Connection) -> int:
            self._access.database.alone(connection, "labels")
            changes = 0
            for label in labels:
                place = _place(run_id, source_hash, label)
                changes += _put_one(self._access, connection, label, place, replace)
            return changes

        return self._access.write(work)

    def stamp(self) -> tuple[object, ...]:
        """What changes with every label and answer, and with every row that is chosen to label, of
        any run.
        """
        labels, answers, queue = schema.labels.c, schema.label_answers.c, schema.label_queue.c
        # The last label may be replaced by one that gets its number; labels are taken back by an
        # answer alone.
        last = self._access.all(
            select(labels.id, labels.payload).order_by(labels.id.desc()).limit(1)
        )
        return (
            *((row.id, bytes(row.payload)) for row in last),
            self._access.scalar(select(func.max(answers.id))),
            self._access.scalar(select(func.max(queue.id))),
        )

    def of_run(
        self,
        run_id: str,
        name: str | None,
        *,
        source_hash: str | None = None,
        row_id: str | None = None,
    ) -> tuple[HumanLabel, ...]:
        """The labels of a run's rows, or of one row, in the order in which they were stored."""
        table = schema.labels.c
        query = select(schema.labels).where(table.run == codec.as_key(run_id)).order_by(table.id)
        if name is not None:
            query = query.where(table.name == codec.as_key(name))
        if source_hash is not None:
            query = query.where(table.source_hash == codec.as_key(source_hash))
        if row_id is not None:
            query = query.where(table.row_id == codec.as_key(row_id))
        return tuple(
            self._access.value(
                HumanLabel,
                row.payload,
                row.run,
                row.source_hash,
                row.row_id,
                row.name,
                row.annotator,
            )
            for row in self._access.all(query)
        )


def write_label(access: Access, connection: Connection, run_id: str, label: HumanLabel) -> None:
    """Write a label of a run's row in a transaction that is open, in place of one of the same
    person.
    """
    _put_one(access, connection, label, _place(run_id, "", label), True)


def _put_one(
    access: Access,
    connection: Connection,
    label: HumanLabel,
    place: dict[str, str],
    replace: bool,
) -> bool:
    """Write a label; False where the same is there already."""
    table = schema.labels
    same_place = [table.c[name] == value for name, value in place.items()]
    same_place += access.database.hashed(table.c.row_id, place["row_id"])
    row = connection.execute(select(table).where(*same_place)).first()
    is_new = True
    if row is not None:
        stored = access.value(HumanLabel, row.payload, *place.values())
        if stored.value != label.value and not replace:
            raise _two_labels(label, stored.value)
        is_new = replace and (stored.value, stored.rationale) != (label.value, label.rationale)
        if not is_new:
            scale = label.scale if replace else stored.scale or label.scale
            label = dataclasses.replace(_with_draw(stored, label), scale=scale or stored.scale)
            if label == stored:
                return False
        connection.execute(delete(table).where(*same_place))
    connection.execute(
        insert(table).values(
            **place,
            value=label.value,
            created=codec.as_key(label.created or now_utc()),
            payload=codec.seal(codec.encode(label), *place.values()),
        )
    )
    return is_new


def _with_draw(stored: HumanLabel, label: HumanLabel) -> HumanLabel:
    """The stored label, with what the new one says of how the row was drawn and it does not."""
    if label.inclusion_probability is None:
        return stored
    is_same_draw = (stored.inclusion_probability, stored.round) == (
        label.inclusion_probability,
        label.round,
    )
    if stored.inclusion_probability is not None and not (is_same_draw and not stored.pool):
        return stored
    return dataclasses.replace(
        stored,
        stream=label.stream,
        inclusion_probability=label.inclusion_probability,
        round=label.round,
        pool=label.pool,
        drawn=label.drawn,
    )


def _place(run_id: str, source_hash: str, label: HumanLabel) -> dict[str, str]:
    """What there is one label of, as the columns hold it."""
    place = {
        "run": run_id,
        "source_hash": source_hash,
        "row_id": label.row_id,
        "name": label.name,
        "annotator": label.annotator,
    }
    return {name: codec.as_key(value) for name, value in place.items()}


def _two_labels(label: HumanLabel, stored: float) -> DataError:
    who = f"{shorten(label.annotator, 40)} has" if label.annotator else "there is"
    return DataError(
        "E0314",
        "One row has two labels that differ.",
        where=f"row {shorten(label.row_id, 60)!r}",
        why=f"{who} {shorten(label.name, 40)} = {stored:g} already, and now {label.value:g}",
        fix="keep one of them; --replace takes the new one",
    )
