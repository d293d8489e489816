"""Stretches of a text that are marked token by token, as whole stretches."""

from __future__ import annotations

from collections.abc import Iterable


def joined(text: str, places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The places (start, end) of tokens, in order, those next to each other as one.

    One stretch also where a mark alone parts them, as in 1,000 or well-known.
    """
    spans: list[tuple[int, int]] = []
    # Pieces of one word may share its place, hence each place once.
    for start, end in dict.fromkeys(places):
        between = text[spans[-1][1] : start] if spans else ""
        if spans and (len(between) <= 1 or not between.strip()):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)
