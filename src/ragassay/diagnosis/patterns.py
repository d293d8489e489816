"""Which of the four score patterns does a row show? (D3)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.core import Score
from ragassay.diagnosis.evidence import base

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

_WANTED = [
    (
        pattern.says,
        {
            name: level
            for name in ("context", "faithfulness", "answer_relevance")
            if (level := getattr(pattern, name)) is not None
        },
    )
    for pattern in PATTERNS
]


def pattern_of(scores: Sequence[Score]) -> str:
    """The row's pattern in words, "" when none fits or a score that it needs is absent.

    Context is the best chunk's relevance; faithfulness falls back on groundedness. A response that
    declines has not misread the question, whatever its answer relevance.
    """
    declined = any(
        "abstention" in score.flags
        for score in scores
        if base(score) in ("answer_relevance", "abstention")
    )
    seen = {
        "context": _level(_context(scores)),
        "faithfulness": _level(_value(scores, "faithfulness", "groundedness")),
        "answer_relevance": _level(_value(scores, "answer_relevance")),
    }
    for says, wanted in _WANTED:
        if "context" not in wanted and declined:
            continue
        if all(seen[name] == level for name, level in wanted.items()):
            return says
    return ""


def _context(scores: Sequence[Score]) -> float | None:
    for score in scores:
        if base(score) == "chunk_relevance" and "nothing_retrieved" in score.flags:
            return 0.0
    for score in scores:
        if base(score) == "context_relevance" and "max" in score.extra:
            return score.extra["max"]
    share = _value(scores, "chunk_relevance")
    return None if share is None else float(share > 0)


def _value(scores: Sequence[Score], *names: str) -> float | None:
    for name in names:
        for score in scores:
            if base(score) == name and score.value is not None:
                return score.value
    return None


def _level(value: float | None) -> str:
    if value is None:
        return ""
    return "high" if value >= HIGH else "low" if value < LOW else ""
