"""The rows of Ragas: SingleTurnSample and MultiTurnSample, and the columns before 0.2.

A MultiTurnSample's user_input is a list of messages ({"type": "human" | "ai" | "tool", "content"}):
its last human turn is the question and, where the row has no response, what the assistant said
after it is the response.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import Shape, Writer, relevant, texts

_SHAPE = Shape(
    "Ragas",
    (),
    (
        "user_input",
        "retrieved_contexts",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    ),
    {
        "question": "user_input",
        "contexts": "retrieved_contexts",
        "relevant_ids": "reference_context_ids",
    },
    {},
    trailing=True,
    order=30,
)
_OLDER_WITH_TRUTH = Shape(
    "older Ragas",
    ("question",),
    ("ground_truth", "ground_truths"),
    {"response": "answer"},
    {},
    order=110,
)
_OLDER = Shape(
    "older Ragas",
    ("question", "answer"),
    ("contexts",),
    {"response": "answer"},
    {},
    order=111,
)
SHAPES = (_SHAPE, _OLDER_WITH_TRUTH, _OLDER)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    ids = None if sample.contexts is None else [chunk.id for chunk in sample.contexts]
    if ids and None in ids:  # Ragas has one list of ids beside the texts, without gaps
        lost["contexts.id"] += any(id_ is not None for id_ in ids)
        ids = None
    return {
        "id": sample.id,
        "user_input": sample.question,
        "retrieved_contexts": texts(sample.contexts),
        "retrieved_context_ids": ids,
        "response": sample.response,
        "reference": sample.reference,
        "reference_context_ids": relevant(sample),
    }


WRITER = Writer(
    _row,
    frozenset({"question", "contexts", "contexts.id", "response", "reference", "relevant_ids"}),
    (
        "id",
        "user_input",
        "retrieved_contexts",
        "retrieved_context_ids",
        "response",
        "reference",
        "reference_context_ids",
    ),
)
