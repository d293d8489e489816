"""How long the application took to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.operation import UsageFigure, declare


@dataclass(frozen=True, slots=True)
class AppLatency(UsageFigure):
    """Seconds from question to answer."""

    field: ClassVar[str] = "latency"
    declaration: ClassVar[Declaration] = declare(
        "app_latency",
        title="How long the answer took.",
        formula="seconds.",
        unit="s",
        default=180,
        elsewhere=(Elsewhere("Databricks Agent Evaluation", "latency_seconds"),),
    )
