"""nDCG at k: how well the first k documents are ordered by graded relevance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import ndcg_at_k


@dataclass(frozen=True, slots=True)
class NdcgAtK(Ranked):
    """Normalised discounted cumulated gain of the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        name="ndcg_at_k",
        title="How well the first k documents are ordered by graded relevance.",
        formula=(
            "DCG of the first k / DCG of the best possible first k; DCG = sum of grade / log2(rank"
            " + 1)."
        ),
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=(*EDGE_CASES, "negative grades gain nothing"),
        calls="none",
        default=130,
        elsewhere=(
            Elsewhere("trec_eval", "ndcg_cut_k"),
            Elsewhere("Phoenix", "nDCG", "there over judged relevance of the retrieved chunks"),
        ),
    )
    k: int = 10

    def __post_init__(self) -> None:
        check_count("ndcg_at_k", "k", self.k)

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return ndcg_at_k(ranking, grades, self.k)
