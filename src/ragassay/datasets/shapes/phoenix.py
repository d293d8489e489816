"""How are Phoenix's tables read and written: spans with OpenInference attributes, evals tables,
retrieved documents.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import Shape, Writer, spent

SHAPE = Shape(
    "Phoenix",
    (),
    (
        "context.span_id",
        "attributes.input.value",
        "attributes.retrieval.documents",
        "document_position",
    ),
    {
        "question": "attributes.input.value",
        "response": "attributes.output.value",
        "contexts": "attributes.retrieval.documents",
        "error": "status_message",
    },
    {},
    timed=True,
)

_TOKENS = {
    "attributes.llm.token_count.prompt": "input_tokens",
    "attributes.llm.token_count.completion": "output_tokens",
    "attributes.llm.token_count.total": "total_tokens",
    "attributes.llm.cost.total": "cost",
}


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    documents = (
        None
        if sample.contexts is None
        else [
            {
                name: value
                for name, value in (
                    ("document.content", chunk.text),
                    ("document.id", chunk.id),
                    ("document.score", chunk.score),
                )
                if value is not None
            }
            for chunk in sample.contexts
        ]
    )
    return {
        "context.span_id": sample.id,
        "attributes.input.value": sample.question,
        "attributes.output.value": sample.response,
        "attributes.retrieval.documents": documents,
        **{column: spent(sample, name) for column, name in _TOKENS.items()},
        "status_message": sample.error or "",
    }


WRITER = Writer(
    _row,
    frozenset({"question", "contexts", "contexts.id", "contexts.score", "response", "error"})
    | frozenset(f"usage.{name}" for name in _TOKENS.values()),
    (
        "context.span_id",
        "attributes.input.value",
        "attributes.output.value",
        "attributes.retrieval.documents",
        *_TOKENS,
        "status_message",
    ),
)
