"""Reciprocal rank: how early the first relevant document comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import reciprocal_rank


@dataclass(frozen=True, slots=True)
class ReciprocalRank(Ranked):
    """Reciprocal rank of the row; its mean over rows is MRR."""

    declaration: ClassVar[Declaration] = Declaration(
        name="mrr",
        title="How early the first relevant document comes.",
        formula=(
            "1 / rank of the first relevant document, 0 when none was retrieved; its mean over rows"
            " is MRR."
        ),
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=EDGE_CASES,
        calls="none",
        default=110,
        elsewhere=(Elsewhere("trec_eval", "recip_rank"),),
    )

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return reciprocal_rank(ranking, grades)
