"""The rows of LangSmith: dataset examples, runs, and the table of an experiment.

In an example `outputs` is the right answer; in a run it is what the application answered, and
`reference_outputs` is the right answer.
"""

from __future__ import annotations

from collections import Counter

from ragassay.core import Context, Sample
from ragassay.datasets.shapes.base import KNOWLEDGE, USAGE, Shape, Writer, knowledge, usage_figure

_META = {name: f"metadata.{name}" for name in (*KNOWLEDGE, "latency")}

_RUNS = Shape(
    "LangSmith",
    ("inputs",),
    ("run_type", "dotted_order", "reference_outputs", "reference_example_id", "parent_run_id"),
    {"question": "inputs", "response": "outputs", "reference": "reference_outputs"},
    {},
    also={"contexts": "outputs.contexts", "trace": "child_runs", **_META},
    timed=True,
    order=70,
)
# Runs as a CSV file has them: inputs and outputs are JSON, and the id is named after the run.
_RUN_TABLE = Shape(
    "LangSmith",
    ("inputs", "outputs", "run_id"),
    ("start_time", "status"),
    {"id": "run_id", "question": "inputs", "response": "outputs"},
    {},
    also={"contexts": "outputs.contexts", **_META},
    timed=True,
    order=73,
)
_EXAMPLES = Shape(
    "LangSmith",
    ("inputs",),
    ("dataset_id", "source_run_id"),
    {"question": "inputs", "reference": "outputs"},
    dict.fromkeys(
        ("outputs", "outputs.answer", "outputs.response", "outputs.output"),
        "in an example it is the right answer",
    ),
    also=_META,
    order=71,
)
_EXPERIMENT = Shape(
    "LangSmith",
    ("execution_time",),
    ("example_id",),
    {"latency": "execution_time", "cluster": "example_id"},
    {},
    order=72,
)
SHAPES = (_RUNS, _EXAMPLES, _EXPERIMENT, _RUN_TABLE)


def _context(context: Context) -> dict[str, object]:
    fields = {"text": context.text, "id": context.id, "score": context.score}
    return {name: value for name, value in fields.items() if value is not None}


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    outputs: dict[str, object] = {}
    if sample.response is not None:
        outputs["answer"] = sample.response
    if sample.contexts is not None:
        outputs["contexts"] = [_context(context) for context in sample.contexts]
    meta = knowledge(sample)
    if (latency := usage_figure(sample, "latency")) is not None:
        meta["latency"] = latency
    return {
        "id": sample.id,
        "run_type": "chain",
        "inputs": {"question": sample.question},
        "outputs": outputs or None,
        "reference_outputs": None if sample.reference is None else {"answer": sample.reference},
        "error": sample.error or None,
        "prompt_tokens": usage_figure(sample, "input_tokens"),
        "completion_tokens": usage_figure(sample, "output_tokens"),
        "total_tokens": usage_figure(sample, "total_tokens"),
        "total_cost": usage_figure(sample, "cost"),
        "metadata": meta or None,
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
    (
        "id",
        "run_type",
        "inputs.question",
        "outputs.answer",
        "outputs.contexts",
        "reference_outputs.answer",
        "error",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "total_cost",
        *_META.values(),
    ),
    needs=("question",),
)
