"""BLEU: how many word sequences of the response are in the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.scoring import bleu


@dataclass(frozen=True, slots=True)
class Bleu(Lexical):
    """Sentence BLEU with exponential smoothing."""

    declaration: ClassVar[Declaration] = declare(
        "bleu",
        "How many sequences of 1 to 4 words of the response are in the reference.",
        "geometric mean of the n-gram precisions, n = 1 to 4, times exp(1 - reference / response"
        " length) for a shorter response; orders without a match are smoothed.",
        "BLEU (Papineni et al. 2002)",
        Elsewhere("sacrebleu", "sentence_bleu", "there times 100"),
        Elsewhere(
            "Ragas",
            "BleuScore",
            "there corpus_bleu over the texts cut at full stops: texts of several sentences come"
            " out otherwise",
        ),
    )

    def measure(self, response: str, reference: str) -> float | None:
        return bleu(response, reference)
