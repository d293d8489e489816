"""The sentences of a passage: its lines first (headings, list entries, table rows)."""

from __future__ import annotations

import re
from itertools import pairwise

from ragassay.core.boundaries import boundaries

# The splitter sees so many characters at once, so that a line without any boundary costs linear
# time too.
_PIECE = 20_000
_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]+")
_ENUMERATOR = re.compile(r"\s*(?:[-*•]\s*)?\(?(?:\d{1,3}|[A-Za-z])[.)]\s*")


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, in order, without surrounding white space. What holds no
    letter or digit is none.

    Everything else of the text is in one of them: nothing between two sentences gets lost.
    """
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        line_begin = len(spans)
        for at in range(line.start(), line.end(), _PIECE):
            end = min(at + _PIECE, line.end())
            starts = {at, *(at + start for start, _ in boundaries(text[at:end]))} - {end}
            for start, stop in pairwise([*sorted(starts), end]):
                if len(spans) > line_begin and _ENUMERATOR.fullmatch(text, *spans[-1]):
                    start = spans.pop()[0]  # "1." is no sentence: it opens the next one
                spans.append((start, stop))
    stripped = [_stripped(text, start, stop) for start, stop in spans]
    return [span for span in stripped if span is not None]


def _stripped(text: str, start: int, stop: int) -> tuple[int, int] | None:
    part = text[start:stop]
    if not any(char.isalnum() for char in part):
        return None
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())
