"""Version 5: what is known of the models behind servers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "models",
        sa.Column("key", Key, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
