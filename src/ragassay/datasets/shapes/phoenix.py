"""Phoenix's tables: spans with OpenInference attributes, evals tables, retrieved documents."""

from __future__ import annotations

from collections import Counter

from ragassay.core import Context, Sample
from ragassay.datasets.shapes.base import Shape, Writer, usage_figure


def _adapt(columns: set[str], reads: dict[str, str], skips: dict[str, str]) -> None:
    """Phoenix's evals tables: `reference` is the text of the retrieved documents, and a table of
    documents has one row a document, so the span's id is not the row's.
    """
    if "reference" in columns and not columns & {"attributes.retrieval.documents", "documents"}:
        reads["contexts"] = "reference"
    if "document_position" in columns:
        reads["cluster"] = "context.span_id"
        skips["context.span_id"] = "one row a document, so it is not the row's id"


_SHAPE = Shape(
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
    adapt=_adapt,
    order=90,
)
SHAPES = (_SHAPE,)

_TOKENS = {
    "attributes.llm.token_count.prompt": "input_tokens",
    "attributes.llm.token_count.completion": "output_tokens",
    "attributes.llm.token_count.total": "total_tokens",
    "attributes.llm.cost.total": "cost",
}


def _document(context: Context) -> dict[str, object]:
    document = {
        "document.content": context.text,
        "document.id": context.id,
        "document.score": context.score,
    }
    return {name: value for name, value in document.items() if value is not None}


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    documents = None
    if sample.contexts is not None:
        documents = [_document(context) for context in sample.contexts]
    return {
        "context.span_id": sample.id,
        "attributes.input.value": sample.question,
        "attributes.output.value": sample.response,
        "attributes.retrieval.documents": documents,
        **{column: usage_figure(sample, name) for column, name in _TOKENS.items()},
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
