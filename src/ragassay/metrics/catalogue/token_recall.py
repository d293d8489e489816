"""Token recall: the share of the reference's words that the response holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import Lexical, declare
from ragassay.metrics.parameters import check_share
from ragassay.scoring import token_recall


@dataclass(frozen=True, slots=True)
class TokenRecall(Lexical):
    """Recall of the reference's tokens: a fair first verdict on short answers, whatever the
    response says around them.
    """

    declaration: ClassVar[Declaration] = declare(
        "token_recall",
        "Which share of the reference's words the response holds.",
        "shared tokens / tokens of the reference, after lower-casing and dropping punctuation and"
        " articles. The row passes at the pass mark.",
        "gold-token recall (Adlakha et al. 2024, arXiv:2307.16877)",
        Elsewhere("instruct-qa", "Recall", "there the best over several references"),
        edge_cases=(
            (
                "a response that lists every word passes: it says nothing about what is wrong"
                " beside the right words"
            ),
        ),
    )
    pass_mark: float = 0.5

    def __post_init__(self) -> None:
        check_share("token_recall", "pass_mark", self.pass_mark)

    def measure(self, response: str, reference: str) -> float | None:
        return token_recall(response, reference)

    def mark(self) -> float | None:
        return self.pass_mark
