"""Spans of the application: through OpenTelemetry where it is configured, else to the own sink.

A span never raises into the application, and costs it microseconds: what is written is written by
a thread of its own.
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from ragassay.instrument.untraced import UNTRACED

AttributeValue = str | bool | int | float | Sequence[int]

LOGGER = logging.getLogger("ragassay.instrument")

SCOPE = "ragassay"
"""The name of the instrumentation."""

_random = random.Random()


class Span(Protocol):
    """A span that has begun."""

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add attributes."""
        ...

    def fail(self, error: BaseException) -> None:
        """Note an error of the application."""
        ...

    def end(self) -> None:
        """End it; a second time does nothing."""
        ...

    def activate(self) -> object:
        """Make it the parent of what begins next; returned is what `deactivate` takes."""
        ...

    def deactivate(self, token: Any) -> None:
        """Undo `activate`."""
        ...


CURRENT: ContextVar[OwnSpan | None] = ContextVar("ragassay_span", default=None)
"""The span of ours that what begins next is inside of."""


class OwnSpan:
    """A span for the own sink. The fields are those of OTLP; times are in nanoseconds. is_kept:
    whether its trace is written.
    """

    __slots__ = (
        "attributes",
        "ended",
        "error",
        "is_kept",
        "name",
        "parent_id",
        "span_id",
        "started",
        "trace_id",
    )

    def __init__(self, name: str, kind: str, parent: OwnSpan | None) -> None:
        self.name = name
        bits = _random.getrandbits
        self.trace_id: int = parent.trace_id if parent is not None else bits(128) or 1
        # Said when the trace begins: of one that is dropped nothing is written.
        self.is_kept: bool = parent.is_kept if parent is not None else _has_room()
        self.parent_id: int = parent.span_id if parent is not None else 0
        self.span_id: int = bits(64) or 1
        self.attributes: dict[str, AttributeValue] = {"openinference.span.kind": kind}
        self.error = ""
        self.ended = 0
        self.started = time.time_ns()

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        self.attributes.update(attributes)

    def fail(self, error: BaseException) -> None:
        self.error = type(error).__name__

    def end(self) -> None:
        if self.ended:
            return
        self.ended = time.time_ns()
        from ragassay.instrument.sink import put

        put(self)

    def activate(self) -> object:
        return CURRENT.set(self)

    def deactivate(self, token: Any) -> None:
        CURRENT.reset(token)


def _has_room() -> bool:
    from ragassay.instrument.sink import has_room

    return has_room()


class OtelSpan:
    """A span of the application's own OpenTelemetry."""

    __slots__ = ("_ended", "_span")

    def __init__(self, span: Any) -> None:
        self._span = span
        self._ended = False

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._span.set_attributes(attributes)

    def fail(self, error: BaseException) -> None:
        trace = sys.modules["opentelemetry.trace"]
        self._span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._span.end()

    def activate(self) -> object:
        context = sys.modules["opentelemetry.context"]
        trace = sys.modules["opentelemetry.trace"]
        return context.attach(trace.set_span_in_context(self._span))

    def deactivate(self, token: Any) -> None:
        sys.modules["opentelemetry.context"].detach(token)


def start_span(
    name: str,
    kind: str,
    attributes: Mapping[str, AttributeValue],
    *,
    only_inside: bool = False,
) -> Span | None:
    """A span that begins now; None where nothing is traced. only_inside: not as the root of a
    trace of its own.
    """
    try:
        if UNTRACED.get():
            return None
        tracer = _tracer()
        if tracer is not None:
            given = {"openinference.span.kind": kind, **attributes}
            return OtelSpan(tracer.start_span(name, attributes=given))
        parent = CURRENT.get()
        if parent is None and only_inside:
            return None
        span = OwnSpan(name, kind, parent)
        span.attributes.update(attributes)
        return span
    except Exception:
        LOGGER.debug("no span was begun", exc_info=True)
        return None


def _tracer() -> Any:
    """The tracer of the application's OpenTelemetry; None where none is configured. An application
    that configures one has imported its SDK.
    """
    sdk = sys.modules.get("opentelemetry.sdk.trace")
    if sdk is None:
        return None
    provider = sys.modules["opentelemetry.trace"].get_tracer_provider()
    if not isinstance(provider, sdk.TracerProvider):
        return None
    known = _TRACERS.get(id(provider))
    if known is None or known[0] is not provider:
        known = (provider, provider.get_tracer(SCOPE))
        _TRACERS.clear()
        _TRACERS[id(provider)] = known
    return known[1]


_TRACERS: dict[int, tuple[Any, Any]] = {}
"""The tracer of the provider that is configured, with the provider."""


def leave(span: Span, token: object) -> None:
    """Let the span be no longer the parent of what begins. token: what `activate` gave."""
    try:
        span.deactivate(token)
    except Exception:
        # A generator that was moved to another task is closed in another context.
        LOGGER.debug("a span was left in another context", exc_info=True)
