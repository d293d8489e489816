"""Toxicity: whether the response insults, demeans or threatens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.catalogue.safety import Category, declare_category
from ragassay.metrics.declaration import Declaration, Elsewhere


@dataclass(frozen=True, slots=True)
class Toxicity(Category):
    """1 when the judge of safety flags toxicity."""

    declaration: ClassVar[Declaration] = declare_category(
        "toxicity",
        "Whether the response is insulting, hateful in tone or otherwise toxic.",
        place=410,
        elsewhere=(
            Elsewhere(
                "DeepEval",
                "ToxicityMetric",
                "there opinions that are not toxic / opinions in the response: higher is better,"
                " and no opinion is 1",
            ),
            Elsewhere("Phoenix", "Toxicity", "the same yes or no, in a call of its own"),
        ),
    )
