"""The rows of MLflow: mlflow.genai evaluation rows, and Agent Evaluation's before them.

What a trace says that a row carries is read in `traces`.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Context, Sample
from ragassay.datasets.shapes.base import Shape, Writer, relevant

_READS_OF_AGENTS = {
    "id": "request_id",
    "question": "request",
    "contexts": "retrieved_context",
    "reference": "expected_response",
    # Tables that this package writes have them under both of their names.
    "input_tokens": "agent/total_input_token_count",
    "output_tokens": "agent/total_output_token_count",
}
_AGENT_EVALUATION = Shape(
    "Databricks Agent Evaluation",
    ("request",),
    (
        "retrieved_context",
        "expected_response",
        "expected_facts",
        "expected_retrieved_context",
        "request_id",
        "agent/latency_seconds",
        "agent/total_token_count",
    ),
    _READS_OF_AGENTS,
    {},
    order=60,
)
# Logs of any client of a model have these two, so no tool is named.
_REQUEST_AND_RESPONSE = Shape("", ("request",), ("response",), _READS_OF_AGENTS, {}, order=60)
_READS = {"question": "inputs", "response": "outputs"}
_ALSO = {
    "contexts": "outputs.retrieved_context",
    "reference": "expectations.expected_response",
    "expected_facts": "expectations.expected_facts",
    "guidelines": "expectations.guidelines",
    "relevant_ids": "expectations.expected_retrieved_context",
}
_WITH_EXPECTATIONS = Shape(
    "MLflow", ("inputs",), ("expectations",), _READS, {}, also=_ALSO, order=61
)
# After LangSmith's: its runs have inputs and outputs, too.
_WITH_OUTPUTS = Shape("MLflow", ("inputs",), ("outputs",), _READS, {}, also=_ALSO, order=80)
SHAPES = (_AGENT_EVALUATION, _REQUEST_AND_RESPONSE, _WITH_EXPECTATIONS, _WITH_OUTPUTS)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    expectations: dict[str, object] = {}
    if sample.reference is not None:
        expectations["expected_response"] = sample.reference
    if sample.expected_facts is not None:
        expectations["expected_facts"] = list(sample.expected_facts)
    if sample.guidelines:
        expectations["guidelines"] = list(sample.guidelines)
    ids = relevant(sample)
    if ids is not None:
        expectations["expected_retrieved_context"] = [{"doc_uri": document} for document in ids]
    outputs: dict[str, object] = {}
    if sample.response is not None:
        outputs["response"] = sample.response
    if sample.contexts is not None:
        outputs["retrieved_context"] = [_document(context) for context in sample.contexts]
    return {
        "request_id": sample.id,
        "inputs": {"question": sample.question},
        "outputs": outputs or None,
        "expectations": expectations,
    }


def _document(context: Context) -> dict[str, str]:
    document = {"content": context.text}
    if context.id is not None:
        document["doc_uri"] = context.id
    return document


WRITER = Writer(
    _row,
    frozenset(
        {
            "question",
            "contexts",
            "contexts.id",
            "response",
            "reference",
            "expected_facts",
            "guidelines",
            "relevant_ids",
        }
    ),
    ("request_id", "inputs.question", "outputs.response", *_ALSO.values()),
    needs=("question",),
)
