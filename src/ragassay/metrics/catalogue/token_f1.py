"""Token F1: how much of their words response and reference share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.scoring import token_f1


@dataclass(frozen=True, slots=True)
class TokenF1(Lexical):
    """F1 of shared tokens."""

    declaration: ClassVar[Declaration] = declare(
        "token_f1",
        "How much of their words response and reference share.",
        "2 * shared tokens / (tokens of the response + tokens of the reference), after lower-casing"
        " and dropping punctuation and articles.",
        "SQuAD evaluation (Rajpurkar et al. 2016, arXiv:1606.05250)",
        Elsewhere("SQuAD evaluation", "F1", "there the best over several references"),
    )

    def measure(self, response: str, reference: str) -> float | None:
        return token_f1(response, reference)
