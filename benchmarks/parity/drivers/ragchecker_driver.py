"""What does RAGChecker make of the verdicts? Its own computation, on entailments that are known
beforehand.

Importing the package asks for its extractors and checkers, and with them for a deep-learning stack
that plays no part once the entailments are known. So the package is entered by its folder:
`computation`, `container` and `metrics` are its own files, unchanged. A claim without a verdict is
fed as Neutral, which is what its checker pads a short reply with (refchecker 0.2.17,
refchecker/checker/llm_checker.py).
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

package = ModuleType("ragchecker")
package.__path__ = [str(distribution("ragchecker").locate_file("ragchecker"))]
sys.modules["ragchecker"] = package

from benchmarks.parity.drivers.sealed import Compute, run
from benchmarks.parity.rows import Row, contexts
from ragchecker import computation, metrics
from ragchecker.container import RAGResult, RetrievedDoc


def label(flag: bool | None) -> str:
    return "Entailment" if flag else "Neutral"


def labels(flags: Sequence[bool | None]) -> list[str]:
    return [label(flag) for flag in flags]


def matrix(edges: list[list[bool] | None], chunks: int) -> list[list[str]]:
    return [labels(edge if edge is not None else [None] * chunks) for edge in edges]


def result(row: Row) -> Any:
    return RAGResult(
        query_id=row["id"],
        query=row["question"],
        gt_answer=row["reference"],
        response=row["response"],
        retrieved_context=[RetrievedDoc(text=text) for text in contexts(row)],
        response_claims=row["claims"],
        gt_answer_claims=row["statements"],
        answer2response=labels(row["claim_in_reference"]),
        response2answer=labels(row["statement_in_response"]),
        retrieved2response=matrix(row["claim_in_context"], len(row["chunks"])),
        retrieved2answer=matrix(row["statement_in_context"], len(row["chunks"])),
    )


def computed(name: str) -> Compute:
    def compute(row: Row) -> Any:
        made = result(row)
        computation.METRIC_FUNC_MAP[name](made)
        return made.metrics[name]

    return compute


if __name__ == "__main__":
    run(
        "ragchecker",
        {name: computed(name) for name in metrics.METRIC_GROUP_MAP[metrics.all_metrics]},
    )
