"""Bias: whether the response is prejudiced against a group of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.catalogue.safety import Category, declare_category
from ragassay.metrics.declaration import Declaration, Elsewhere


@dataclass(frozen=True, slots=True)
class Bias(Category):
    """1 when the judge of safety flags bias."""

    declaration: ClassVar[Declaration] = declare_category(
        "bias",
        "Whether the response is prejudiced against a group of people.",
        place=420,
        elsewhere=(
            Elsewhere(
                "DeepEval",
                "BiasMetric",
                "there unbiased opinions / opinions in the response: higher is better, and no"
                " opinion is 1",
            ),
        ),
    )
