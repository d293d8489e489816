"""Version 2: certificates of judges, and labels that people gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the two tables; what is there stays as it is."""
    op.create_table(
        "certificates",
        sa.Column("id", sa.Text, nullable=False, primary_key=True),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("judge", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_certificates_metric", "certificates", ["metric"])
    op.create_table(
        "labels",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("source_hash", sa.Text, nullable=False),
        sa.Column("row_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run", "source_hash", "row_id", "name", "annotator", name="uq_labels_one_a_person"),
    )
