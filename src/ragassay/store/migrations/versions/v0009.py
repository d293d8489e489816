"""Version 9: spans as applications send them, and the rows that are made of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "span_origins",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("hash", name="uq_span_origins_hash"),
    )
    op.create_table(
        "spans",
        sa.Column("id", Long, primary_key=True),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("origin", sa.Integer, nullable=False),
        sa.Column("root", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("complete", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("started", Long, nullable=False),
        sa.Column("ended", Long, nullable=False),
        sa.Column("received", Long, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("key", name="uq_spans_key"),
    )
    op.create_table(
        "span_logs",
        sa.Column("id", Long, primary_key=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("trace", sa.LargeBinary, nullable=False),
        sa.Column("received", Long, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("hash", name="uq_span_logs_hash"),
    )
    op.create_index("ix_span_logs_trace", "span_logs", ["trace"])
    op.create_table(
        "traces",
        sa.Column("trace", sa.LargeBinary, primary_key=True),
        sa.Column("first_received", Long, nullable=False),
        sa.Column("last_received", Long, nullable=False),
        sa.Column("ended", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("complete", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("dirty", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_index("ix_traces_dirty", "traces", ["dirty", "last_received"])
    op.create_index("ix_traces_last_received", "traces", ["last_received"])
    op.create_table(
        "trace_rows",
        sa.Column("trace", sa.LargeBinary, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "cursors",
        sa.Column("name", Key, primary_key=True),
        sa.Column("position", Long, nullable=False),
    )
