"""The rows of MLflow: mlflow.genai evaluation rows, and Agent Evaluation's before them.

What a trace says that a row carries is read in `traces`.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.shapes.base import Shape, Writer, relevant

_AGENT_EVALUATION = Shape(
    "Databricks Agent Evaluation",
    ("request",),
    (
        "response",
        "retrieved_context",
        "expected_response",
        "expected_facts",
        "expected_retrieved_context",
    ),
    {
        "id": "request_id",
        "question": "request",
        "contexts": "retrieved_context",
        "reference": "expected_response",
    },
    {},
    order=60,
)
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
SHAPES = (_AGENT_EVALUATION, _WITH_EXPECTATIONS, _WITH_OUTPUTS)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    expected = {
        "expected_response": sample.reference,
        "expected_facts": None if sample.expected_facts is None else list(sample.expected_facts),
        "guidelines": list(sample.guidelines) or None,
        "expected_retrieved_context": None
        if (ids := relevant(sample)) is None
        else [{"doc_uri": id_} for id_ in ids],
    }
    outputs: dict[str, object] = {}
    if sample.response is not None:
        outputs["response"] = sample.response
    if sample.contexts is not None:
        outputs["retrieved_context"] = [
            {"content": chunk.text}
            if chunk.id is None
            else {"content": chunk.text, "doc_uri": chunk.id}
            for chunk in sample.contexts
        ]
    return {
        "request_id": sample.id,
        "inputs": {"question": sample.question},
        "outputs": outputs or None,
        "expectations": {name: value for name, value in expected.items() if value is not None},
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
            "expected_facts",
            "guidelines",
            "relevant_ids",
        }
    ),
    ("request_id", "inputs.question", "outputs.response", *_ALSO.values()),
    needs=("question",),
)
