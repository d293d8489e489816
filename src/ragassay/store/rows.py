"""Results of rows: each a body with sample, scores and parts, and a line without its texts.

A row that is done stays as it is; one that is not is replaced. A scan of a run's lines reads no
contexts, so that a million rows can be aggregated.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.sql import Select

from ragassay.core import RowResult, RunState, Sample, Status, Verdict
from ragassay.store import codec, lines, paging, schema
from ragassay.store.access import IN_LIST, Access, now_utc
from ragassay.store.indices import IndexSet
from ragassay.store.lines import RowLine, ScoreLine
from ragassay.store.locks import RunLocks
from ragassay.store.paging import portions
from ragassay.store.runs import RunRecords

T = TypeVar("T")

ROW = ("run", "idx", "row_id", "done", "bad", "verdict", "cause", "worst", "size", "line")
BODY = ("run", "idx", "payload")
"""The columns of a row and of its body, in the order in which they are inserted."""

INDICES_A_PAGE = 50_000
MOST_IDS = 20_000
"""Ids of a run that a mistyped one is compared with."""


class RowRecords:
    """The rows of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords, locks: RunLocks) -> None:
        self._access = access
        self._runs = runs
        self._locks = locks

    # -- written

    def put(self, run_id: str, results: Sequence[RowResult]) -> None:
        """Write rows, all in one commit. Raises ValueError for NaN and infinities; nothing of the
        batch is written then.
        """
        number = self._runs.number(run_id)
        self._locks.check_not_lost(run_id, number)
        rows = _one_row_an_index(results)
        if not rows:
            return
        # Encoded before the transaction, which keeps all other writers waiting.
        encoded = {row.index: _as_stored(row, run_id, number) for row in rows}
        insert = self._access.database.insert

        def work(connection: Connection) -> None:
            touch_run(connection, number, updated=now_utc())
            final = delete_unfinished(connection, number, list(encoded))
            fresh = [values for index, values in encoded.items() if index not in final]
            if fresh:
                insert(connection, schema.rows, ROW, [row for row, _ in fresh])
                insert(connection, schema.bodies, BODY, [body for _, body in fresh])

        self._access.write(work)

    def reopen_failed(self, run_id: str) -> int:
        """Mark as not done the rows in which a judgment was lost or the application failed, and say
        how many.
        """
        failed = {line.index for line in self.score_lines(run_id) if _lost_a_judgment(line)}
        for row in self.read(run_id):
            if row.sample is not None and row.sample.error is not None:
                failed.add(row.index)
            if row.index in failed and row.done:
                self._reopen(run_id, row)
        return len(failed)

    def _reopen(self, run_id: str, row: RowResult) -> None:
        # The mark first: `put` replaces only rows that are not done. Killed in between, the row is
        # judged again, which is what was asked for.
        rows = schema.rows
        self._access.execute(
            update(rows)
            .where(rows.c.run == self._runs.number(run_id), rows.c.idx == row.index)
            .values(done=False)
        )
        self.put(run_id, [replace(row, done=False)])

    # -- read, with their bodies

    def done(self, run_id: str, within: range | None) -> IndexSet:
        """The indices of the rows that a resume need not do again."""
        rows = schema.rows.c
        query = select(rows.idx).where(rows.run == self._runs.number(run_id), rows.done)
        query = _restricted(query, within).order_by(rows.idx)
        pages = self._access.pages(query, (rows.idx,), INDICES_A_PAGE)
        return IndexSet(row[0] for row in chain.from_iterable(pages))

    def read(
        self,
        run_id: str,
        *,
        order: Literal["index", "worst"] = "index",
        limit: int | None = None,
        offset: int = 0,
        verdict: Verdict | None = None,
        cause: str | None = None,
    ) -> Iterator[RowResult]:
        """Stored rows in the order of their source or the worst first."""
        number, rows = self._runs.number(run_id), schema.rows.c
        query = select(rows.size, rows.idx).where(rows.run == number)
        if verdict is not None:
            query = query.where(rows.verdict == verdict.value)
        if cause is not None:
            query = query.where(rows.cause == codec.as_key(cause))
        keys = (rows.worst, rows.idx) if order == "worst" else (rows.idx,)
        pages = self._access.pages(
            query.order_by(*keys), keys, paging.ROWS_A_PAGE, limit=limit, offset=offset
        )
        # A damaged index may lead to other rows, or to one twice: their own places must rise.
        count, last = 0, (float("-inf"), -1)
        for page in pages:
            for row in self._bodies(run_id, number, [(entry[1], entry[0]) for entry in page]):
                place = (lines.worst_key(row) if order == "worst" else 0.0, row.index)
                if place <= last:
                    raise self._wrong_row()
                count, last = count + 1, place
                yield row
        every_row = verdict is None and cause is None and limit is None and not offset
        if every_row:
            self._check_whole(run_id, count)

    def some(self, run_id: str, most: int) -> Iterator[RowResult]:
        """At most so many stored rows, spread evenly over the run, in order."""
        number, rows = self._runs.number(run_id), schema.rows.c
        total = self._access.scalar(select(func.count()).where(rows.run == number)) or 0
        step = max(1, -(-total // max(1, most)))
        place = (func.row_number().over(order_by=rows.idx) - 1).label("place")
        every = select(rows.idx, rows.size, place).where(rows.run == number).subquery()
        query = (
            select(every.c.idx, every.c.size).where(every.c.place % step == 0).order_by(every.c.idx)
        )
        sizes = [(row.idx, row.size) for row in self._access.all(query)]
        yield from self._bodies(run_id, number, sizes)

    def get(self, run_id: str, row_id: str) -> RowResult | None:
        """The row of this id, None when the run has none."""
        rows, key = schema.rows.c, codec.as_key(row_id)
        query = (
            _bodies_of_rows()
            .where(rows.run == self._runs.number(run_id), rows.row_id == key)
            .where(*self._access.database.hashed(rows.row_id, key))
        )
        bodies = self._access.all(query.order_by(rows.idx).limit(1))
        if not bodies:
            return None
        row = self._row(run_id, bodies[0].idx, bodies[0].payload)
        if row.id != row_id:
            raise self._wrong_row()
        return row

    def at(self, run_id: str, index: int) -> RowResult | None:
        """The row of this index, None when the run has none."""
        bodies = schema.bodies.c
        query = select(bodies.payload).where(
            bodies.run == self._runs.number(run_id), bodies.idx == index
        )
        payload = self._access.scalar(query)
        return None if payload is None else self._row(run_id, index, payload)

    def at_each(self, run_id: str, indices: Sequence[int], largest: int) -> dict[int, RowResult]:
        """The rows of these indices, without those whose body has more bytes than `largest`."""
        number, rows = self._runs.number(run_id), schema.rows.c
        query = select(rows.idx, rows.size).where(rows.run == number, rows.size <= largest)
        sizes: list[tuple[int, int]] = []
        for start in range(0, len(indices), IN_LIST):
            batch = list(indices[start : start + IN_LIST])
            stored = self._access.all(query.where(rows.idx.in_(batch)))
            sizes += [(row.idx, row.size) for row in stored]
        return {row.index: row for row in self._bodies(run_id, number, sizes)}

    def answered(self, run_id: str, within: range | None) -> dict[int, Sample]:
        """The samples, by index, of rows that are answered by the application and not done."""
        rows = schema.rows.c
        query = _bodies_of_rows().where(rows.run == self._runs.number(run_id), ~rows.done)
        samples: dict[int, Sample] = {}
        for index, payload in self._access.all(_restricted(query, within)):
            row = self._row(run_id, index, payload)
            if row.sample is not None and row.sample.response is not None:
                samples[row.index] = row.sample
        return samples

    def ids_like(self, run_id: str, text: str) -> list[str]:
        """Up to 10 ids of the run that a mistyped `text` may have meant, best first."""
        rows = schema.rows.c
        every = (
            select(rows.row_id).where(rows.run == self._runs.number(run_id)).order_by(rows.row_id)
        )
        contains = rows.row_id.icontains(codec.as_key(text), autoescape=True)
        ids = [
            codec.from_key(row.row_id) for row in self._access.all(every.where(contains).limit(10))
        ]
        if len(ids) >= 10:
            return ids
        ids_of_run = [codec.from_key(row.row_id) for row in self._access.all(every.limit(MOST_IDS))]
        ids += difflib.get_close_matches(text[:200], ids_of_run, n=10, cutoff=0.6)
        return list(dict.fromkeys(ids))[:10]

    # -- read, without their texts

    def row_lines(self, run_id: str) -> Iterator[RowLine]:
        """One line a stored row, by index."""
        return self._lines(run_id, lines.row_line)

    def score_lines(self, run_id: str, metric: str | None = None) -> Iterator[ScoreLine]:
        """One line a score, by row index and then in the row's own order."""
        return chain.from_iterable(
            self._lines(run_id, lambda data: lines.score_lines(data, metric))
        )

    def row_and_score_lines(self, run_id: str) -> Iterator[tuple[RowLine, list[ScoreLine]]]:
        """Each stored row's line with those of its scores, by index."""
        return self._lines(run_id, lines.row_and_scores)

    def lines_at(
        self, run_id: str, indices: Sequence[int]
    ) -> dict[int, tuple[RowLine, list[ScoreLine]]]:
        """The lines of these rows, by index."""
        rows = schema.rows.c
        query = select(rows.idx, rows.line).where(rows.run == self._runs.number(run_id))
        unseal = codec.unsealer(run_id, "line")
        found = {}
        for start in range(0, len(indices), IN_LIST):
            batch = list(indices[start : start + IN_LIST])
            for index, blob in self._access.all(query.where(rows.idx.in_(batch))):
                found[index] = self._access.checked(
                    lambda data, place: lines.row_and_scores(unseal(data, place)), blob, index
                )
        return found

    def _lines(self, run_id: str, read: Callable[[bytes], T]) -> Iterator[T]:
        rows = schema.rows.c
        number = self._runs.number(run_id)
        query = select(rows.line, rows.idx).where(rows.run == number).order_by(rows.idx)
        unseal = codec.unsealer(run_id, "line")
        count = 0
        for page in self._access.pages(query, (rows.idx,), paging.LINES_A_PAGE):
            for blob, index, *_ in page:
                count += 1
                try:  # not `Access.checked`: this is done for every row of a run
                    line = read(unseal(blob, index))
                except (ValueError, TypeError, KeyError) as error:
                    raise codec.damaged(str(error), self._access.location) from error
                yield line
        self._check_whole(run_id, count)

    # -- helpers

    def _bodies(
        self, run_id: str, number: int, sizes: Sequence[tuple[int, int]]
    ) -> Iterator[RowResult]:
        """The rows of these (index, bytes), in this order, read in portions that fit the memory."""
        bodies = schema.bodies.c
        query = select(bodies.idx, bodies.payload).where(bodies.run == number)
        for indices in portions(sizes):
            for start in range(0, len(indices), IN_LIST):
                batch = indices[start : start + IN_LIST]
                stored = self._access.all(query.where(bodies.idx.in_(batch)))
                payloads: dict[int, bytes] = {row.idx: row.payload for row in stored}
                # In the order asked for, which is the worst first; an absent body fails its seal.
                for index in batch:
                    yield self._row(run_id, index, payloads.pop(index, b""))

    def _row(self, run_id: str, index: int, payload: bytes) -> RowResult:
        return self._access.value(RowResult, payload, run_id, "body", index)

    def _check_whole(self, run_id: str, count: int) -> None:
        """Refuse to go on as if nothing were missing when a finished run has not all of its rows
        any more.
        """
        stored = self._runs.get(run_id)
        total = stored.manifest.rows
        if stored.state is RunState.FINISHED and not count == stored.rows == total:
            raise codec.damaged(
                f"{count} of the {total} rows of a finished run are found", self._access.location
            )

    def _wrong_row(self) -> Exception:
        return codec.damaged("an index leads to another row than it says", self._access.location)


def _bodies_of_rows() -> Select[Any]:
    rows, bodies = schema.rows.c, schema.bodies.c
    same_row = (bodies.run == rows.run) & (bodies.idx == rows.idx)
    return select(bodies.idx, bodies.payload).join_from(schema.rows, schema.bodies, same_row)


def _restricted(query: Select[Any], within: range | None) -> Select[Any]:
    """Only the rows whose index is in the range."""
    if within is None:
        return query
    rows = schema.rows.c
    return query.where(rows.idx >= within.start, rows.idx < within.stop)


def _lost_a_judgment(line: ScoreLine) -> bool:
    counts = line.counts
    return bool(counts.failed or counts.unparsed or counts.refused) or line.status is Status.FAILED


def _one_row_an_index(results: Sequence[RowResult]) -> list[RowResult]:
    """The rows to be written, one an index: the first that is done, else the last."""
    by_index: dict[int, RowResult] = {}
    for result in results:
        if result.index not in by_index or not by_index[result.index].done:
            by_index[result.index] = result
    return list(by_index.values())


def touch_run(connection: Connection, number: int, *, updated: object) -> None:
    """Lock a run's record, first of all, so that two who write rows of one run take turns and none
    sees half of the other's.
    """
    runs = schema.runs
    connection.execute(update(runs).where(runs.c.id == number).values(updated=updated))


def delete_unfinished(connection: Connection, number: int, indices: Sequence[int]) -> set[int]:
    """Delete the rows among these that are not done, to be replaced, and return the indices of
    those that are done and stay.
    """
    rows, final = schema.rows, set[int]()
    # This condition excludes no row; but without it SQLite reads all of the run's part of the index
    # (run, done, idx), each time.
    either = rows.c.done.in_((False, True))
    for start in range(0, len(indices), IN_LIST):
        batch = indices[start : start + IN_LIST]
        query = select(rows.c.idx, rows.c.done).where(
            rows.c.run == number, either, rows.c.idx.in_(batch)
        )
        stored = connection.execute(query).all()
        final.update(index for index, done in stored if done)
        replaced = [index for index, done in stored if not done]
        if replaced:
            _delete(connection, number, replaced)
    return final


def _delete(connection: Connection, number: int, indices: Sequence[int]) -> None:
    for table in (schema.rows, schema.bodies):
        connection.execute(delete(table).where(table.c.run == number, table.c.idx.in_(indices)))


def _as_stored(row: RowResult, run_id: str, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The values of the row's columns, ROW, and of its body's, BODY."""
    body = codec.seal(codec.encode(row), run_id, "body", row.index)
    line = codec.seal(lines.pack(row), run_id, "line", row.index)
    values = {
        "run": number,
        "idx": row.index,
        "row_id": codec.as_key(row.id),
        **columns_of(row),
        "size": len(body),
        "line": line,
    }
    return tuple(values[name] for name in ROW), (number, row.index, body)


def columns_of(row: RowResult) -> Mapping[str, object]:
    """What a row can be chosen and ordered by."""
    verdict, cause = row.diagnosis.verdict, row.diagnosis.cause
    return {
        "done": row.done,
        "bad": row.bad is not None,
        "verdict": None if verdict is None else verdict.value,
        "cause": "" if cause is None else codec.as_key(cause.name),
        "worst": lines.worst_key(row),
    }
