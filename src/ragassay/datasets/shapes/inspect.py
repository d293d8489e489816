"""The samples of Inspect: those of a dataset, and those of an evaluation log.

A dataset's sample has input, target, id and free metadata; everything beyond the first three
travels there. A log's sample has the model's output (its last call: text, usage and time) and the
scores, which are read as labels.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.record import to_record
from ragassay.datasets.shapes.base import KNOWLEDGE, USAGE, Shape, Writer

_META = ("contexts", "response", *KNOWLEDGE, "usage", "error")

_SHAPE = Shape(
    "Inspect",
    ("input", "target"),
    ("target",),
    {
        "question": "input",
        "reference": "target",
        "response": "output.completion",
        "labels": "scores",
        "usage": "output.usage",
        "latency": "output.time",
    },
    {},
    also={name: f"metadata.{name}" for name in _META},
    order=120,
)
SHAPES = (_SHAPE,)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    record = to_record(sample)
    return {
        "id": sample.id,
        "input": sample.question,
        "target": sample.reference,
        "metadata": {name: record[name] for name in _META if name in record},
    }


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
            "relevant_ids.grade",
            "error",
        }
    )
    | frozenset(KNOWLEDGE)
    | USAGE,
    ("id", "input", "target", *(f"metadata.{name}" for name in _META)),
    needs=("question", "reference"),
)
