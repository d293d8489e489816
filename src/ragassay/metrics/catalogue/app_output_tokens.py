"""Tokens that the application's model wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.operation import Spent, declare


@dataclass(frozen=True, slots=True)
class AppOutputTokens(Spent):
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
