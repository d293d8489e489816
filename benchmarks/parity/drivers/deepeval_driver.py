"""What does DeepEval make of the verdicts? Its question-answer-generation metrics, with a scripted
model.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"
from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from benchmarks.parity.drivers.sealed import Compute, run
from benchmarks.parity.rows import Row, any_chunk, chunk_supports, contexts
from deepeval.metrics import (
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    ContextualRelevancyMetric,
    FaithfulnessMetric,
)
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase

Reply = dict[str, Any]


class Scripted(DeepEvalBaseLLM):
    """A model without structured output whose replies are known beforehand: JSON text, which
    DeepEval parses.
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        self.replies = iter(replies)
        super().__init__("scripted")

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def generate_with_schema(self, *_: Any, **__: Any) -> str:
        return json.dumps(next(self.replies))

    def generate(self, *_: Any, **__: Any) -> str:
        return self.generate_with_schema()

    async def a_generate(self, *_: Any, **__: Any) -> str:
        return self.generate_with_schema()

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return "scripted"


def verdicts(answers: list[bool | None], statements: list[str] | None = None) -> Reply:
    """The reply with a verdict per item; one without is left out, as a model leaves it out."""
    texts = statements or [""] * len(answers)
    return {
        "verdicts": [
            {"verdict": "yes" if answer else "no", "reason": "so", "statement": text}
            for answer, text in zip(answers, texts, strict=True)
            if answer is not None
        ]
    }


def measured(metric: Any, row: Row) -> Any:
    case = LLMTestCase(
        input=row["question"],
        actual_output=row["response"],
        expected_output=row["reference"],
        retrieval_context=contexts(row),
    )
    return metric.measure(case, _show_indicator=False)


def made(kind: Any, replies: list[Reply]) -> Any:
    return kind(model=Scripted(replies), async_mode=False, include_reason=False)


def faithfulness(row: Row) -> Any:
    replies: list[Reply] = [
        {"truths": []},
        {"claims": row["claims"]},
        verdicts(any_chunk(row["claim_in_context"])),
    ]
    return measured(made(FaithfulnessMetric, replies), row)


def precision(row: Row) -> Any:
    edges = row["statement_in_context"]
    lost = bool(edges) and all(edge is None for edge in edges)
    flags: list[bool | None] = [
        None if lost else flag for flag in chunk_supports(edges, len(row["chunks"]))
    ]
    return measured(made(ContextualPrecisionMetric, [verdicts(flags)]), row)


def recall(row: Row) -> Any:
    return measured(
        made(ContextualRecallMetric, [verdicts(any_chunk(row["statement_in_context"]))]), row
    )


def relevancy(row: Row) -> Any:
    chunks = zip(row["sentence_relevant"], row["chunks"], strict=True)
    return measured(
        made(ContextualRelevancyMetric, [verdicts(list(flags), texts) for flags, texts in chunks]),
        row,
    )


METRICS: dict[str, Compute] = {
    "FaithfulnessMetric": faithfulness,
    "ContextualPrecisionMetric": precision,
    "ContextualRecallMetric": recall,
    "ContextualRelevancyMetric": relevancy,
}

if __name__ == "__main__":
    run("deepeval", METRICS)
