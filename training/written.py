"""Which pairs written by hand are learned from: an answer that its passages support, and the same
answer with one planted fault.

Those of `benchmarks/planted_faults` that the rules were built on too; those that were held back are
only measured. A pair is one bundle. Of every eighth text the pairs are kept aside, to be looked at.
"""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.planted_faults.pairs import BY_HAND, Pair, read_pairs
from training.offline_data import CONTRADICTED, SUPPORTED, Example

from ragassay.core import MatchCall

SOURCE = "written"
HELD_BACK = "held back"
_WORD = re.compile(r"\S+")
# A fault that takes more of the words is no place that could be pointed at.
_MOST_CHANGED = 0.4


def built_on() -> list[Pair]:
    """All pairs that may be learned from. Raises ValueError where one has the passages of a pair
    that was held back.
    """
    found: list[Pair] = []
    kept: set[str] = set()
    for source, path in BY_HAND.items():
        pairs = read_pairs(Path(path), source)
        if source.endswith(HELD_BACK):
            kept |= {passage for pair in pairs for passage in pair.contexts}
        else:
            found += pairs
    for pair in found:
        if not kept.isdisjoint(pair.contexts):
            raise ValueError(f"{pair.id} of {pair.source} has a passage that was held back")
    return found


def is_aside(pair: Pair) -> bool:
    """Whether a pair is looked at and not learned from; pairs of one text alike."""
    return zlib.crc32(pair.cluster.encode()) % 8 == 0


def examples(pair: Pair) -> list[Example]:
    """Both answers of a pair."""
    return [
        Example(SOURCE, pair.id, call(pair, pair.good), 1, SUPPORTED, ()),
        Example(
            SOURCE,
            pair.id,
            call(pair, pair.bad),
            0,
            CONTRADICTED,
            tuple(changed(pair.good, pair.bad)) or None,
        ),
    ]


def call(pair: Pair, said: str) -> MatchCall:
    """What is asked of an answer."""
    return MatchCall("support", said, pair.contexts, pair.question)


def changed(good: str, bad: str) -> Iterator[tuple[int, int]]:
    """Start and end in `bad` of the words that `good` has not; none where they are too many, or
    where words are only missing.
    """
    mine, theirs = list(_WORD.finditer(bad)), [m.group() for m in _WORD.finditer(good)]
    matcher = difflib.SequenceMatcher(None, theirs, [m.group() for m in mine], autojunk=False)
    places = [(low, high) for tag, _, _, low, high in matcher.get_opcodes() if tag != "equal"]
    if sum(high - low for low, high in places) > _MOST_CHANGED * len(mine):
        return
    for low, high in places:
        if low < high:
            yield mine[low].start(), mine[high - 1].end()
