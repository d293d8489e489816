"""TruLens records: the columns of its data frame of records, which has no chunks."""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import Shape, Writer, usage_figure

_SHAPE = Shape(
    "TruLens",
    ("input", "output"),
    ("record_id", "app_id", "app_name"),
    {"id": "record_id", "question": "input", "response": "output"},
    {},
    order=100,
)
SHAPES = (_SHAPE,)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    return {
        "record_id": sample.id,
        "input": sample.question,
        "output": sample.response,
        "latency": usage_figure(sample, "latency"),
        "total_tokens": usage_figure(sample, "total_tokens"),
        "total_cost": usage_figure(sample, "cost"),
    }


WRITER = Writer(
    _row,
    frozenset({"question", "response", "usage.latency", "usage.total_tokens", "usage.cost"}),
    ("record_id", "input", "output", "latency", "total_tokens", "total_cost"),
)
