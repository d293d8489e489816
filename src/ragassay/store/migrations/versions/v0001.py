"""Version 1: runs, their locks, judgments, rows and their bodies.

Written out rather than taken from schema.py, which changes with later versions.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# No PostgreSQL store of this version was ever made: there its types are those of the first that
# could be.
Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables of the first version."""
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
    hashed = (
        op.get_bind().dialect.name == "postgresql"
    )  # it refuses to index texts over 2,704 bytes
    op.create_index(
        "ix_rows_row_id", "rows", ["run", sa.text("md5(row_id)") if hashed else "row_id"]
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
