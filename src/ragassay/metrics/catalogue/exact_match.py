"""Exact match: whether the response says the reference, word for word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.scoring import exact_match


@dataclass(frozen=True, slots=True)
class ExactMatch(Lexical):
    """1 when the normalised texts are equal."""

    declaration: ClassVar[Declaration] = declare(
        "exact_match",
        "Whether the response is the reference, but for case, punctuation and articles.",
        "1 when both have the same tokens in the same order, else 0.",
        "SQuAD evaluation (Rajpurkar et al. 2016, arXiv:1606.05250)",
        Elsewhere("SQuAD evaluation", "exact match", "there the best over several references"),
        Elsewhere("Ragas", "ExactMatch", "there case, punctuation and articles count"),
    )

    def measure(self, response: str, reference: str) -> float | None:
        return exact_match(response, reference)
