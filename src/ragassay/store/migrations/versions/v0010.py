"""Version 10: what is watched of the rows of traces, and what became of each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the tables, and note the rows that are there as new."""
    op.create_table(
        "trace_changes",
        sa.Column("id", Long, primary_key=True),
        sa.Column("trace", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_trace_changes_trace", "trace_changes", ["trace"])
    op.create_table(
        "watches",
        sa.Column("name", Key, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "watch_rows",
        sa.Column("id", Long, primary_key=True),
        sa.Column("watch", Key, nullable=False),
        sa.Column("trace", sa.LargeBinary, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("session", sa.LargeBinary, nullable=False),
        sa.Column("received", Long, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("reason", Key, nullable=False),
        sa.Column("chance", sa.Float, nullable=False),
        sa.Column("stage", sa.Integer, nullable=False),
        sa.Column("batch", sa.Integer, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("watch", "trace", "number", name="uq_watch_rows_row"),
    )
    op.create_index("ix_watch_rows_state", "watch_rows", ["watch", "state", "id"])
    op.create_index("ix_watch_rows_stage", "watch_rows", ["watch", "stage", "session"])
    op.create_index("ix_watch_rows_session", "watch_rows", ["watch", "session"])
    op.create_index("ix_watch_rows_batch", "watch_rows", ["watch", "batch"])
    op.create_index("ix_watch_rows_received", "watch_rows", ["watch", "received"])
    _add_what_was_spent_and_told()
    op.execute(
        "INSERT INTO trace_changes (trace) SELECT trace FROM traces WHERE revision > 0"
        " ORDER BY last_received"
    )


def _add_what_was_spent_and_told() -> None:
    op.create_table(
        "watch_batches",
        sa.Column("watch", Key, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("cost", sa.Float),
        sa.Column("run", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "watch_alerts",
        sa.Column("id", Long, primary_key=True),
        sa.Column("watch", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_watch_alerts_watch", "watch_alerts", ["watch", "id"])
    op.create_table(
        "watch_ratings",
        sa.Column("id", Long, primary_key=True),
        sa.Column("watch", Key, nullable=False),
        sa.Column("trace", sa.LargeBinary, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("received", Long, nullable=False),
    )
    op.create_index("ix_watch_ratings_received", "watch_ratings", ["watch", "received"])
