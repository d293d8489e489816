"""The JSON objects in a text, as they stand there: nothing is repaired.

Finding them takes linear time, whatever the text, and raises nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

# How many JSON-like starts, and how many of them without an object, are tried before the rest of a
# text is left unread: a hostile reply must not cost quadratic time.
MOST_STARTS = 400
MOST_FAILURES = 40
_START = re.compile(r'\{\s*+"')


class _Unusable(ValueError):
    """JSON that we do not take: NaN, infinities, a key given twice."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    # Readers of JSON differ in which of two equal keys counts, so neither is believed.
    if len(unique) != len(pairs):
        raise _Unusable("a key is given twice")
    return unique


def _no_constant(name: str) -> object:
    raise _Unusable(name)


# strict=False: models put raw line breaks into strings, and nothing depends on them.
DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_constant)
"""The decoder of what is read as it stands; it raises ValueError or RecursionError."""


class PlacedObject(NamedTuple):
    """A JSON object, and where it begins and ends."""

    value: dict[str, object]
    start: int
    end: int


def objects(text: str) -> Iterator[PlacedObject]:
    """The complete JSON objects that stand in a text, outermost ones, in order."""
    at = 0
    failures = 0
    # Characters that may be decoded in vain: nested starts would be read again and again else.
    wasted_budget = wasted_at_most(text)
    for _ in range(MOST_STARTS):
        start = _START.search(text, at)
        if start is None or failures > MOST_FAILURES or wasted_budget < 0:
            return
        try:
            value, at = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            at = start.end() - 1
            failures += 1
            wasted_budget -= wasted_by(error, text, start.start())
        else:
            if isinstance(value, dict):
                yield PlacedObject(value, start.start(), at)


def wasted_at_most(text: str) -> int:
    """How many characters of a text may be decoded in vain."""
    return 2 * len(text) + 10_000


def wasted_by(error: Exception, text: str, start: int) -> int:
    """How many characters the decoder has read in vain."""
    if isinstance(error, json.JSONDecodeError):
        return error.pos - start
    if isinstance(error, RecursionError):
        # What stands inside of a nest that is too deep mostly is too deep as well.
        return len(text)
    # NaN, a key given twice, a number of 5,000 digits: these errors do not say how far the decoder
    # came.
    return len(text) // 4
