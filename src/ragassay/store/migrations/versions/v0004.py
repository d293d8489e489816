"""Version 4: the number of each writer's last write, so that a commit whose answer was lost is
known to have happened.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table; what is there stays as it is."""
    op.create_table(
        "marks",
        sa.Column("writer", Key, primary_key=True),
        sa.Column("number", Long, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
