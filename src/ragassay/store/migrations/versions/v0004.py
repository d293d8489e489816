"""Version 4: the tables of the first release.

Versions 1 to 3 came before it and are part of this one. Written out rather than taken from
schema.py, which changes with later versions.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = None

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables in an empty database."""
    _runs()
    _judgments()
    _rows()
    _certificates()
    _labels()
    _batches()
    _marks()


def _hashed() -> bool:
    """Whether ids are indexed by a hash: PostgreSQL refuses to index texts over 2,704 bytes."""
    return op.get_bind().dialect.name == "postgresql"


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", Key, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("stop_reason", Key, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("updated", Key, nullable=False),
        sa.Column("manifest", sa.LargeBinary, nullable=False),
        sa.Column("ledger", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run_id", name="uq_runs_run_id"),
    )
    op.create_table(
        "run_locks",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_run_locks_run"), primary_key=True
        ),
        sa.Column("token", Key, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("host", Key, nullable=False),
        sa.Column("started", Key, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )


def _judgments() -> None:
    op.create_table(
        "judgments",
        sa.Column("id", Long, primary_key=True),
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_judgments_run"), nullable=False
        ),
        sa.Column("judge", Key, nullable=False),
        sa.Column("key", Key, nullable=False),
        sa.Column("status", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_judgments_judge_key", "judgments", ["judge", "key"])
    op.create_index("ix_judgments_run", "judgments", ["run", "id"])


def _rows() -> None:
    op.create_table(
        "rows",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_rows_run"), primary_key=True
        ),
        sa.Column("idx", Long, primary_key=True, autoincrement=False),
        sa.Column("row_id", Key, nullable=False),
        sa.Column("done", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("bad", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("verdict", Key),
        sa.Column("cause", Key, nullable=False),
        sa.Column("worst", sa.Float, nullable=False),
        sa.Column("size", Long, nullable=False),
        sa.Column("line", sa.LargeBinary, nullable=False),
    )
    op.create_index(
        "ix_rows_row_id", "rows", ["run", sa.text("md5(row_id)") if _hashed() else "row_id"]
    )
    op.create_index("ix_rows_done", "rows", ["run", "done", "idx", "bad"])
    op.create_index("ix_rows_worst", "rows", ["run", "worst", "idx"])
    op.create_table(
        "bodies",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_bodies_run"), primary_key=True
        ),
        sa.Column("idx", Long, primary_key=True, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )


def _certificates() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", Key, nullable=False, primary_key=True),
        sa.Column("created", Key, nullable=False),
        sa.Column("judge", Key, nullable=False),
        sa.Column("metric", Key, nullable=False),
        sa.Column("dataset", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_certificates_metric", "certificates", ["metric"])


def _labels() -> None:
    hashed = _hashed()
    one_a_person = sa.UniqueConstraint(
        "run", "source_hash", "row_id", "name", "annotator", name="uq_labels_one_a_person"
    )
    op.create_table(
        "labels",
        sa.Column("id", Long, primary_key=True),
        sa.Column("run", Key, nullable=False),
        sa.Column("source_hash", Key, nullable=False),
        sa.Column("row_id", Key, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("annotator", Key, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("created", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        *([] if hashed else [one_a_person]),
    )
    if hashed:
        of_a_person: list[str | sa.TextClause] = [
            "run",
            "source_hash",
            sa.text("md5(row_id)"),
            "name",
            "annotator",
        ]
        op.create_index("uq_labels_one_a_person", "labels", of_a_person, unique=True)


def _batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", Long, primary_key=True),
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_batches_run"), nullable=False
        ),
        sa.Column("batch", Key, nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("created", Key, nullable=False),
        sa.Column("updated", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run", "batch", name="uq_batches_run_batch"),
    )


def _marks() -> None:
    op.create_table(
        "marks",
        sa.Column("writer", Key, primary_key=True),
        sa.Column("number", Long, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
