"""DeepEval's test cases: the fields of LLMTestCase. What else is known
goes in `metadata`.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import (
    KNOWLEDGE,
    USAGE,
    Shape,
    Writer,
    knowledge,
    texts,
    usage_figure,
)

_META = (*KNOWLEDGE, "context_ids", "error", "total_tokens")

_SHAPE = Shape(
    "DeepEval",
    (),
    ("actual_output", "expected_output", "retrieval_context"),
    {
        "question": "input",
        "response": "actual_output",
        "reference": "expected_output",
        "contexts": "retrieval_context",
        "cost": "token_cost",
        "latency": "completion_time",
        "input_tokens": "input_token_count",
        "output_tokens": "output_token_count",
    },
    {"context": "in DeepEval rows it is the ideal context, not the retrieved one"},
    also={name: f"metadata.{name}" for name in _META},
    # How DeepEval joins lists in its CSV and JSON Lines files, and splits them again.
    separator="|",
    order=40,
)
SHAPES = (_SHAPE,)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    meta = knowledge(sample)
    if sample.contexts and any(chunk.id is not None for chunk in sample.contexts):
        meta["context_ids"] = [chunk.id for chunk in sample.contexts]
    if sample.error:
        meta["error"] = sample.error
    if (total := usage_figure(sample, "total_tokens")) is not None:
        meta["total_tokens"] = total
    return {
        "id": sample.id,
        "input": sample.question,
        "actual_output": sample.response,
        "expected_output": sample.reference,
        "retrieval_context": texts(sample.contexts),
        "token_cost": usage_figure(sample, "cost"),
        "completion_time": usage_figure(sample, "latency"),
        "input_token_count": usage_figure(sample, "input_tokens"),
        "output_token_count": usage_figure(sample, "output_tokens"),
        "metadata": meta or None,
    }


WRITER = Writer(
    _row,
    frozenset(
        {
            "question",
            "contexts",
            "contexts.id",
            "response",
            "reference",
            "relevant_ids.grade",
            "error",
        }
    )
    | frozenset(KNOWLEDGE)
    | USAGE,
    (
        "id",
        "input",
        "actual_output",
        "expected_output",
        "retrieval_context",
        "token_cost",
        "completion_time",
        "input_token_count",
        "output_token_count",
        *(f"metadata.{name}" for name in _META),
    ),
    needs=("question", "response"),
    native="json",
)
