"""Our own rows: see `record.to_record`."""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.record import to_record
from ragassay.datasets.shapes.base import KNOWLEDGE, USAGE, Shape, Writer

_SHAPE = Shape(
    "RagAssay",
    ("question", "response"),
    ("contexts", "relevant_ids", "expected_facts"),
    {},
    {},
    order=10,
)
_LABEL_SHEET = Shape(
    "RagAssay",
    ("inclusion_probability", "annotator", "label"),
    ("contexts",),
    {},
    {},
    draws=frozenset({"inclusion_probability", "round", "pool", "drawn"}),
    numbered=True,
    order=9,
)
SHAPES = (_SHAPE, _LABEL_SHEET)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    return to_record(sample)


WRITER = Writer(
    _row,
    frozenset(
        {
            "question",
            "contexts",
            "contexts.id",
            "contexts.score",
            "response",
            "reference",
            "error",
            *KNOWLEDGE,
        }
        | {"relevant_ids.grade"}
    )
    | USAGE,
    ("id", "question", "contexts", "response", "reference", *KNOWLEDGE, "usage", "error"),
)
