"""The four score patterns, and the one that a row shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.core import Score, Shown
from ragassay.diagnosis.chunks import evidence_chunks
from ragassay.diagnosis.evidence import metric_name
from ragassay.diagnosis.row import Row

HIGH = 2 / 3
LOW = 0.5
"""A score is high from HIGH on and low below LOW; between them it fits no pattern."""

Level = Literal["high", "low"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Levels that the three scores must have (None = any), and what that says."""

    says: str
    context: Level | None = None
    faithfulness: Level | None = None
    answer_relevance: Level | None = None


PATTERNS: tuple[Pattern, ...] = (
    Pattern("all scores low: start with the retrieval", "low", "low", "low"),
    Pattern("good chunks, low faithfulness: the context is ignored", "high", "low"),
    Pattern("bad chunks, high faithfulness: repair the retrieval", "low", "high"),
    Pattern(
        "high faithfulness, low answer relevance: the question is misread", None, "high", "low"
    ),
)
"""The first that fits is the row's."""


def pattern_of(row: Row) -> str:
    """The row's pattern in words, "" when none fits or a score that it needs is absent.

    Context is the best chunk's relevance, and high where a chunk serves as evidence; faithfulness
    falls back on groundedness. A response that declines has not misread the question, whatever its
    answer relevance.
    """
    context = _level(_best_chunk(row))
    faithfulness = _level(_first_value(row.showing(Shown.SUPPORTED_SHARE)))
    answer_relevance = _level(_first_value(row.showing(Shown.ANSWER_RELEVANT)))
    for pattern in PATTERNS:
        # Only the pattern of the misread question asks nothing of the context.
        if pattern.context is None and row.declined:
            continue
        if (
            pattern.context in (None, context)
            and pattern.faithfulness in (None, faithfulness)
            and pattern.answer_relevance in (None, answer_relevance)
        ):
            return pattern.says
    return ""


def _best_chunk(row: Row) -> float | None:
    """The relevance of the best chunk; evidence is relevant, whatever the judge says of it."""
    judged = _judged_best_chunk(row.scores)
    if judged is not None and judged < HIGH and evidence_chunks(row):
        return 1.0
    return judged


def _judged_best_chunk(scores: Sequence[Score]) -> float | None:
    """The relevance of the best chunk, None where it is not known. It is a figure of two metrics
    alone, so they are named: `context_relevance` has it, and from `chunk_relevance` follows whether
    any chunk is relevant.
    """
    shares = [score for score in scores if metric_name(score) == "chunk_relevance"]
    if any("nothing_retrieved" in score.flags for score in shares):
        return 0.0  # the score has no value then, and yet says how good the best chunk is
    for score in scores:
        if metric_name(score) == "context_relevance" and "max" in score.extra:
            return score.extra["max"]
    share = _first_value(shares)
    return None if share is None else float(share > 0)


def _first_value(scores: Sequence[Score]) -> float | None:
    for score in scores:
        if score.value is not None:
            return score.value
    return None


def _level(value: float | None) -> Level | None:
    if value is None:
        return None
    if value >= HIGH:
        return "high"
    return "low" if value < LOW else None
