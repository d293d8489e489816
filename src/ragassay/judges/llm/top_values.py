"""The JSON values at the top level of a text, as they stand there or else repaired."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragassay.judges.llm.loose_json import LooseReader
from ragassay.judges.llm.objects import DECODER, MOST_FAILURES, wasted_at_most, wasted_by

# It begins with one set of characters, which is what makes the search for it fast.
VALUE_START = re.compile(r"""[{\[](?:(?<=\{)\s*+(?:["'/#]|[\w-]++\s*+:)|(?<=\[)\s*+[\[{/#])""")
"""How an object with a key begins, or a list of objects or lists."""


@dataclass(frozen=True, slots=True)
class TopValue:
    """What begins like a value. is_broken: it does not end like one; then `end` is behind its
    start, and value is None. repairs: what of its form was repaired.
    """

    value: object
    start: int
    end: int
    repairs: frozenset[str] = frozenset()
    is_broken: bool = False


class TopValues:
    """Finds values in one text. What they cost together grows with the length of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._failures = 0
        self._wasted_budget = wasted_at_most(text)
        self._loose = LooseReader(text)

    def first(self, at: int, stop: int) -> TopValue | None:
        """The first value that begins between `at` and `stop`; None where none does, or where too
        much was tried in vain.
        """
        if self._failures > MOST_FAILURES or self._wasted_budget < 0:
            return None
        match = VALUE_START.search(self._text, at, stop)
        if match is None:
            return None
        start = match.start()
        try:
            value, end = DECODER.raw_decode(self._text, start)
        except (ValueError, RecursionError) as error:
            self._wasted_budget -= wasted_by(error, self._text, start)
        else:
            return TopValue(value, start, end)
        repaired = self._loose.read(start)
        if repaired is not None:
            value, end, repairs = repaired
            return TopValue(value, start, end, repairs)
        self._failures += 1
        return TopValue(None, start, match.end(), is_broken=True)
