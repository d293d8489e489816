"""Version 2: certificates of judges, and labels that people gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# No PostgreSQL store of this version was ever made: there its types are those of the first that
# could be.
Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the two tables; what is there stays as it is."""
    op.create_table(
        "certificates",
        sa.Column("id", Key, nullable=False, primary_key=True),
        sa.Column("created", Key, nullable=False),
        sa.Column("judge", Key, nullable=False),
        sa.Column("metric", Key, nullable=False),
        sa.Column("dataset", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_certificates_metric", "certificates", ["metric"])
    hashed = (
        op.get_bind().dialect.name == "postgresql"
    )  # it refuses to index texts over 2,704 bytes
    one_a_person = sa.UniqueConstraint(
        "run", "source_hash", "row_id", "name", "annotator", name="uq_labels_one_a_person"
    )
    op.create_table(
        "labels",
        sa.Column("id", Long, primary_key=True),
        sa.Column("run", Key, nullable=False),
        sa.Column("source_hash", Key, nullable=False),
        sa.Column("row_id", Key, nullable=False),
        sa.Column("name", Key, nullable=False),
        sa.Column("annotator", Key, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("created", Key, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        *([] if hashed else [one_a_person]),
    )
    if hashed:
        of_a_person: list[str | sa.TextClause] = [
            "run",
            "source_hash",
            sa.text("md5(row_id)"),
            "name",
            "annotator",
        ]
        op.create_index("uq_labels_one_a_person", "labels", of_a_person, unique=True)
