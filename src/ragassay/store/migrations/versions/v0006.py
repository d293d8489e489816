"""Version 6: claims on questions, by which runs of one store share what they buy."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the two tables; no other changes."""
    op.create_table(
        "asking_runs",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_asking_runs_run"), primary_key=True
        ),
        sa.Column("judges", Key, nullable=False),
        sa.Column("claiming", sa.Boolean(create_constraint=False), nullable=False),
    )
    op.create_table(
        "claims",
        sa.Column("judge", Key, nullable=False),
        sa.Column("key", Key, nullable=False),
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id", name="fk_claims_run"), nullable=False
        ),
        sa.PrimaryKeyConstraint("judge", "key", name="pk_claims"),
    )
    op.create_index("ix_claims_run", "claims", ["run"])
