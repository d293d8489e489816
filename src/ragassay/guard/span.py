"""The GUARDRAIL span of a guard, in the trace of the answer that is being made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.guard.result import GuardResult
from ragassay.guard.settings import Settings
from ragassay.instrument.spans import LOGGER, Span, start_span

if TYPE_CHECKING:
    from ragassay.instrument.spans import AttributeValue


class GuardrailSpan:
    """The span, while the guard judges. It holds no texts: the spans around it do."""

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def end_with(self, result: GuardResult) -> None:
        """Note the result."""
        if self._span is None:
            return
        attributes: dict[str, AttributeValue] = {
            "ragassay.guard.verdict": result.verdict,
            "ragassay.guard.judged": result.judged,
            "ragassay.guard.shadow": result.shadow,
            "ragassay.guard.mark": result.mark,
            "ragassay.guard.latency_ms": round(result.latency_ms, 3),
            "ragassay.guard.reason": result.summary,
        }
        if result.score is not None:
            attributes["ragassay.guard.score"] = result.score
        if result.chunks:
            attributes["ragassay.guard.kept"] = list(result.kept)
        try:
            self._span.set(attributes)
        except Exception:
            LOGGER.debug("a guard's result was not traced", exc_info=True)


@contextmanager
def guardrail_span(settings: Settings) -> Iterator[GuardrailSpan]:
    """The span of one judgment, ended with the block."""
    attributes = {"ragassay.guard.metric": str(settings.metric)}
    span = start_span(settings.kind, "GUARDRAIL", attributes, only_inside=True)
    try:
        yield GuardrailSpan(span)
    finally:
        if span is not None:
            span.end()
