"""Rows that are handed out to people to label: who has which, and every answer that was given.

A row is held by one person at a time, until a time that the database's clock decides; it is handed
out as long as fewer people than wanted have answered, and to one more where those who did are tied.
An answer with a value is a label like an imported one from the moment it is stored; answers are
never changed, a later one of the same person takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from ragassay.core import HumanLabel, LabelAnswer, RowToLabel
from ragassay.store import codec, schema
from ragassay.store.access import Access, now_utc
from ragassay.store.labels import write_label
from ragassay.store.runs import RunRecords

HELD_S = 15 * 60.0
"""How long a row stays with whoever was given it; it is given on when that is over."""


class LabelQueueRecords:
    """The rows to label of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords) -> None:
        self._access = access
        self._runs = runs

    def add(self, run_id: str, name: str, rows: Sequence[RowToLabel]) -> int:
        """Put rows behind those that are in the queue; rows that it has already are left out.
        Returns how many were added.
        """
        self._runs.number(run_id)
        table = schema.label_queue
        keys = (codec.as_key(run_id), codec.as_key(name))

        def work(connection: Connection) -> int:
            self._access.database.alone(connection, "labels")
            stored = connection.execute(
                select(table.c.row_id, table.c.place).where(
                    table.c.run == keys[0], table.c.name == keys[1]
                )
            ).all()
            present = {row.row_id for row in stored}
            place = max((row.place for row in stored), default=-1) + 1
            added = 0
            for row in rows:
                row_key = codec.as_key(row.row_id)
                if row_key in present:
                    continue
                values = {
                    "run": keys[0],
                    "name": keys[1],
                    "place": place + added,
                    "row_id": row_key,
                    "wanted": row.wanted,
                    "holder": "",
                    "until": 0.0,
                    "payload": codec.seal(codec.encode(row), *keys, row_key),
                }
                connection.execute(insert(table).values(values))
                present.add(row_key)
                added += 1
            return added

        return self._access.write(work)

    def rows(self, run_id: str, name: str) -> tuple[RowToLabel, ...]:
        """The rows of the queue, in order."""
        if self._access.lacks(schema.label_queue):
            return ()
        return tuple(self._row(entry) for entry in self._access.all(_queue(run_id, name)))

    def count(self, run_id: str, name: str) -> int:
        """How many rows the queue has."""
        if self._access.lacks(schema.label_queue):
            return 0
        query = select(func.count()).select_from(schema.label_queue)
        return int(self._access.scalar(query.where(*_of(schema.label_queue, run_id, name))) or 0)

    def row(self, run_id: str, name: str, row_id: str) -> RowToLabel | None:
        """One row of the queue, None where it is not among them."""
        if self._access.lacks(schema.label_queue):
            return None
        query = _queue(run_id, name).where(schema.label_queue.c.row_id == codec.as_key(row_id))
        return next((self._row(entry) for entry in self._access.all(query)), None)

    def names(self, run_id: str) -> tuple[str, ...]:
        """What rows of the run are to be labelled for."""
        if self._access.lacks(schema.label_queue):
            return ()
        table = schema.label_queue.c
        query = select(table.name).where(table.run == codec.as_key(run_id)).distinct()
        return tuple(codec.from_key(row.name) for row in self._access.all(query))

    def reserve(self, run_id: str, name: str, annotator: str) -> RowToLabel | None:
        """The next row for a person, theirs for `HELD_S` seconds; the one that they hold already,
        where there is one. None where there is none for them now.
        """
        table, person = schema.label_queue, codec.as_key(annotator)

        def work(connection: Connection) -> RowToLabel | None:
            self._access.database.alone(connection, "labels")
            now = self._access.database.now(connection)
            number = self._next(connection, run_id, name, person, now)
            if number is None:
                return None
            change = update(table).where(table.c.id == number)
            connection.execute(change.values(holder=person, until=now + HELD_S))
            return self._row(connection.execute(select(table).where(table.c.id == number)).one())

        return self._access.write(work)

    def has_next(self, run_id: str, name: str, annotator: str) -> bool:
        """Whether there is a row for a person now; none is reserved."""
        if self._access.lacks(schema.label_queue):
            return False
        person = codec.as_key(annotator)

        def work(connection: Connection) -> bool:
            now = self._access.database.now(connection)
            return self._next(connection, run_id, name, person, now) is not None

        return self._access.read(work)

    def answer(self, run_id: str, name: str, answer: LabelAnswer, chosen: RowToLabel) -> None:
        """Keep an answer, and with it the label of that person, all in one commit; the row is given
        back. A repeat is kept as an answer alone.
        """
        answers, queue = schema.label_answers, schema.label_queue
        run, what = codec.as_key(run_id), codec.as_key(name)
        row, person = codec.as_key(answer.row_id), codec.as_key(answer.annotator)
        created = answer.created or now_utc()
        sealed = codec.seal(codec.encode(answer), run, what, row, person)

        def work(connection: Connection) -> None:
            self._access.database.alone(connection, "labels")
            connection.execute(
                insert(answers).values(
                    run=run, name=what, row_id=row, annotator=person, payload=sealed
                )
            )
            connection.execute(
                update(queue)
                .where(queue.c.run == run, queue.c.name == what, queue.c.row_id == row)
                .where(queue.c.holder == person)
                .values(holder="", until=0.0)
            )
            if answer.repeat:
                return
            if answer.value is None:
                labels = schema.labels
                connection.execute(
                    delete(labels).where(
                        labels.c.run == run,
                        labels.c.name == what,
                        labels.c.row_id == row,
                        labels.c.annotator == person,
                    )
                )
                return
            label = HumanLabel(
                answer.row_id,
                name,
                answer.annotator,
                answer.value,
                answer.rationale,
                chosen.stream,
                chosen.inclusion_probability,
                chosen.round,
                created,
                chosen.pool,
                chosen.drawn,
                chosen.scale,
            )
            write_label(self._access, connection, run_id, label)

        self._access.write(work)

    def add_answers(self, run_id: str, name: str, answers: Sequence[LabelAnswer]) -> None:
        """Append the answers behind those that are there, where these are the first of them."""
        table = schema.label_answers
        run, what = codec.as_key(run_id), codec.as_key(name)

        def work(connection: Connection) -> None:
            self._access.database.alone(connection, "labels")
            stored = connection.execute(_answers(run_id, name)).all()
            present = [self._answer(row) for row in stored]
            if present != list(answers[: len(present)]):
                return  # other people went on labelling there
            for answer in answers[len(present) :]:
                row, person = codec.as_key(answer.row_id), codec.as_key(answer.annotator)
                sealed = codec.seal(codec.encode(answer), run, what, row, person)
                connection.execute(
                    insert(table).values(
                        run=run, name=what, row_id=row, annotator=person, payload=sealed
                    )
                )

        self._access.write(work)

    def answers(
        self, run_id: str, name: str, annotator: str | None = None, row_id: str | None = None
    ) -> tuple[LabelAnswer, ...]:
        """Every answer, or those of one person or about one row, in the order in which they were
        given.
        """
        if self._access.lacks(schema.label_answers):
            return ()
        query = _answers(run_id, name)
        if annotator is not None:
            query = query.where(schema.label_answers.c.annotator == codec.as_key(annotator))
        if row_id is not None:
            query = query.where(schema.label_answers.c.row_id == codec.as_key(row_id))
        return tuple(self._answer(row) for row in self._access.all(query))

    def _next(
        self, connection: Connection, run_id: str, name: str, person: str, now: float
    ) -> int | None:
        """The number of the entry that a person gets: theirs, else the first that nobody holds and
        that lacks an answer of theirs. Payloads are read only of rows that people may be tied on:
        a queue has thousands of rows, and this is asked for each one.
        """
        answers, queue = schema.label_answers.c, schema.label_queue.c
        given: dict[str, set[str]] = {}
        who = select(answers.row_id, answers.annotator)
        for row in connection.execute(who.where(*_of(schema.label_answers, run_id, name))):
            given.setdefault(row.row_id, set()).add(row.annotator)
        entries = (
            select(queue.id, queue.row_id, queue.wanted, queue.holder, queue.until)
            .where(*_of(schema.label_queue, run_id, name))
            .order_by(queue.place)
        )
        held = entries.where(queue.holder == person, queue.until > now)
        for entry in connection.execute(held):
            if person not in given.get(entry.row_id, ()):
                return int(entry.id)
        for entry in connection.execute(entries):
            people = given.get(entry.row_id, set())
            is_free = not entry.holder or entry.until <= now or entry.holder == person
            if not is_free or person in people:
                continue
            if len(people) < entry.wanted or (
                len(people) > 1 and self._are_tied(connection, run_id, name, entry.row_id)
            ):
                return int(entry.id)
        return None

    def _are_tied(self, connection: Connection, run_id: str, name: str, row_key: str) -> bool:
        """Whether those who could tell are tied about a row, by the last answer of each."""
        latest: dict[str, float | None] = {}
        of_row = _answers(run_id, name).where(schema.label_answers.c.row_id == row_key)
        for row in connection.execute(of_row):
            answer = self._answer(row)
            if not answer.repeat:
                latest[row.annotator] = answer.value
        return are_tied(latest.values())

    def _answer(self, row: Any) -> LabelAnswer:
        place = (row.run, row.name, row.row_id, row.annotator)
        return self._access.value(LabelAnswer, row.payload, *place)

    def _row(self, entry: Any) -> RowToLabel:
        sealed = self._access.value(RowToLabel, entry.payload, entry.run, entry.name, entry.row_id)
        return replace(sealed, place=entry.place, wanted=entry.wanted)


def _of(table: Table, run_id: str, name: str) -> tuple[Any, Any]:
    """That a record is of this run and metric."""
    return table.c.run == codec.as_key(run_id), table.c.name == codec.as_key(name)


def _queue(run_id: str, name: str) -> Any:
    table = schema.label_queue
    return select(table).where(*_of(table, run_id, name)).order_by(table.c.place)


def _answers(run_id: str, name: str) -> Any:
    table = schema.label_answers
    return select(table).where(*_of(table, run_id, name)).order_by(table.c.id)


def wants_more(wanted: int, values: Iterable[float | None]) -> bool:
    """Whether a row wants another person: fewer answered than wanted, or those who could tell are
    tied.
    """
    values = list(values)
    return len(values) < wanted or are_tied(values)


def are_tied(values: Iterable[float | None]) -> bool:
    """Whether the two most frequent answers of those who could tell are equally frequent."""
    counts = Counter(value for value in values if value is not None).most_common(2)
    return len(counts) == 2 and counts[0][1] == counts[1][1]
