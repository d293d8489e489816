"""Version 1: runs, their locks, judgments, rows and their bodies.

Written out rather than taken from schema.py, which changes with later versions.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables of the first version."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("stop_reason", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("updated", sa.Text, nullable=False),
        sa.Column("manifest", sa.LargeBinary, nullable=False),
        sa.Column("ledger", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run_id", name="uq_runs_run_id"),
    )
    op.create_table(
        "run_locks",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id", name="fk_run_locks_run"), primary_key=True),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
    op.create_table(
        "judgments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id", name="fk_judgments_run"), nullable=False),
        sa.Column("judge", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_judgments_judge_key", "judgments", ["judge", "key"])
    op.create_table(
        "rows",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id", name="fk_rows_run"), primary_key=True),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("row_id", sa.Text, nullable=False),
        sa.Column("done", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("bad", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("worst", sa.Float, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("line", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_rows_row_id", "rows", ["run", "row_id"])
    op.create_index("ix_rows_done", "rows", ["run", "done", "idx", "bad"])
    op.create_index("ix_rows_worst", "rows", ["run", "worst", "idx"])
    op.create_table(
        "bodies",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id", name="fk_bodies_run"), primary_key=True),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
