"""Which items the entries of a reply without ids are about: as they name them, else in the order of
the prompt.

The order is believed only where nothing in the entries could name an item otherwise. Where
something does, all entries must name items by it, each another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from ragassay.judges.llm.entries import known_fields
from ragassay.judges.llm.rating_forms import is_rating_like
from ragassay.judges.rubric import Rubric

_SAYS_WHY = re.compile(
    r"reasons?|rationale|explanation|justification|analysis|thoughts?|comments?|evidence|quote"
    r"|citations?|confidence"
)
_NAMES_AN_ITEM = re.compile(
    r"(?:^|[_\s-])(?:id|ids|index|idx|number|num|no|nr|n|i|item|claim|tag|key|position|order|#)"
    r"(?:$|[_\s-])"
)
_NUMBER = re.compile(r"[\s#`*\"']*+(?:[a-z]{1,20}[\s_#.:-]*+)?([0-9]{1,4})[\s.)`*\"']*+", re.I)


class _Refused(ValueError):
    """The entries name items in a way that is not understood."""


class ItemOrder:
    """Names the items of entries without ids. ids: in the order of the prompt; texts: id -> the
    text of the item.
    """

    def __init__(self, rubric: Rubric, ids: Sequence[str], texts: Mapping[str, str]) -> None:
        self._rubric = rubric
        self._ids = ids
        self._by_text: dict[str, str] = {}
        for name in ids:
            plain = " ".join(texts.get(name, "").split())
            # Items with one text cannot be told apart by it.
            self._by_text[plain] = "" if plain in self._by_text else name

    def named(self, entries: Sequence[Mapping[str, object]]) -> tuple[list[str], str] | None:
        """The ids of the entries (as many as there are ids) and the name of the repair; None where
        it is not certain.
        """
        known = known_fields(self._rubric) - {"id"}
        keys = set(chain.from_iterable(entries))
        names = {key for key in keys if key.strip().lower() not in known}
        found: tuple[list[str], str] | None = None
        try:
            for name in sorted(names):
                values = [entry.get(name) for entry in entries]
                order = self._order(name.strip().lower(), values)
                if order is not None and found is not None and order[0] != found[0]:
                    return None
                found = found or order
        except _Refused:
            return None
        return found or (list(self._ids), "ids_by_order")

    def _order(self, name: str, values: Sequence[object]) -> tuple[list[str], str] | None:
        """The items that one field names by its values; None where by none. Raises _Refused."""
        says_why = _SAYS_WHY.fullmatch(name) is not None or is_rating_like(name)
        if says_why or all(value is None or value == "" for value in values):
            return None
        if all(type(value) in (bool, float) for value in values):
            return None
        texts = [" ".join(value.split()) for value in values if isinstance(value, str)]
        by_text = [self._by_text.get(text, "") for text in texts]
        if len(set(filter(None, by_text))) == len(values):
            return by_text, "items_by_text"
        return self._by_number(name, [_number(value) for value in values])

    def _by_number(self, name: str, numbers: Sequence[int | None]) -> tuple[list[str], str] | None:
        in_order = list(range(1, len(self._ids) + 1))
        may_name = name == self._rubric.item or _NAMES_AN_ITEM.search(name) is not None
        if None in numbers or (may_name and sorted(filter(None, numbers)) != in_order):
            raise _Refused
        if may_name:
            return [self._ids[number - 1] for number in numbers if number], "items_by_number"
        if len(set(numbers)) == len(numbers) > 1 and list(numbers) != in_order:
            raise _Refused
        return None


def _number(value: object) -> int | None:
    if type(value) is int and abs(value) < 10_000:
        return value
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match is not None else None
