"""Which tables a store has at the newest version.

A change here needs a new file in `migrations/versions` and a new HEAD.
"""

from __future__ import annotations

from sqlalchemy import (
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
)

HEAD = "0002"
"""The newest schema version: the revision of the last migration. Versions are decimal numbers and only grow."""

VERSION_TABLE = "ragassay_version"

metadata = MetaData()

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
    Column("run_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("stop_reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("updated", Text, nullable=False),
    Column("manifest", LargeBinary, nullable=False),
    Column("ledger", LargeBinary, nullable=False),
    UniqueConstraint("run_id", name="uq_runs_run_id"),
)

run_locks = Table(
    "run_locks",
    metadata,
    Column("run", Integer, ForeignKey("runs.id", name="fk_run_locks_run"), primary_key=True, autoincrement=False),
    Column("token", Text, nullable=False),  # which Store object of that process
    Column("pid", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("started", Text, nullable=False),  # when the process began: a pid is used again, a pair is not
    Column("seen", Float, nullable=False),  # Unix time of the owner's last write
)

judgments = Table(
    "judgments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", Integer, ForeignKey("runs.id", name="fk_judgments_run"), nullable=False),
    Column("judge", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_judgments_judge_key", "judge", "key"),
)

rows = Table(
    "rows",
    metadata,
    Column("run", Integer, ForeignKey("runs.id", name="fk_rows_run"), primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("row_id", Text, nullable=False),
    Column("done", Boolean(create_constraint=False), nullable=False),
    Column("bad", Boolean(create_constraint=False), nullable=False),
    Column("verdict", Text),
    Column("cause", Text, nullable=False),
    Column("worst", Float, nullable=False),  # lines.worst_key
    Column("size", Integer, nullable=False),  # bytes of the body, so that a page of bodies fits the memory
    Column("line", LargeBinary, nullable=False),  # lines.pack
    Index("ix_rows_row_id", "run", "row_id"),
    Index("ix_rows_done", "run", "done", "idx", "bad"),
    Index("ix_rows_worst", "run", "worst", "idx"),
)

bodies = Table(  # apart from rows: a scan of the lines must not read the contexts
    "bodies",
    metadata,
    Column("run", Integer, ForeignKey("runs.id", name="fk_bodies_run"), primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("payload", LargeBinary, nullable=False),
)

certificates = Table(
    "certificates",
    metadata,
    Column("id", Text, primary_key=True),  # Certificate.id, a hash of its content
    Column("created", Text, nullable=False),
    Column("judge", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_certificates_metric", "metric"),
)

labels = Table(
    "labels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", Text, nullable=False),  # "" for labels of rows that were not run here: they are known by source_hash
    Column("source_hash", Text, nullable=False),
    Column("row_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("annotator", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("created", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    UniqueConstraint("run", "source_hash", "row_id", "name", "annotator", name="uq_labels_one_a_person"),
)
