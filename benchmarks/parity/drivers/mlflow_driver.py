"""What does MLflow make of the verdicts? Its ranking metrics and the aggregate of its
retrieval-relevance judge.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"
from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pandas as pd
from benchmarks.parity.drivers.sealed import Compute, run
from benchmarks.parity.rows import K, Row, contexts
from mlflow.entities.assessment import Feedback
from mlflow.entities.assessment_error import AssessmentError
from mlflow.genai.scorers import RetrievalRelevance, builtin_scorers
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k


def ranked(metric: Any) -> Compute:
    def compute(row: Row) -> Any:
        scores = (
            metric(k=K).eval_fn(pd.Series([row["ids"]]), pd.Series([row["relevant_ids"]])).scores
        )
        return scores[0]

    return compute


def relevance(row: Row) -> Any:
    """The judge's answers stand in for the one call to a model; a lost one is the error that MLflow
    itself records.
    """
    replies = iter(row["chunk_useful"])

    def judge(*_: Any, **__: Any) -> Any:
        useful = next(replies)
        if useful is None:
            return Feedback(
                name="retrieval_relevance",
                error=AssessmentError("UNPARSED", "no verdict in the reply"),
            )
        return Feedback(name="retrieval_relevance", value="yes" if useful else "no")

    chunks = [{"content": text} for text in contexts(row)]
    with patch.object(builtin_scorers, "_invoke_structured_builtin_judge", judge):
        found = RetrievalRelevance(model="openai:/scripted")._compute_span_relevance(
            "span", row["question"], chunks
        )
    return found[0].value if found else None


METRICS: dict[str, Compute] = {
    f"precision_at_k(k={K})": ranked(precision_at_k),
    f"recall_at_k(k={K})": ranked(recall_at_k),
    f"ndcg_at_k(k={K})": ranked(ndcg_at_k),
    "RetrievalRelevance precision": relevance,
}

if __name__ == "__main__":
    run("mlflow", METRICS)
