"""The check of a whole store: every value against its check sum, its columns and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import func, select

from ragassay.core import (
    Batch,
    Certificate,
    EnvironmentFailure,
    HumanLabel,
    Judgment,
    KnownModel,
    LabelAnswer,
    RowResult,
    Score,
)
from ragassay.store import codec, lines, paging, schema
from ragassay.store.access import Access
from ragassay.store.exchanges import ExchangeRecords
from ragassay.store.lines import StoredRun
from ragassay.store.rows import columns_of
from ragassay.store.runs import RunRecords

MOST_PROBLEMS = 100
EVERY_RUN = 1 << 30


class SoundnessCheck:
    """Looks through one open store."""

    def __init__(self, access: Access, runs: RunRecords) -> None:
        self._access = access
        self._runs = runs

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the store, at most 100 lines; empty when it is sound."""
        return tuple(islice(self._until_it_cannot_be_read(), MOST_PROBLEMS))

    def _until_it_cannot_be_read(self) -> Iterator[str]:
        try:
            yield from self._access.read(self._access.database.integrity)
            yield from self._orphans()
            for stored in self._runs.newest_first(EVERY_RUN):
                yield from self._run(stored)
            yield from self._judgments()
            yield from self._batches()
            yield from self._certificates()
            yield from self._models()
            yield from self._labels()
            yield from self._answers()
        except (EnvironmentFailure, ValueError) as error:
            yield str(error)

    def _orphans(self) -> Iterator[str]:
        rows, bodies = schema.rows.c, schema.bodies.c
        same_row = (rows.run == bodies.run) & (rows.idx == bodies.idx)
        orphans = self._access.scalar(
            select(func.count())
            .select_from(schema.bodies)
            .join(schema.rows, same_row, isouter=True)
            .where(rows.run.is_(None))
        )
        if orphans:
            yield f"{orphans} row bodies belong to no row"

    def _run(self, stored: StoredRun) -> Iterator[str]:
        run_id, rows = stored.run_id, schema.rows.c
        if stored.rows > stored.manifest.rows:
            yield f"run {run_id}: {stored.rows} rows are stored of {stored.manifest.rows}"
        number = self._runs.number(run_id)
        query = (
            select(
                rows.row_id,
                rows.done,
                rows.bad,
                rows.verdict,
                rows.cause,
                rows.worst,
                rows.size,
                rows.line,
                rows.idx,
            )
            .where(rows.run == number)
            .order_by(rows.idx)
        )
        for page in self._access.pages(query, (rows.idx,), paging.LINES_A_PAGE):
            for entry in page:
                yield from self._row(run_id, number, entry)
        yield from ExchangeRecords(self._access, self._runs).problems(run_id, number)

    def _row(self, run_id: str, number: int, entry: Any) -> Iterator[str]:
        """A row against its body. entry: its columns."""
        where = f"run {run_id}, row {entry.idx}"
        bodies = schema.bodies.c
        body = self._access.scalar(
            select(bodies.payload).where(bodies.run == number, bodies.idx == entry.idx)
        )
        try:
            row = codec.decode(RowResult, codec.unseal(body or b"", run_id, "body", entry.idx))
            if lines.pack(row) != codec.unseal(entry.line, run_id, "line", entry.idx):
                yield f"{where}: its lines are not those of its scores"
            expected = {
                "row_id": codec.as_key(row.id),
                **columns_of(row),
                "size": len(body or b""),
            }
            wrong = [name for name, value in expected.items() if getattr(entry, name) != value]
            if wrong:
                yield f"{where}: the columns {', '.join(wrong)} do not fit its body"
            for score in row.scores:
                if not _adds_up(score):
                    yield f"{where}: the counts of {score.metric} do not add up"
        except ValueError as error:
            yield f"{where}: {error}"

    def _judgments(self) -> Iterator[str]:
        table = schema.judgments.c
        query = select(table.judge, table.key, table.status, table.payload, table.id)
        pages = self._access.pages(query.order_by(table.id), (table.id,), paging.LINES_A_PAGE)
        for page in pages:
            for judge, key, status, payload, number, *_ in page:
                try:
                    judgment = codec.decode(Judgment, codec.unseal(payload, judge, key))
                    codec.encode(judgment)
                    if judgment.status.value != status:
                        yield (
                            f"judgment {number}: its status is {judgment.status}, its column says"
                            f" {status}"
                        )
                except ValueError as error:
                    yield f"judgment {number}: {error}"

    def _batches(self) -> Iterator[str]:
        table, runs = schema.batches.c, schema.runs.c
        query = select(runs.run_id, table.batch, table.state, table.payload, table.id)
        query = query.where(table.run == runs.id).order_by(table.id)
        for page in self._access.pages(query, (table.id,), paging.LINES_A_PAGE):
            for run_id, key, state, payload, number, *_ in page:
                try:
                    identity = (codec.from_key(run_id), "batch", codec.from_key(key))
                    batch = codec.decode(Batch, codec.unseal(payload, *identity))
                    if codec.as_key(batch.state) != state:
                        yield f"batch {number}: its column says another state than its body"
                except ValueError as error:
                    yield f"batch {number}: {error}"

    def _certificates(self) -> Iterator[str]:
        for row in self._access.all(select(schema.certificates)):
            try:
                data = codec.unseal(row.payload, codec.from_key(row.id))
                certificate = codec.decode(Certificate, data)
                codec.encode(certificate)
                if codec.as_key(certificate.metric) != row.metric:
                    yield f"certificate {row.id}: its columns do not fit its body"
            except ValueError as error:
                yield f"certificate {row.id}: {error}"

    def _models(self) -> Iterator[str]:
        if self._access.lacks(schema.models):
            return
        for row in self._access.all(select(schema.models)):
            try:
                key = codec.from_key(row.key)
                codec.decode(KnownModel, codec.unseal(row.payload, "model", key))
            except ValueError as error:
                yield f"model {row.key}: {error}"

    def _labels(self) -> Iterator[str]:
        for row in self._access.all(select(schema.labels)):
            try:
                place = (row.run, row.source_hash, row.row_id, row.name, row.annotator)
                label = codec.decode(HumanLabel, codec.unseal(row.payload, *place))
                if label.value != row.value:
                    yield (
                        f"label {row.id}: its value is {label.value:g}, its column says"
                        f" {row.value:g}"
                    )
            except ValueError as error:
                yield f"label {row.id}: {error}"

    def _answers(self) -> Iterator[str]:
        if self._access.lacks(schema.label_answers):
            return
        for row in self._access.all(select(schema.label_answers)):
            try:
                place = (row.run, row.name, row.row_id, row.annotator)
                codec.decode(LabelAnswer, codec.unseal(row.payload, *place))
            except ValueError as error:
                yield f"answer {row.id}: {error}"


def _adds_up(score: Score) -> bool:
    counts = score.counts
    unjudged = (
        counts.abstained + counts.unparsed + counts.refused + counts.failed + counts.over_budget
    )
    return counts.asked == counts.judged + unjudged
