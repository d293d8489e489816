"""Tokens that the application sent to its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.operation import UsageFigure, declare


@dataclass(frozen=True, slots=True)
class AppInputTokens(UsageFigure):
    """Tokens of the application's prompts."""

    field: ClassVar[str] = "input_tokens"
    declaration: ClassVar[Declaration] = declare(
        "app_input_tokens",
        title="Tokens the application sent to its model.",
        formula="input tokens.",
        unit="tokens",
        default=150,
        elsewhere=(Elsewhere("Databricks Agent Evaluation", "total_input_token_count"),),
    )
