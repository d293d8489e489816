"""Version 3: batches handed to providers, and an index by which a run's own judgments are found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table and the index; what is there stays as it is."""
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
    op.create_index("ix_judgments_run", "judgments", ["run", "id"])
