"""Personal data: whether the response discloses any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.catalogue.safety import Category, declare_category
from ragassay.metrics.declaration import Declaration, Elsewhere


@dataclass(frozen=True, slots=True)
class Pii(Category):
    """1 when the judge of safety flags personal data."""

    declaration: ClassVar[Declaration] = declare_category(
        "pii",
        "Whether the response discloses personal data.",
        place=430,
        elsewhere=(
            Elsewhere(
                "DeepEval",
                "PIILeakageMetric",
                "there statements without personal data / statements: higher is better, and no"
                " statement is 1",
            ),
        ),
    )
