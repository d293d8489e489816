"""What did the application spend on the row: tokens, cost, time? And did it fail? (O1)"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import AppUsage, Sample, Score, Status, Verdict, shorten
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow


def _declare(name: str, title: str, formula: str, unit: str, *elsewhere: Elsewhere) -> Declaration:
    return Declaration(
        id="O1",
        name=name,
        title=title,
        formula=formula,
        needs=("usage",),
        high=None,
        higher_is_better=False,
        unit=unit,
        judged=False,
        source="reported by the application",
        calls="none",
        edges=(
            "the row has no such figure, or one that is negative or not finite: not applicable",
        ),
        elsewhere=elsewhere,
    )


class _Spent(MetricBase):
    """A figure that the application reports; absent where it does not. No pass mark."""

    field: ClassVar[str]

    def flow(self, sample: Sample) -> MetricFlow:
        usage = sample.usage
        if usage is None:
            return self.not_applicable("the row has no usage")
        value = self.read(usage)
        if value is None or not math.isfinite(value) or value < 0:
            return self.not_applicable(f"the row has no usage.{self.field}")
        return Score(metric=str(self), status=Status.JUDGED, value=float(value))
        yield  # asks nothing, and is a flow all the same

    def read(self, usage: AppUsage) -> float | None:
        value: float | None = getattr(usage, self.field)
        return value


@dataclass(frozen=True, slots=True)
class AppTokens(_Spent):
    """Total tokens; input + output where only these are given."""

    field: ClassVar[str] = "total_tokens"
    declaration: ClassVar[Declaration] = _declare(
        "app_tokens",
        "Tokens the application used.",
        "total tokens, or input + output tokens.",
        "tokens",
        Elsewhere("Databricks Agent Evaluation", "total_token_count"),
    )

    def read(self, usage: AppUsage) -> float | None:
        if (
            usage.total_tokens is None
            and usage.input_tokens is not None
            and usage.output_tokens is not None
        ):
            return usage.input_tokens + usage.output_tokens
        return usage.total_tokens


@dataclass(frozen=True, slots=True)
class AppInputTokens(_Spent):
    """Tokens of the application's prompts."""

    field: ClassVar[str] = "input_tokens"
    declaration: ClassVar[Declaration] = _declare(
        "app_input_tokens",
        "Tokens the application sent to its model.",
        "input tokens.",
        "tokens",
        Elsewhere("Databricks Agent Evaluation", "total_input_token_count"),
    )


@dataclass(frozen=True, slots=True)
class AppOutputTokens(_Spent):
    """Tokens the application's model wrote."""

    field: ClassVar[str] = "output_tokens"
    declaration: ClassVar[Declaration] = _declare(
        "app_output_tokens",
        "Tokens the application's model wrote.",
        "output tokens.",
        "tokens",
        Elsewhere("Databricks Agent Evaluation", "total_output_token_count"),
    )


@dataclass(frozen=True, slots=True)
class AppCost(_Spent):
    """US dollars the application spent."""

    field: ClassVar[str] = "cost"
    declaration: ClassVar[Declaration] = _declare(
        "app_cost", "What the answer cost.", "US dollars.", "USD"
    )


@dataclass(frozen=True, slots=True)
class AppLatency(_Spent):
    """Seconds from question to answer."""

    field: ClassVar[str] = "latency"
    declaration: ClassVar[Declaration] = _declare(
        "app_latency",
        "How long the answer took.",
        "seconds.",
        "s",
        Elsewhere("Databricks Agent Evaluation", "latency_seconds"),
    )


@dataclass(frozen=True, slots=True)
class AppError(MetricBase):
    """1 where the application failed on the row. Not to fail is no sign of quality: it does not
    make a row pass by itself.
    """

    declaration: ClassVar[Declaration] = Declaration(
        id="O1",
        name="app_error",
        title="Whether the application failed on the row.",
        formula=(
            "1 when the row carries the application's error, else 0; the mean is the error rate. A"
            " row with an error fails; one without passes here, which alone does not make the row"
            " pass."
        ),
        needs=("error|response",),
        higher_is_better=False,
        judged=False,
        source="reported by the application",
        edges=("neither an error nor a response: not applicable",),
        calls="none",
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if sample.error is None:
            return Score(metric=str(self), status=Status.JUDGED, value=0.0, verdict=Verdict.PASS)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=1.0,
            verdict=Verdict.FAIL,
            rationale=shorten(sample.error, 200) or "the application failed and gave no message",
        )
        yield  # asks nothing, and is a flow all the same
