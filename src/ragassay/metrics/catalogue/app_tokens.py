"""Tokens that the application used, in all."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import AppUsage
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.operation import UsageFigure, declare


@dataclass(frozen=True, slots=True)
class AppTokens(UsageFigure):
    """Total tokens; input + output where only these are given."""

    field: ClassVar[str] = "total_tokens"
    declaration: ClassVar[Declaration] = declare(
        "app_tokens",
        title="Tokens the application used.",
        formula="total tokens, or input + output tokens.",
        unit="tokens",
        default=140,
        elsewhere=(Elsewhere("Databricks Agent Evaluation", "total_token_count"),),
    )

    def applies_to(self, fields: Container[str]) -> bool:
        """Whether a row states the figure, or what it is the sum of."""
        both = "usage.input_tokens" in fields and "usage.output_tokens" in fields
        return both or UsageFigure.applies_to(self, fields)

    def read(self, usage: AppUsage) -> float | None:
        if usage.total_tokens is not None:
            return usage.total_tokens
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return usage.input_tokens + usage.output_tokens
