"""ROUGE-L: how long the longest common word sequence of response and reference is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.scoring import rouge_l


@dataclass(frozen=True, slots=True)
class RougeL(Lexical):
    """ROUGE-L, unstemmed."""

    declaration: ClassVar[Declaration] = declare(
        "rouge_l",
        "How much of their words response and reference share in the same order.",
        "2 * LCS / (words of the response + words of the reference), LCS = longest common"
        " subsequence, unstemmed.",
        "ROUGE (Lin 2004)",
        Elsewhere(
            "Ragas", "RougeScore(rouge_type=rougeL, mode=fmeasure)", "there the words are stemmed"
        ),
        Elsewhere("rouge_score", "rougeL, F-measure"),
    )

    def measure(self, response: str, reference: str) -> float | None:
        return rouge_l(response, reference)
