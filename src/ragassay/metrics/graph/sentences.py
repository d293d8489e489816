"""The sentences of a block of text, at their exact place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ragassay.core.boundaries import boundaries

_WINDOW = 3_000
"""Characters that the sentence splitter gets at a time: its time grows with their square."""
_ENUMERATOR = re.compile(r"\(?\d{1,3}[.)]$")
_CITATIONS = re.compile(r"(?:\[\^?\d{1,4}(?:[ ,;–-]+\d{1,4})*\][ \t]*)+")


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Start and end of the sentences of text[start:end], window by window.

    The last sentence of a window may be cut by its end, so the next window begins with it. One that
    fills half a window is cut, at white space where there is any.
    """
    at = start
    while at < end:
        stop = end
        half = at + _WINDOW // 2
        if end > at + _WINDOW:
            stop = at + _WINDOW
            space = max(text.rfind(" ", half, stop), text.rfind("\n", half, stop))
            if space >= 0:
                stop = space + 1
        spans = _window(text[at:stop])
        # Left for the next window, unless it is so long that the windows would hardly move on.
        if stop < end and at + spans[-1][0] >= half:
            stop = at + spans.pop()[0]
        for first, after in spans:
            yield at + first, at + after
        at = stop


def _window(part: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text, all of it covered."""
    # Built from the starts alone, so that nothing between two sentences can get lost.
    starts = {0, *(start for start, _ in boundaries(part))} - {len(part)}
    spans: list[tuple[int, int]] = []
    for start, end in pairwise((*sorted(starts), len(part))):
        start = _after_citations(part, start, end, spans)
        if start == end:
            continue
        if spans and _ENUMERATOR.match(part[slice(*spans[-1])].strip()):
            spans[-1] = (spans[-1][0], end)  # "1." is no sentence: it opens the next one
        else:
            spans.append((start, end))
    return spans


def _after_citations(part: str, start: int, end: int, spans: list[tuple[int, int]]) -> int:
    """Where a sentence begins once the citation marks in front of it are given to the last one."""
    marks = _CITATIONS.match(part, start) if spans and part[start] == "[" else None
    if marks is None:
        return start
    cut = min(marks.end(), end)
    spans[-1] = (spans[-1][0], cut)
    return cut
