"""The tables of a store at the newest version.

A change here needs a new file in `migrations/versions` and a new HEAD.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
)

FIRST = "0004"
"""The schema version of the first release: stores of older ones were never released."""

READABLE = "0004"
"""The oldest version that can be read without a migration: later ones added tables that only a
writer uses.
"""

HEAD = "0010"
"""The newest schema version: the revision of the last migration. Versions are decimal numbers and
only grow.
"""

VERSION_TABLE = "ragassay_version"

metadata = MetaData()

# SQLite's INTEGER has 64 bit and only INTEGER numbers the rows by itself; PostgreSQL's has 32.
Long = BigInteger().with_variant(Integer, "sqlite")
# PostgreSQL orders text by the language of the database; here order is by bytes, as SQLite's.
Key = Text().with_variant(Text(collation="C"), "postgresql")

version = Table(  # the table alembic itself keeps, declared so that a new store needs no alembic
    VERSION_TABLE,
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("state", Key, nullable=False),
    Column("stop_reason", Key, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("updated", Key, nullable=False),
    Column("manifest", LargeBinary, nullable=False),
    Column("ledger", LargeBinary, nullable=False),
    UniqueConstraint("run_id", name="uq_runs_run_id"),
)

run_locks = Table(
    "run_locks",
    metadata,
    Column(
        "run",
        Integer,
        ForeignKey("runs.id", name="fk_run_locks_run"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("token", Key, nullable=False),  # which Store object of that process
    Column("pid", Integer, nullable=False),
    Column("host", Key, nullable=False),
    # When the process began: a pid is used again, the pair of both is not.
    Column("started", Key, nullable=False),
    Column("seen", Float, nullable=False),  # Unix time of the owner's last write
)

asking_runs = Table(  # runs that are asking their judge now, as others in the store see them
    "asking_runs",
    metadata,
    Column(
        "run",
        Integer,
        ForeignKey("runs.id", name="fk_asking_runs_run"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("judges", Key, nullable=False),  # the fingerprints, a line each
    # Whether it claims a question before it asks it: only where another one asks the same judge.
    Column("claiming", Boolean(create_constraint=False), nullable=False),
)

claims = Table(  # of questions that a run is asking: others wait for its judgment
    "claims",
    metadata,
    Column("judge", Key, nullable=False),
    Column("key", Key, nullable=False),
    Column("run", Integer, ForeignKey("runs.id", name="fk_claims_run"), nullable=False),
    PrimaryKeyConstraint("judge", "key", name="pk_claims"),
    Index("ix_claims_run", "run"),
)

judgments = Table(
    "judgments",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", Integer, ForeignKey("runs.id", name="fk_judgments_run"), nullable=False),
    Column("judge", Key, nullable=False),
    Column("key", Key, nullable=False),
    Column("status", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_judgments_judge_key", "judge", "key"),
    # For what one run spent, and for its copy, out of a store of many runs.
    Index("ix_judgments_run", "run", "id"),
)

rows = Table(
    "rows",
    metadata,
    Column(
        "run",
        Integer,
        ForeignKey("runs.id", name="fk_rows_run"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("idx", Long, primary_key=True, autoincrement=False),
    Column("row_id", Key, nullable=False),
    Column("done", Boolean(create_constraint=False), nullable=False),
    Column("bad", Boolean(create_constraint=False), nullable=False),
    Column("verdict", Key),
    Column("cause", Key, nullable=False),
    Column("worst", Float, nullable=False),  # lines.worst_key
    # Bytes of the body, so that a page of bodies fits the memory.
    Column("size", Long, nullable=False),
    Column("line", LargeBinary, nullable=False),  # lines.pack
    Index("ix_rows_row_id", "run", "row_id").ddl_if(dialect="sqlite"),
    Index("ix_rows_done", "run", "done", "idx", "bad"),
    Index("ix_rows_worst", "run", "worst", "idx"),
)

# PostgreSQL refuses to index texts over 2,704 bytes, and an id may be longer: there the index is of
# a hash of it.
Index("ix_rows_row_id", rows.c.run, func.md5(rows.c.row_id)).ddl_if(dialect="postgresql")

bodies = Table(  # apart from rows: a scan of the lines must not read the contexts
    "bodies",
    metadata,
    Column(
        "run",
        Integer,
        ForeignKey("runs.id", name="fk_bodies_run"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("idx", Long, primary_key=True, autoincrement=False),
    Column("payload", LargeBinary, nullable=False),
)

certificates = Table(
    "certificates",
    metadata,
    Column("id", Key, primary_key=True),  # Certificate.id, a hash of its content
    Column("created", Key, nullable=False),
    Column("judge", Key, nullable=False),
    Column("metric", Key, nullable=False),
    Column("dataset", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_certificates_metric", "metric"),
)

labels = Table(
    "labels",
    metadata,
    Column("id", Long, primary_key=True),
    # "" for labels of rows that were not run here: they are known by source_hash.
    Column("run", Key, nullable=False),
    Column("source_hash", Key, nullable=False),
    Column("row_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("annotator", Key, nullable=False),
    Column("value", Float, nullable=False),
    Column("created", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint(
        "run", "source_hash", "row_id", "name", "annotator", name="uq_labels_one_a_person"
    ).ddl_if(dialect="sqlite"),
)
Index(
    "uq_labels_one_a_person",
    labels.c.run,
    labels.c.source_hash,
    func.md5(labels.c.row_id),
    labels.c.name,
    labels.c.annotator,
    unique=True,
).ddl_if(dialect="postgresql")

label_queue = Table(  # rows chosen for people to label, in the order in which they are handed out
    "label_queue",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("place", Long, nullable=False),
    Column("row_id", Key, nullable=False),
    Column("wanted", Integer, nullable=False),  # people who are to label it
    Column("holder", Key, nullable=False),  # who has it now, "" for nobody
    Column("until", Float, nullable=False),  # Unix time of the database
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("run", "name", "place", name="uq_label_queue_place"),
)

label_answers = Table(  # every answer that was ever given, also those that were changed later
    "label_answers",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("row_id", Key, nullable=False),
    Column("annotator", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_label_answers_run", "run", "name", "id"),
)

batches = Table(  # what providers were asked in one piece and have not answered yet, or have
    "batches",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", Integer, ForeignKey("runs.id", name="fk_batches_run"), nullable=False),
    Column("batch", Key, nullable=False),  # Batch.id
    Column("state", Key, nullable=False),
    Column("created", Key, nullable=False),
    Column("updated", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("run", "batch", name="uq_batches_run_batch"),
)

exchanges = Table(  # what judges' models were sent, and what they replied
    "exchanges",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", Integer, ForeignKey("runs.id", name="fk_exchanges_run"), nullable=False),
    Column("idx", Long, nullable=False),  # of the row that asked
    Column("key", Key, nullable=False),  # of the first Request, so that other rows find it too
    Column("payload", LargeBinary, nullable=False),
    Index("ix_exchanges_run", "run", "idx"),
    Index("ix_exchanges_key", "key"),
)

models = Table(  # what is known of the models behind servers
    "models",
    metadata,
    Column("key", Key, primary_key=True),  # KnownModel.key
    Column("payload", LargeBinary, nullable=False),
)

# What applications send by OTLP: spans as they came, with what they are looked up by.
span_origins = Table(  # the resource and the library of spans, which many of them share
    "span_origins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("hash", name="uq_span_origins_hash"),
)

spans = Table(
    "spans",
    metadata,
    Column("id", Long, primary_key=True),  # in the order of arrival: the assembler's cursor
    Column("key", LargeBinary, nullable=False),  # id of the trace (16 bytes), of the span (8)
    Column("origin", Integer, nullable=False),
    Column("root", Boolean(create_constraint=False), nullable=False),
    # Whether the application says that the trace is complete.
    Column("complete", Boolean(create_constraint=False), nullable=False),
    Column("started", Long, nullable=False),  # nanoseconds since 1970, as the application says
    Column("ended", Long, nullable=False),
    Column("received", Long, nullable=False),  # milliseconds since 1970, by the receiver's clock
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("key", name="uq_spans_key"),
)

span_logs = Table(  # log records that hold what their span does not
    "span_logs",
    metadata,
    Column("id", Long, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
    Column("trace", LargeBinary, nullable=False),
    Column("received", Long, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("hash", name="uq_span_logs_hash"),
    Index("ix_span_logs_trace", "trace"),
)

traces = Table(  # what is known of the spans of a trace, and how far they are put together
    "traces",
    metadata,
    Column("trace", LargeBinary, primary_key=True),
    Column("first_received", Long, nullable=False),
    Column("last_received", Long, nullable=False),
    Column("ended", Boolean(create_constraint=False), nullable=False),  # its root has come
    Column("complete", Boolean(create_constraint=False), nullable=False),
    Column("dirty", Boolean(create_constraint=False), nullable=False),  # spans since its rows
    Column("revision", Integer, nullable=False),
    Index("ix_traces_dirty", "dirty", "last_received"),
    Index("ix_traces_last_received", "last_received"),
)

trace_rows = Table(  # the newest revision of the rows of a trace
    "trace_rows",
    metadata,
    Column("trace", LargeBinary, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("payload", LargeBinary, nullable=False),
)

# traces whose rows were made or changed, in the order in which that was done
trace_changes = Table(
    "trace_changes",
    metadata,
    Column("id", Long, primary_key=True),
    Column("trace", LargeBinary, nullable=False),
    Index("ix_trace_changes_trace", "trace"),
    # A number is never used again, also after all changes were deleted: it is a cursor of others.
    sqlite_autoincrement=True,
)

# What is watched of these rows. Payloads hold figures and no texts.
watches = Table(
    "watches",
    metadata,
    Column("name", Key, primary_key=True),
    Column("payload", LargeBinary, nullable=False),  # watch.state
)

watch_rows = Table(  # what became of each row that arrived
    "watch_rows",
    metadata,
    Column("id", Long, primary_key=True),
    Column("watch", Key, nullable=False),
    Column("trace", LargeBinary, nullable=False),
    Column("number", Integer, nullable=False),  # of the turn
    Column("session", LargeBinary, nullable=False),  # a hash
    Column("received", Long, nullable=False),  # milliseconds since 1970
    Column("state", Integer, nullable=False),  # watches.UNSAMPLED ...
    Column("reason", Key, nullable=False),
    Column("chance", Float, nullable=False),  # of being in the sample
    Column("stage", Integer, nullable=False),  # what its session was counted for
    Column("batch", Integer, nullable=False),  # 0: none
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("watch", "trace", "number", name="uq_watch_rows_row"),
    Index("ix_watch_rows_state", "watch", "state", "id"),
    Index("ix_watch_rows_stage", "watch", "stage", "session"),
    Index("ix_watch_rows_session", "watch", "session"),
    Index("ix_watch_rows_batch", "watch", "batch"),
    Index("ix_watch_rows_received", "watch", "received"),
)

watch_batches = Table(  # rows that were judged together, and what that cost
    "watch_batches",
    metadata,
    Column("watch", Key, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("created", Float, nullable=False),  # Unix time
    Column("ended", Float),  # None: not yet
    Column("rows", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("cost", Float),  # US dollars, None: not known
    Column("run", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

watch_alerts = Table(
    "watch_alerts",
    metadata,
    Column("id", Long, primary_key=True),
    Column("watch", Key, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_watch_alerts_watch", "watch", "id"),
)

watch_ratings = Table(  # what users and other tools said of a trace
    "watch_ratings",
    metadata,
    Column("id", Long, primary_key=True),
    Column("watch", Key, nullable=False),
    Column("trace", LargeBinary, nullable=False),
    Column("name", Key, nullable=False),
    Column("value", Float, nullable=False),
    Column("received", Long, nullable=False),
    Index("ix_watch_ratings_received", "watch", "received"),
)

cursors = Table(  # how far a job has read
    "cursors",
    metadata,
    Column("name", Key, primary_key=True),
    Column("position", Long, nullable=False),
)

# of each writer the number of its last write: what a commit that nobody answered came to
marks = Table(
    "marks",
    metadata,
    Column("writer", Key, primary_key=True),
    Column("number", Long, nullable=False),
    Column("seen", Float, nullable=False),  # Unix time of the database
)
