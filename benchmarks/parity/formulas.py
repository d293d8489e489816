"""What do the peers compute where their number is not ours? Their formulas in short, to check the
reasons that are given.

Only for random rows, where every verdict is there. A reason for a difference counts when the peer's
own code gives what the formula by that reason gives.
"""

from __future__ import annotations

import math

from benchmarks.parity.rows import K, Row, chunk_supports


def mixed_recall(row: Row) -> float:
    """Recall of Ragas: right claims / (right claims + missing statements)."""
    right, missing = (
        row["claim_in_reference"].count(True),
        row["statement_in_response"].count(False),
    )
    return right / (right + missing) if right + missing else 0.0


def mixed_f1(row: Row) -> float:
    """F1 of Ragas, from that recall and the share of right claims."""
    precision, recall = (
        row["claim_in_reference"].count(True) / len(row["claims"]),
        mixed_recall(row),
    )
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mixed_with_cosine(row: Row) -> float:
    """Answer correctness of Ragas: three quarters of that F1, one quarter cosine."""
    a, b = row["vectors"][row["response"]], row["vectors"][row["reference"]]
    cosine = sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)
    return 0.75 * mixed_f1(row) + 0.25 * cosine


def share_of_chunks(row: Row) -> float:
    """Context precision of RAGChecker: chunks that support a statement / chunks."""
    return sum(chunk_supports(row["statement_in_context"], len(row["chunks"]))) / len(row["chunks"])


def hits_of_retrieved(row: Row) -> float:
    """Precision of MLflow: relevant among the first k / retrieved among the first k, repeats and
    all.
    """
    found = [id_ in row["relevant_ids"] for id_ in row["ids"][:K]]
    return sum(found) / len(found)


def recall_after_cut(row: Row) -> float:
    """Recall of MLflow: distinct relevant ids among the first k / relevant ids."""
    return len(set(row["ids"][:K]) & set(row["relevant_ids"])) / len(row["relevant_ids"])


def ndcg_of_retrieved(row: Row) -> float:
    """nDCG of MLflow: the ideal ranking is as long as the one retrieved, and repeats are documents
    of their own.
    """
    gains = [float(id_ in row["relevant_ids"]) for id_ in row["ids"][:K]]
    repeats = sum(gains) - len(set(row["ids"][:K]) & set(row["relevant_ids"]))
    ideal = min(len(gains), len(row["relevant_ids"]) + int(repeats))
    discounted = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return discounted / sum(1 / math.log2(rank + 1) for rank in range(1, ideal + 1))
