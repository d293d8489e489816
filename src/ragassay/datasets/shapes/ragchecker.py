"""RAGChecker's file: one JSON object whose list `results` holds the rows."""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import Shape, Writer

_SHAPE = Shape(
    "RAGChecker",
    ("query",),
    ("gt_answer", "retrieved_context"),
    {
        "id": "query_id",
        "question": "query",
        "reference": "gt_answer",
        "contexts": "retrieved_context",
    },
    {},
    order=50,
)
SHAPES = (_SHAPE,)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    documents = None
    if sample.contexts is not None:
        documents = [{"doc_id": chunk.id, "text": chunk.text} for chunk in sample.contexts]
    return {
        "query_id": sample.id,
        "query": sample.question,
        "gt_answer": sample.reference,
        "response": sample.response,
        "retrieved_context": documents,
    }


WRITER = Writer(
    _row,
    frozenset({"question", "contexts", "contexts.id", "response", "reference"}),
    ("query_id", "query", "gt_answer", "response", "retrieved_context"),
    needs=("question", "reference", "response", "contexts"),
    native="json",
    key="results",
)
