"""The spans of a trace as a forest: roots, what lies in them, the outermost ones of a kind.

Nothing here recurses: a trace may be as deep as it has spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragassay.datasets.spans.logged import with_event_content
from ragassay.datasets.spans.span import Span, read_span, sorted_bytes


def forest(raws: Sequence[Mapping[str, Any]]) -> list[Span]:
    """The spans without a parent among them, in order of time, each with its children.

    The same for every order of the spans: a span that arrived twice counts once, and where both
    differ the one that ended later.
    """
    spans = [read_span(with_event_content(raw), number) for number, raw in enumerate(raws)]
    return forest_of(spans)


def forest_of(spans: Iterable[Span]) -> list[Span]:
    """As `forest`, of spans that are read."""
    by_id: dict[str, Span] = {}
    for span in spans:
        known = by_id.get(span.id)
        if known is None or _weight(span) > _weight(known):
            by_id[span.id] = span
    roots: list[Span] = []
    for span in sorted(by_id.values(), key=lambda span: span.order):
        parent = by_id.get(span.parent)
        if parent is None or parent is span:
            roots.append(span)
        else:
            span.holder = parent
            parent.children.append(span)
    return roots + _first_of_circles(by_id, roots)


def _weight(span: Span) -> tuple[int, int, bytes, tuple[object, ...]]:
    """Which of two spans with one id counts: by its end, then by what it says."""
    rest = (span.start, span.parent, span.name, span.error or "", span.scope)
    return span.end, len(span.attributes), sorted_bytes(span.attributes), rest


def _first_of_circles(by_id: Mapping[str, Span], roots: Sequence[Span]) -> list[Span]:
    """The first spans of those that no root leads to: each is its own ancestor."""
    reached = {span.id for span in everything(roots)}
    if len(reached) == len(by_id):
        return []
    first: list[Span] = []
    for span in sorted(by_id.values(), key=lambda span: span.order):
        if span.id not in reached:
            if span.holder is not None:
                span.holder.children.remove(span)
                span.holder = None
            first.append(span)
            reached |= {each.id for each in everything([span])}
    return first


def everything(spans: Sequence[Span]) -> Iterator[Span]:
    """These spans and all inside them, from the outside in, in order of time."""
    waiting = list(reversed(spans))
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(reversed(span.children))


def outermost(spans: Sequence[Span], wanted: Callable[[Span], bool]) -> Iterator[Span]:
    """The spans that are wanted and not inside another one that is."""
    waiting = list(reversed(spans))
    while waiting:
        span = waiting.pop()
        if wanted(span):
            yield span
        else:
            waiting.extend(reversed(span.children))


def around(span: Span) -> Iterator[Span]:
    """The spans that this one is inside of, from the inside out."""
    holder = span.holder
    while holder is not None:
        yield holder
        holder = holder.holder
