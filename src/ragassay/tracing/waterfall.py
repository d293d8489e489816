"""The spans of a trace as a waterfall: when each began, how long it took, inside which it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ragassay.datasets.spans.figures import figures_of_each
from ragassay.datasets.spans.span import Span
from ragassay.datasets.spans.tree import forest
from ragassay.store.spans import SpanRecords
from ragassay.tracing.objects import span_object

MOST_BARS = 500
MOST_READ = 2_000
"""Spans of a trace that are read for its waterfall."""
_MOST_SAID = 60
_LONGEST_SAID = 4_000
_NANOSECONDS = 1e9
_LONGEST_NS = 10**15
"""Some eleven days: a span that says it took longer has a wrong clock."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One span. depth: how many others it is inside of. begins, lasts: shares of the whole trace's
    time, in [0, 1]. seconds: None where its times make no sense. tokens, cost: of it and all inside
    it, None where not said. said: its attributes, name and text, long ones cut.
    """

    name: str
    kind: str
    depth: int
    begins: float
    lasts: float
    starts_s: float
    seconds: float | None
    tokens: float | None
    cost: float | None
    error: str
    said: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A trace's spans from the outside in, in order of time: the first MOST_BARS of `spans`, which
    are at most MOST_READ.
    """

    spans: int
    seconds: float
    bars: tuple[Bar, ...]


def waterfall_of(records: SpanRecords, trace: bytes) -> Waterfall | None:
    """The waterfall of a received trace, None where none of its spans is stored."""
    stored = records.of_trace(trace, MOST_READ)
    return waterfall([span_object(*each) for each in stored]) if stored else None


def waterfall(spans: Sequence[Mapping[str, Any]]) -> Waterfall:
    """The waterfall of spans in the form of OTLP's JSON."""
    roots = forest(spans)
    placed = list(_with_depth(roots))
    timed = [span for span, _ in placed if _is_timed(span)]
    begin = min((span.start for span in timed), default=0)
    end = max((span.end for span in timed), default=0)
    whole = min(max(1, end - begin), _LONGEST_NS)
    figures = figures_of_each(roots)
    bars = tuple(
        _bar(span, depth, begin, whole, figures[id(span)]) for span, depth in placed[:MOST_BARS]
    )
    return Waterfall(len(placed), whole / _NANOSECONDS if timed else 0.0, bars)


def _with_depth(roots: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        span, depth = waiting.pop()
        yield span, depth
        waiting.extend((child, depth + 1) for child in reversed(span.children))


def _is_timed(span: Span) -> bool:
    return 0 < span.start <= span.end < span.start + _LONGEST_NS


def _bar(span: Span, depth: int, begin: int, whole: int, figures: Mapping[str, float]) -> Bar:
    begins, lasts, seconds = 0.0, 0.0, None
    if _is_timed(span):
        begins = min(1.0, (span.start - begin) / whole)
        lasts = min(1.0 - begins, (span.end - span.start) / whole)
        seconds = (span.end - span.start) / _NANOSECONDS
    return Bar(
        name=span.name,
        kind=span.kind.lower(),
        depth=depth,
        begins=begins,
        lasts=lasts,
        starts_s=begins * whole / _NANOSECONDS,
        seconds=seconds,
        tokens=figures.get("total_tokens"),
        cost=figures.get("cost"),
        error=span.error or "",
        said=tuple(_said(span)),
    )


def _said(span: Span) -> Iterator[tuple[str, str]]:
    # Objects stand in the attributes by their parts, too: each text once is enough.
    whole = [(name, value) for name, value in span.attributes.items() if not _is_part(name, span)]
    for name, value in whole[:_MOST_SAID]:
        text = value if isinstance(value, str) else _as_text(value)
        cut = f" … {len(text) - _LONGEST_SAID:,} more characters"
        yield name, text if len(text) <= _LONGEST_SAID else text[:_LONGEST_SAID] + cut
    if len(whole) > _MOST_SAID:
        yield "…", f"{len(whole) - _MOST_SAID:,} more attributes"


def _is_part(name: str, span: Span) -> bool:
    holder, dot, _ = name.rpartition(".")
    return bool(dot) and isinstance(span.attributes.get(holder), dict)


def _as_text(value: object) -> str:
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_INDENT_2
    return orjson.dumps(value, option=options, default=str).decode()
