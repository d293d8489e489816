"""A text cut into pieces so that overlapping spans can be marked in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """Characters start..end (exclusive) that `number` wants marked."""

    start: int
    end: int
    number: int


class Segment(NamedTuple):
    """A piece of the text with the numbers of the spans over it, those that begin here and those
    that end here.
    """

    text: str
    over: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]


def segments(text: str, spans: Sequence[Span]) -> Iterator[Segment]:
    """Cut `text` at every span's ends; joined, the pieces are the text again. Spans outside the
    text are ignored.
    """
    inside = sorted(span for span in spans if 0 <= span.start < span.end <= len(text))
    places = {0, len(text)}
    for span in inside:
        places.add(span.start)
        places.add(span.end)
    cuts = sorted(places)
    active: list[Span] = []
    upcoming = 0
    for start, end in pairwise(cuts):
        active = [span for span in active if span.end > start]
        while upcoming < len(inside) and inside[upcoming].start == start:
            active.append(inside[upcoming])
            upcoming += 1
        begins = [span for span in active if span.start == start]
        ends = [span for span in active if span.end == end]
        yield Segment(text[start:end], _numbers(active), _numbers(begins), _numbers(ends))


def _numbers(spans: list[Span]) -> tuple[int, ...]:
    return tuple(sorted(span.number for span in spans))
