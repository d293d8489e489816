"""chrF: how many character sequences response and reference share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.scoring import chrf


@dataclass(frozen=True, slots=True)
class Chrf(Lexical):
    """chrF2."""

    declaration: ClassVar[Declaration] = declare(
        "chrf",
        "How many sequences of 1 to 6 characters response and reference share.",
        "5 * P * R / (4 * P + R); P, R = mean precision and recall of character n-grams, n = 1 to"
        " 6, white space left out.",
        "chrF (Popovic 2015)",
        Elsewhere("sacrebleu", "sentence_chrf", "there times 100"),
        Elsewhere("Ragas", "CHRFScore", "computed by sacrebleu there"),
    )

    def measure(self, response: str, reference: str) -> float | None:
        return chrf(response, reference)
