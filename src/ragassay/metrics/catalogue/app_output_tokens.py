"""Tokens that the application's model wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.operation import UsageFigure, declare


@dataclass(frozen=True, slots=True)
class AppOutputTokens(UsageFigure):
    """Tokens the application's model wrote."""

    field: ClassVar[str] = "output_tokens"
    declaration: ClassVar[Declaration] = declare(
        "app_output_tokens",
        title="Tokens the application's model wrote.",
        formula="output tokens.",
        unit="tokens",
        default=160,
        elsewhere=(Elsewhere("Databricks Agent Evaluation", "total_output_token_count"),),
    )
