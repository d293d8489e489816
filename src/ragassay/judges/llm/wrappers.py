"""The entries in a JSON value of another form than the one asked for, and the items they are about.

A bare list, an entry alone, an object with an entry for each id, any object around one of them, and
a call of a tool that was written as text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ragassay.judges.llm.entries import TooMuch
from ragassay.judges.llm.objects import DECODER
from ragassay.judges.rubric import Rubric

_MOST_DEPTH = 5
# Far more than any call asks about; where a list holds more, nothing is repaired.
MOST_ENTRIES = 400
_ARGUMENTS = ("arguments", "parameters", "args", "input")
# What models put around an id that they copy, and before it.
_BEFORE_AN_ID = re.compile(r"(?:tag|id|item|claim)\b[\s:#=]*+", re.I)
_AROUND_AN_ID = " \t\r\n#`'\"[]()<>"


class Entry(NamedTuple):
    """What a reply says of one item. id: the item's, None where the entry names none that was
    asked about; is_foreign: whether it names something else instead; is_unclear: whether it is no
    entry, or names several; is_beside: whether it stands beside the list of verdicts.
    """

    fields: Mapping[str, object]
    id: str | None
    is_foreign: bool
    repairs: frozenset[str]
    is_unclear: bool = False
    is_beside: bool = False


Entries = list[Entry]


@dataclass(frozen=True, slots=True)
class Unwrapping:
    """Finds the entries about some ids. Each list of them, and each entry that stands alone, is one
    of the lists that are returned.
    """

    rubric: Rubric
    asked: Collection[str]

    def entries(
        self, value: object, repairs: frozenset[str] = frozenset(), depth: int = 0
    ) -> list[Entries]:
        """The entries in a value; none where it holds nothing of the kind. repairs: what was
        repaired to get at the value. Raises TooMuch.
        """
        if depth > _MOST_DEPTH:
            return []
        if isinstance(value, list):
            return self._in_list(value, repairs | {"bare_list"}, depth)
        if isinstance(value, dict):
            return self._in_object(value, repairs, depth)
        return []

    def _in_list(self, items: list[object], repairs: frozenset[str], depth: int) -> list[Entries]:
        if len(items) > MOST_ENTRIES:
            raise TooMuch
        objects = [item for item in items if isinstance(item, dict)]
        calls = [_arguments(item) for item in objects]
        if objects and None not in calls:
            return self._in_all(calls, (repairs - {"bare_list"}) | {"tool_call_as_text"}, depth)
        entries = [self.entry(item, repairs) for item in objects]
        if entries and len(objects) < len(items):
            entries.append(Entry({}, None, True, repairs, is_unclear=True))
        found = [entries] if entries else []
        for item in objects:
            if any(key.strip().lower() == "verdicts" for key in item) and depth < _MOST_DEPTH:
                found += self._in_object(item, repairs, depth + 1)
        return found

    def _in_object(
        self, value: dict[str, object], repairs: frozenset[str], depth: int
    ) -> list[Entries]:
        for key, inner in value.items():
            if key.strip().lower() == "verdicts":
                found = self._in_verdicts(inner, repairs, depth)
                if key != "verdicts":
                    found = _with_repair(found, "key_spelling")
                # A second list beside it may contradict it.
                rest = [other for name, other in value.items() if name != key]
                beside = self._in_all(rest, repairs | {"other_wrapper"}, depth)
                return found + list(map(_beside, beside))
        by_id = self._by_id(value, repairs)
        if by_id:
            return [by_id]
        if self._is_entry(value):
            return [[self.entry(value, repairs | {"bare_entry"})]]
        arguments = _arguments(value)
        if arguments is not None:
            return self._in_all([arguments], repairs | {"tool_call_as_text"}, depth)
        return self._in_all(
            [_in_a_string(inner) for inner in value.values()], repairs | {"other_wrapper"}, depth
        )

    def _in_verdicts(self, inner: object, repairs: frozenset[str], depth: int) -> list[Entries]:
        if isinstance(inner, list):
            return self._in_list(inner, repairs, depth)
        if isinstance(inner, dict):
            return self._in_object(inner, repairs, depth + 1)
        return []

    def _in_all(self, values: list[object], repairs: frozenset[str], depth: int) -> list[Entries]:
        found: list[Entries] = []
        for value in values:
            if isinstance(value, list):
                found += self._in_list(value, repairs, depth + 1)
            else:
                found += self.entries(value, repairs, depth + 1)
        return found

    def _by_id(self, value: dict[str, object], repairs: frozenset[str]) -> Entries:
        """The entries of an object whose keys are ids."""
        entries: Entries = []
        if len(value) > MOST_ENTRIES:
            raise TooMuch
        for key, inner in value.items():
            name, spelling = self._asked_id(key)
            if name is None:
                continue
            if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict):
                inner = inner[0]
            fields: Mapping[str, object] = {self._field: inner}
            if isinstance(inner, dict):
                entry = self.entry(inner, frozenset())
                # One that says to be about another item is about neither.
                is_other = entry.is_foreign or entry.id not in (None, name)
                fields = {} if is_other else inner
            entries.append(Entry(fields, name, False, repairs | spelling | {"object_by_id"}))
        return entries

    @property
    def _field(self) -> str:
        """The field of an entry that holds what was asked for."""
        return "rating" if self.rubric.writes == "ratings" else self.rubric.writes

    def _is_entry(self, value: dict[str, object]) -> bool:
        if any(key.strip().lower() == self._field for key in value):
            return True
        return self.entry(value, frozenset()).id is not None

    def entry(self, fields: dict[str, object], repairs: frozenset[str]) -> Entry:
        """The entry that has these fields, with the id that it names."""
        given: object = None
        for key, value in fields.items():
            if key.strip().lower() == "id":
                given = value
        name, spelling = self._asked_id(given)
        if name is not None:
            return Entry(fields, name, False, repairs | spelling)
        others = {value for value in fields.values() if isinstance(value, str)}
        names = others.intersection(self.asked)
        if len(names) == 1:
            return Entry(fields, names.pop(), False, repairs | {"id_under_another_name"})
        is_blank = given is None or (isinstance(given, str) and not given.strip())
        return Entry(fields, None, bool(names) or not is_blank, repairs, is_unclear=bool(names))

    def _asked_id(self, given: object) -> tuple[str | None, frozenset[str]]:
        """The id that is given, if it was asked about, and whether its spelling was repaired."""
        if type(given) is int and abs(given) < 10**32:
            given = str(given)
        elif not isinstance(given, str):
            return None, frozenset()
        elif given in self.asked:
            return given, frozenset()
        plain = given.strip(_AROUND_AN_ID)
        plain = _BEFORE_AN_ID.sub("", plain, count=1).strip(_AROUND_AN_ID)
        if plain == plain.upper():
            plain = plain.lower()
        if plain in self.asked:
            return plain, frozenset({"id_spelling"})
        return None, frozenset()


def _arguments(value: dict[str, object]) -> object | None:
    """The arguments of a call of a tool; None where the value is no such call."""
    function = value.get("function")
    if isinstance(function, dict):
        value = function
    if not isinstance(value.get("name"), str):
        return None
    for key in _ARGUMENTS:
        arguments = value.get(key)
        if isinstance(arguments, (dict, list)):
            return arguments
        if isinstance(arguments, str):
            return decoded(arguments)
    return None


def _in_a_string(value: object) -> object:
    """The object that is the whole of a string; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        return decoded(value)
    return value


def decoded(text: str) -> object | None:
    """The value that is the whole of a text; None where there is none."""
    text = text.strip()
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) else None


def _beside(entries: Entries) -> Entries:
    return [entry._replace(is_beside=True) for entry in entries]


def _with_repair(found: list[Entries], repair: str) -> list[Entries]:
    repaired: list[Entries] = []
    for entries in found:
        repaired.append([entry._replace(repairs=entry.repairs | {repair}) for entry in entries])
    return repaired
