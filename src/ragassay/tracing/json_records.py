"""Records of OTLP out of JSON.

Most of an export are attributes, for which protobuf's own reader of JSON takes some 16 us each.
Those in the form that senders write are read here, and everything else is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragassay.tracing.wire import BadExport

MOST_VALUES = 720_000
"""Values of one export, by the marks before them. 8 MB of short attributes as senders write them
have as many; of bytes that unpack to millions of empty ones, each would take memory.
"""
MOST_SLOW = 1_000_000
"""What protobuf's reader may do for one export, in units of some 3 us."""
_A_CALL, _UNUSUAL = 5, 20
"""Units of a call of the reader, and of one for an attribute in another form."""
_DEEPEST = 110
"""Messages inside each other that are read: some more than protobuf reads, so that both encodings
take the same.
"""
_DEEPEST_HERE = 20
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_LARGEST, _EXACT = 2**63, 2**53
_LISTS = ("events", "links")


# A text of JSON, with what it escapes.
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


class TooManyValues(BadExport):
    """More values than are read."""


def check_values(body: bytes) -> None:
    """Raises TooManyValues where a body of JSON has more than are read, before they are made."""
    if _separators(body) > MOST_VALUES and _separators(_TEXT.sub(b"", body)) > MOST_VALUES:
        raise TooManyValues(f"it has more than {MOST_VALUES:,} values: send fewer at a time")


def _separators(body: bytes) -> int:
    """How many values there are at most: one of these stands before each."""
    return sum(body.count(mark) for mark in (b"{", b"[", b","))


class Slow:
    """What protobuf's reader may still do for an export."""

    def __init__(self) -> None:
        self._left = MOST_SLOW

    def take(self, units: int) -> None:
        """So much is done. Raises TooManyValues."""
        self._left -= units
        if self._left < 0:
            raise TooManyValues("reading it would take too long: send fewer at a time")

    def take_all_of(self, value: Any) -> None:
        """All inside a value is read. Raises TooManyValues."""
        stack = [value]
        while stack:
            each = stack.pop()
            if isinstance(each, dict | list):
                self.take(len(each))
                inner = each.values() if isinstance(each, dict) else each
                stack += [value for value in inner if isinstance(value, dict | list)]


def fill(message: Any, given: Mapping[str, Any], slow: Slow) -> None:
    """Read a record, or a part of one, into a message. Raises TooManyValues; BadExport and what
    protobuf raises for what is none.
    """
    rest = dict(given)
    fields = message.DESCRIPTOR.fields_by_name
    attributes = rest.pop("attributes", None) if type(rest.get("attributes")) is list else None
    lists = {
        name: rest.pop(name) for name in _LISTS if name in fields and type(rest.get(name)) is list
    }
    body = rest.pop("body", None) if "body" in fields else None
    _parse(rest, message, slow)
    for each in attributes or ():
        _fill(message.attributes.add(), each, slow, _is_pair)
    if body is not None:
        _fill(message.body, body, slow, _is_value)
    for name, items in lists.items():
        for item in items:
            if type(item) is not dict:
                raise BadExport(f"its {name} are not objects")
            fill(getattr(message, name).add(), item, slow)


def _fill(message: Any, given: Any, slow: Slow, read: Any) -> None:
    if not read(message, given, _DEEPEST_HERE):
        message.Clear()
        slow.take(_UNUSUAL)
        _parse(given, message, slow)


def _parse(given: Any, message: Any, slow: Slow) -> None:
    from google.protobuf import json_format

    slow.take(_A_CALL)
    slow.take_all_of(given)
    try:
        json_format.ParseDict(
            given, message, ignore_unknown_fields=True, max_recursion_depth=_DEEPEST
        )
    except (json_format.ParseError, RecursionError) as error:
        raise BadExport(str(error)[:200]) from None


def _is_pair(message: Any, given: Any, deepest: int) -> bool:
    """Read {"key": ..., "value": {...}}; False where it is written in another way."""
    if type(given) is not dict or not given.keys() <= {"key", "value"}:
        return False
    key, value = given.get("key", ""), given.get("value", given)
    if type(key) is not str:
        return False
    message.key = key
    return value is given or _is_value(message.value, value, deepest)


def _is_value(message: Any, given: Any, deepest: int) -> bool:
    """Read {"stringValue": ...} and the like; False where it is written in another way."""
    if type(given) is not dict or len(given) > 1 or not deepest:
        return False
    message.SetInParent()
    for name, inner in given.items():
        return _is_scalar(message, name, inner) or _is_list(message, name, inner, deepest)
    return True


def _is_scalar(message: Any, name: str, inner: Any) -> bool:
    kind = type(inner)
    if name == "stringValue" and kind is str:
        message.string_value = inner
    elif name == "boolValue" and kind is bool:
        message.bool_value = inner
    elif name == "intValue" and kind is int and -_LARGEST <= inner < _LARGEST:
        message.int_value = inner
    elif name == "intValue" and kind is str and _WHOLE_NUMBER.fullmatch(inner):
        message.int_value = int(inner)
    elif name == "doubleValue" and (kind is float or (kind is int and abs(inner) <= _EXACT)):
        message.double_value = inner
    else:
        return False
    return True


def _is_list(message: Any, name: str, inner: Any, deepest: int) -> bool:
    if name not in ("arrayValue", "kvlistValue") or type(inner) is not dict:
        return False
    items = inner.get("values", [])
    if type(items) is not list or not inner.keys() <= {"values"}:
        return False
    holder = message.array_value if name == "arrayValue" else message.kvlist_value
    read = _is_value if name == "arrayValue" else _is_pair
    holder.SetInParent()
    return all(read(holder.values.add(), each, deepest - 1) for each in items)
