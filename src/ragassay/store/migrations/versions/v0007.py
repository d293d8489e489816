"""Version 7: what judges' models were sent, and what they replied."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "exchanges",
        sa.Column("id", Long, primary_key=True),
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_exchanges_run"), nullable=False
        ),
        sa.Column("idx", Long, nullable=False),
        sa.Column("key", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_exchanges_run", "exchanges", ["run", "idx"])
    op.create_index("ix_exchanges_key", "exchanges", ["key"])
