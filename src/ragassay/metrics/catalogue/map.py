"""Average precision: how precise the ranking is at the ranks of its relevant documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import average_precision


@dataclass(frozen=True, slots=True)
class AveragePrecision(Ranked):
    """Average precision of the row; its mean over rows is MAP."""

    declaration: ClassVar[Declaration] = Declaration(
        name="map",
        title="Precision at the ranks of the relevant documents, on average.",
        formula=(
            "sum over retrieved relevant documents of the precision at their rank / relevant"
            " documents; its mean over rows is MAP."
        ),
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=EDGE_CASES,
        calls="none",
        default=120,
        elsewhere=(Elsewhere("trec_eval", "map"),),
    )

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return average_precision(ranking, grades)
