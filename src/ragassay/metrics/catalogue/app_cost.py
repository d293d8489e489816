"""What the application's answer cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration
from ragassay.metrics.operation import UsageFigure, declare


@dataclass(frozen=True, slots=True)
class AppCost(UsageFigure):
    """US dollars the application spent."""

    field: ClassVar[str] = "cost"
    declaration: ClassVar[Declaration] = declare(
        "app_cost",
        title="What the answer cost.",
        formula="US dollars.",
        unit="USD",
        default=170,
    )
