"""The store: the one door to a database of runs, rows and judgments.

What can be asked of a store stands here; each part of it (`runs`, `locks`, `judgments`, `rows` ...)
does its own in a module of its name.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from sqlalchemy import URL

from ragassay.core import (
    Batch,
    Certificate,
    Exchange,
    HumanLabel,
    Judgment,
    JudgmentAddress,
    KnownModel,
    LabelAnswer,
    Ledger,
    Manifest,
    RowResult,
    RowToLabel,
    RunState,
    Sample,
    SetupError,
    Spend,
    Verdict,
)
from ragassay.store.access import Access
from ragassay.store.batches import BatchRecords
from ragassay.store.certificates import CertificateRecords
from ragassay.store.claims import ClaimRecords
from ragassay.store.database import Database
from ragassay.store.exchanges import ExchangeRecords
from ragassay.store.indices import IndexSet
from ragassay.store.judgments import JudgmentRecords
from ragassay.store.known_models import KnownModelRecords
from ragassay.store.label_queue import LabelQueueRecords
from ragassay.store.labels import LabelRecords
from ragassay.store.lines import RowLine, ScoreLine, StoredRun
from ragassay.store.location import FOLDER, address_of
from ragassay.store.locks import RunLocks
from ragassay.store.rows import RowRecords
from ragassay.store.runs import RunRecords
from ragassay.store.sharing import Claimed, OtherRuns
from ragassay.store.soundness import SoundnessCheck
from ragassay.store.spans import SpanRecords
from ragassay.store.watches import WatchRecords


class Store:
    """A durable store: one SQLite file, or a PostgreSQL database. Made by `Store.open`;
    thread-safe; a context manager.

    What a method has written when it returns survives kill -9 and a power cut. Reading iterators
    fetch page by page: none keeps the database busy while its caller works, and each may be dropped
    half-way. While a database is locked, away or read-only a method waits, up to two minutes, and
    `waiting` says so. Every method raises EnvironmentFailure: E0501 (cannot be opened or written,
    locked, moved away), E0503 (damaged), E0506 (disk full); those that name a run raise SetupError
    E0103 when it is not there.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.location = database.location  # path or URL, as it may be shown: without a password
        self.address = database.address  # as `open` takes it
        self.access = Access(database)
        self.locks = RunLocks(self.access, token=uuid.uuid4().hex)
        self.run_records = RunRecords(self.access, self.locks)
        self._claims = ClaimRecords(self.access, self.run_records, self.locks)
        self._judgments = JudgmentRecords(
            self.access, self.run_records, self.locks, self._claims.drop
        )
        self._rows = RowRecords(self.access, self.run_records, self.locks)
        self._certificates = CertificateRecords(self.access)
        self._known_models = KnownModelRecords(self.access)
        self._labels = LabelRecords(self.access, self.run_records)
        self._label_queue = LabelQueueRecords(self.access, self.run_records)
        self._batches = BatchRecords(self.access, self.run_records)
        self.exchange_records = ExchangeRecords(self.access, self.run_records)
        self.span_records = SpanRecords(self.access)
        self.watch_records = WatchRecords(self.access)
        try:
            # The copy made when this opening migrated an older store.
            self.backup = database.prepare()
        except BaseException:
            database.close()  # nobody gets this store, so nobody else could close it
            raise
        self.locks.open()

    @classmethod
    def open(cls, location: str | Path | URL, *, make: bool = True) -> Self:
        """Open the store at a path, `sqlite:///path` or `postgresql://user@host/database`.

        A file (mode 0600) and its folder are made where missing, unless `make` is false: then
        SetupError E0103. An older file is copied to `PATH.<version>.backup` and migrated; an older
        database is migrated in one transaction. Raises SetupError E0101 for another kind of
        database, E0105 where psycopg is not installed, EnvironmentFailure E0501 for a store of
        before the first release, E0502 for one of a newer version.
        """
        address = address_of(location)
        if isinstance(address, Path):
            from ragassay.store.sqlite import open_file

            if not make and (not address.is_file() or not address.stat().st_size):
                raise SetupError(
                    "E0103",
                    "There is no store at this place.",
                    where=str(address),
                    fix="look for a slip in --store; it is made by the first run that names it",
                )
            return cls(open_file(address))
        from ragassay.store.postgres import PostgresDatabase

        return cls(PostgresDatabase(address))

    @property
    def waiting(self) -> str:
        """What a read or write has been waiting for for more than 2 seconds, "" when none has."""
        return str(self.database.waits)

    @property
    def token(self) -> str:
        """What this store owns runs by, and what it writes of how they stand is signed with; no two
        have the same.
        """
        return self.locks.token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def beside(self, name: str) -> Path:
        """Where a file of this machine that belongs to the store is kept: next to an SQLite file,
        else in the folder `.ragassay` of the current directory, which is made.
        """
        if isinstance(self.database.address, Path):
            return self.database.address.with_name(name)
        Path(FOLDER).mkdir(exist_ok=True)
        return Path(FOLDER).resolve() / name

    def close(self) -> None:
        """Release the runs this store holds and give all connections back. May be called twice."""
        if self.access.closed:
            return
        try:
            self._claims.forget_all()
            self.locks.release_all()
        finally:
            self.access.closed = True
            self.locks.close()
            self.database.close()

    def check(self) -> tuple[str, ...]:
        """What is wrong with the store, at most 100 lines; empty when it is sound.

        The database's own check (SQLite's); every payload against its checksum, decoded and encoded
        again (so that every number is finite); the columns and lines of every row against its body;
        rows against their run's manifest.
        """
        return SoundnessCheck(self.access, self.run_records).problems()

    # -- runs

    def create_run(self, manifest: Manifest) -> None:
        """Record a new run, state RUNNING. Raises ValueError when its id is taken."""
        self.run_records.create(manifest)

    def put_manifest(self, manifest: Manifest) -> None:
        """Write the manifest of a run that is there anew: a resume may set caps, and what is kept
        with the run.
        """
        self.run_records.put_manifest(manifest)

    def update_run(
        self, run_id: str, *, state: RunState, stop_reason: str, ledger: Ledger, seconds: float
    ) -> None:
        """Write where the run stands. Raises EnvironmentFailure E0504 where another process has
        taken it over.
        """
        self.run_records.update(
            run_id, state=state, stop_reason=stop_reason, ledger=ledger, seconds=seconds
        )

    def run(self, run_id: str) -> StoredRun:
        """The run of this id."""
        return self.run_records.get(run_id)

    def runs(self, limit: int = 50, *, before: str = "", names: str = "") -> list[StoredRun]:
        """The last `limit` runs, newest first. before: only those made before the run of this id;
        names: "used" leaves out those that were made to measure a judge, "measuring" all others.
        """
        return self.run_records.newest_first(limit, before, names)

    def count_runs(self, names: str = "") -> int:
        """How many runs there are; names: as in `runs`."""
        return self.run_records.count(names)

    def run_stamp(self, run_id: str) -> tuple[str, str]:
        """The run's state and when it last changed, without counting its rows. Raises SetupError
        E0103.
        """
        return self.run_records.stamp(run_id)

    def has_run(self, run_id: str) -> bool:
        """Whether there is a run of this id."""
        return self.run_records.has(run_id)

    def runs_named(self, names: Sequence[str]) -> dict[str, str]:
        """Name -> id of the newest run that has it, of those names that a run has."""
        return self.run_records.named(names)

    def newest(self) -> str:
        """The id of the run that was made last, "" when there is none."""
        return self.run_records.newest_id()

    def resolve(self, name: str) -> str:
        """The id of the run that `name` means: "last", an id, a run's name (the newest of that
        name), or the start of one id only. "last" is none of those that were made to measure a
        judge: their names begin with `MEASURING`. Raises SetupError E0103, with the nearest name.
        """
        return self.run_records.resolve(name)

    def acquire(self, run_id: str) -> None:
        """Take the run for this store until `release`, `close` or the end of the process. Again is
        no error.

        Raises EnvironmentFailure E0504 when a living process has it. A lock whose process is gone
        is taken over at once on the same machine; from elsewhere (another container) after
        `locks.FOREIGN_LOCK_S` without a write.
        """
        self.locks.acquire(run_id, self.run_records.number(run_id))

    def driven(self, run_id: str) -> bool:
        """Whether a living process works on the run. Of one on another machine that has not said so
        for 300 seconds: no.
        """
        return self.locks.is_held(self.run_records.number(run_id))

    def release(self, run_id: str) -> None:
        """Give the run back, and its claims; nothing happens when this store does not have it."""
        number = self.run_records.number(run_id)
        self._claims.forget(number)
        self.locks.release(number)

    # -- judgments

    def put_judgments(
        self, run_id: str, judgments: Sequence[Judgment], exchanges: Sequence[Exchange] = ()
    ) -> None:
        """Append judgments and the exchanges that they come from, all in one commit. Raises
        ValueError for NaN and infinities.
        """
        self._judgments.put(run_id, judgments, exchanges)
        self._claims.dropped(run_id, judgments)

    def get_judgments(
        self, addresses: Sequence[JudgmentAddress], *, run_id: str | None = None
    ) -> dict[JudgmentAddress, Judgment]:
        """(judge fingerprint, request key) -> the newest judgment that may be used again: judged or
        abstained.

        run_id: only the judgments that this run has asked for; None = any run's.
        """
        return self._judgments.get(addresses, run_id)

    def unknown_judges(self, judges: Iterable[str]) -> tuple[str, ...]:
        """Those of these fingerprints of which no judgment is stored."""
        return self._judgments.unknown_judges(judges)

    def last_judgment(self) -> int:
        """The number of the newest judgment, 0 when there is none: where it has grown, somebody has
        written.
        """
        return self._judgments.last_number()

    def spend(self, run_id: str) -> Spend:
        """What the run's own judgments cost: the sum of their shares, whatever happened to the
        process that asked.
        """
        return self._judgments.spend(run_id)

    def exchanges(self, run_id: str, index: int) -> list[Exchange]:
        """What the row of this index asked judges' models, and what they replied, in order."""
        return self.exchange_records.of_row(run_id, index)

    def rows_that_asked(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """(run, index of the row) of the exchanges that begin with one of these Requests, the
        oldest first.
        """
        return self.exchange_records.rows_that_asked(keys)

    # -- claims: of two runs that ask the same at the same time, one buys the answer

    def begin_asking(self, run_id: str, judges: Iterable[str]) -> OtherRuns:
        """List a run, which this store has acquired, as asking judges with these fingerprints,
        until it is released; the other living runs that ask one of them. Where there are any, the
        run counts as one that claims what it asks.
        """
        return self._claims.register(run_id, judges)

    def end_asking(self, run_id: str) -> None:
        """List the run no more, and give up its claims."""
        self._claims.forget(self.run_records.number(run_id))

    def others_asking(self, run_id: str) -> OtherRuns:
        """The other living runs that ask one of the judges of a run that is listed."""
        return self._claims.others(run_id)

    def begin_claiming(self, run_id: str) -> None:
        """Say that the run claims what it asks, and has claimed what it is asking already."""
        self._claims.set_claiming(run_id)

    def stop_claiming(self, run_id: str) -> bool:
        """Say that the run does not claim any more, unless another one asks its judges; whether it
        is so.
        """
        return self._claims.stop_claiming(run_id)

    def claim(self, run_id: str, addresses: Sequence[JudgmentAddress]) -> Claimed:
        """Claim questions: each has a judgment (of any run), is granted to this run, or is being
        asked by another one. A claim ends with the commit of a judgment of its question, whatever
        its status, and with its run.
        """
        return self._claims.claim(run_id, addresses)

    def open_to_claim(
        self, run_id: str, addresses: Sequence[JudgmentAddress]
    ) -> list[JudgmentAddress]:
        """Those of the questions that no other living run is asking; nothing is written."""
        return self._claims.open_to_claim(run_id, addresses)

    def claims(self, run_id: str) -> frozenset[JudgmentAddress]:
        """The questions that the run has claimed through this store, and has no judgment of."""
        return self._claims.held(run_id)

    def give_up_claims(self, run_id: str, addresses: Collection[JudgmentAddress]) -> None:
        """Let others ask these questions that the run has claimed."""
        self._claims.give_up(run_id, addresses)

    # -- rows

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        """Write rows, all in one commit. A row that is done stays as it is; one that is not is
        replaced.

        Raises ValueError for NaN and infinities; nothing of the batch is written then.
        """
        self._rows.put(run_id, results)

    def reopen_failed(self, run_id: str) -> int:
        """Mark as not done the rows in which a judgment failed, was refused or could not be read,
        or on which the application failed, and say how many.

        What was judged in them is found again by its key; only the lost judgments are asked once
        more.
        """
        return self._rows.reopen_failed(run_id)

    def done(self, run_id: str, within: range | None = None) -> IndexSet:
        """The indices of the rows that a resume need not do again; within: only those of this
        range.
        """
        return self._rows.done(run_id, within)

    def rows(
        self,
        run_id: str,
        *,
        order: Literal["index", "worst"] = "index",
        limit: int | None = None,
        offset: int = 0,
        verdict: Verdict | None = None,
        cause: str | None = None,
    ) -> Iterator[RowResult]:
        """Stored rows with samples, scores and parts, in the order of their source or the worst
        first.

        worst: failed, then undecided, then the rest; within each the lowest mean of the scores that
        have a pass mark; ties by index. verdict, cause: only rows with that verdict, that root
        cause. At most 8 MB of rows (or one row) are read ahead.
        """
        return self._rows.read(
            run_id, order=order, limit=limit, offset=offset, verdict=verdict, cause=cause
        )

    def some_rows(self, run_id: str, most: int) -> Iterator[RowResult]:
        """At most so many stored rows, spread evenly over the run, in order; the same ones every
        time.
        """
        return self._rows.some(run_id, most)

    def row(self, run_id: str, row_id: str) -> RowResult | None:
        """The row of this id, None when the run has none."""
        return self._rows.get(run_id, row_id)

    def row_at(self, run_id: str, index: int) -> RowResult | None:
        """The row of this index, None when the run has none."""
        return self._rows.at(run_id, index)

    def rows_at(self, run_id: str, indices: Sequence[int], *, largest: int) -> dict[int, RowResult]:
        """The rows of these indices, by index, for a list that shows something of each; those that
        the run does not have, or that take more than `largest` bytes, are left out.
        """
        return self._rows.at_each(run_id, indices, largest)

    def answered(self, run_id: str, within: range | None = None) -> dict[int, Sample]:
        """The samples, by index, of rows that are not done and that the application has answered;
        within: only those of this range.
        """
        return self._rows.answered(run_id, within)

    def row_ids_like(self, run_id: str, text: str) -> list[str]:
        """Up to 10 ids of the run that a mistyped `text` may have meant, best first: those that
        hold it (whatever the case), then those that look like it among the first 20,000.
        """
        return self._rows.ids_like(run_id, text)

    def row_lines(self, run_id: str) -> Iterator[RowLine]:
        """One line a stored row, by index, without its texts."""
        return self._rows.row_lines(run_id)

    def lines_at(
        self, run_id: str, indices: Sequence[int]
    ) -> dict[int, tuple[RowLine, list[ScoreLine]]]:
        """The lines of these rows, by index; those that the run does not have are left out."""
        return self._rows.lines_at(run_id, indices)

    def score_lines(self, run_id: str, metric: str | None = None) -> Iterator[ScoreLine]:
        """One line a score (only those of `metric` where given), by row index and then in the row's
        own order.
        """
        return self._rows.score_lines(run_id, metric)

    def lines(self, run_id: str) -> Iterator[tuple[RowLine, list[ScoreLine]]]:
        """Each stored row's line with those of its scores, by index: both for the price of one."""
        return self._rows.row_and_score_lines(run_id)

    # -- models behind servers

    def put_known_model(self, model: KnownModel) -> None:
        """Keep what is known of a model, in place of what was."""
        self._known_models.put(model)

    def known_model(self, key: str) -> KnownModel | None:
        """What is known of the model of this key, None for one that was never asked."""
        return self._known_models.get(key)

    def known_models(self) -> tuple[KnownModel, ...]:
        """All models of which something is known."""
        return self._known_models.all()

    # -- certificates and labels

    def put_certificate(self, certificate: Certificate) -> None:
        """Keep a certificate; one of the same id is there already and stays. Raises ValueError for
        NaN and infinities.
        """
        self._certificates.put(certificate)

    def certificates(self, metric: str | None = None) -> tuple[Certificate, ...]:
        """All certificates, newest first; metric: only those of the metric with this name."""
        return self._certificates.newest_first(metric)

    def put_labels(
        self,
        run_id: str,
        labels: Sequence[HumanLabel],
        *,
        source_hash: str = "",
        replace: bool = False,
    ) -> int:
        """Keep labels of a run's rows, all in one commit; returns how many are new or changed.

        run_id: "" for labels of rows that were not run here; then source_hash says of which rows. A
        person labels a row once under a name: the same value again is skipped. Raises DataError
        E0314 for another value, unless `replace`, and then nothing of the batch is written;
        ValueError for NaN and infinities; SetupError E0103 for an unknown run.
        """
        return self._labels.put(run_id, labels, source_hash=source_hash, replace=replace)

    def labels(
        self,
        run_id: str,
        name: str | None = None,
        *,
        source_hash: str | None = None,
        row_id: str | None = None,
    ) -> tuple[HumanLabel, ...]:
        """The labels of a run's rows in the order in which they were stored; name, source_hash,
        row_id: only those.
        """
        return self._labels.of_run(run_id, name, source_hash=source_hash, row_id=row_id)

    def labels_stamp(self) -> tuple[object, ...]:
        """What changes with every label and answer, and with every row that is chosen to label, of
        any run.
        """
        return self._labels.stamp()

    # -- rows handed out to people to label

    def add_to_label(self, run_id: str, name: str, rows: Sequence[RowToLabel]) -> int:
        """Put rows behind those that are to be labelled; returns how many were not among them."""
        return self._label_queue.add(run_id, name, rows)

    def to_label(self, run_id: str, name: str) -> tuple[RowToLabel, ...]:
        """The rows of a run that are to be labelled, or were, in the order of handing out."""
        return self._label_queue.rows(run_id, name)

    def row_to_label(self, run_id: str, name: str, row_id: str) -> RowToLabel | None:
        """One of the rows that are to be labelled, or were; None where it is not among them."""
        return self._label_queue.row(run_id, name, row_id)

    def count_to_label(self, run_id: str, name: str) -> int:
        """How many rows are to be labelled, or were."""
        return self._label_queue.count(run_id, name)

    def names_to_label(self, run_id: str) -> tuple[str, ...]:
        """The metrics for which rows of the run are to be labelled."""
        return self._label_queue.names(run_id)

    def reserve_to_label(self, run_id: str, name: str, annotator: str) -> RowToLabel | None:
        """The next row for a person, which nobody else gets for 15 minutes; None where there is
        none for them now.
        """
        return self._label_queue.reserve(run_id, name, annotator)

    def has_row_to_label(self, run_id: str, name: str, annotator: str) -> bool:
        """Whether `reserve_to_label` would find a row for a person now."""
        return self._label_queue.has_next(run_id, name, annotator)

    def put_answer(self, run_id: str, name: str, answer: LabelAnswer, chosen: RowToLabel) -> None:
        """Keep a person's answer about a row, and the label that it is, in one commit."""
        self._label_queue.answer(run_id, name, answer, chosen)

    def add_answers(self, run_id: str, name: str, answers: Sequence[LabelAnswer]) -> None:
        """Append those of these answers that are not there, where those that are there are the
        first of them; the labels that they are have been written by `put_labels`.
        """
        self._label_queue.add_answers(run_id, name, answers)

    def label_answers(
        self, run_id: str, name: str, annotator: str | None = None, *, row_id: str | None = None
    ) -> tuple[LabelAnswer, ...]:
        """Every answer that was given, also those that were changed later. annotator, row_id: only
        those of this person, or about this row.
        """
        return self._label_queue.answers(run_id, name, annotator, row_id)

    # -- batches

    def put_batch(self, run_id: str, batch: Batch) -> None:
        """Record what was handed to a provider. One of this id that the run has already is
        replaced.
        """
        self._batches.put(run_id, batch)

    update_batch = put_batch

    def batches(self, run_id: str) -> tuple[Batch, ...]:
        """What the run handed to providers, in the order in which it did."""
        return self._batches.of_run(run_id)
