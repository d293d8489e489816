"""Version 8: rows that are handed out to people to label, and every answer that they gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the two tables; no other changes."""
    op.create_table(
        "label_queue",
        sa.Column("id", Long, primary_key=True),
        sa.Column("run", Key, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("place", Long, nullable=False),
        sa.Column("row_id", Key, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("holder", Key, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run", "name", "place", name="uq_label_queue_place"),
    )
    op.create_table(
        "label_answers",
        sa.Column("id", Long, primary_key=True),
        sa.Column("run", Key, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("row_id", Key, nullable=False),
        sa.Column("annotator", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_label_answers_run", "label_answers", ["run", "name", "id"])
