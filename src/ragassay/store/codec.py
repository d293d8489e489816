"""Bytes of core values, which come back the same: JSON derived from the dataclasses, sealed
with a checksum.

Fields that equal their default are left out, so a payload is small and an old one still reads after
a field was added. What JSON cannot hold exactly is refused (NaN, infinities: ValueError); lone
surrogates are kept by writing them the way UTF-8 would if it allowed them ("surrogatepass"). Lists
inside `Mapping[str, object]` come back as lists.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
import typing
import zlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import TypeVar

import orjson

from ragassay.core import EnvironmentFailure

T = TypeVar("T")
Convert = Callable[[typing.Any], typing.Any] | None  # None: the value passes as it is

DEPTH = 64
"""Nesting of a stored value at most: deeper ones would exhaust the recursion."""


class Damaged(ValueError):
    """Stored bytes are not what was written."""


def damaged(why: str, where: str = "") -> EnvironmentFailure:
    """That as an error that a user can act on."""
    return EnvironmentFailure(
        "E0503",
        "The store is damaged: a stored value is not what was written.",
        where=where,
        why=why,
        fix="keep the file, put back a copy of it, or start a new run with another --store",
    )


def encode(value: object) -> bytes:
    """A core dataclass as JSON bytes. Raises ValueError for NaN and infinities, TypeError for other
    types.
    """
    to_plain = _encoder(typing.cast(typing.Hashable, type(value)))
    return dump(to_plain(value) if to_plain else value)


def decode(kind: type[T], data: bytes) -> T:
    """The value of class `kind` that `encode` wrote. Raises Damaged when the bytes hold none."""
    try:
        plain = load(data)
        from_plain = _decoder(typing.cast(typing.Hashable, kind))
        return typing.cast(T, from_plain(plain) if from_plain else plain)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        why = (
            f"{error} is missing, or a value that is not known"
            if isinstance(error, KeyError)
            else error
        )
        raise Damaged(f"not a {kind.__name__}: {why}") from error


def read(kind: type[T], plain: object) -> T:
    """The value of class `kind` in JSON values that anybody may have written: every field is there
    and of its type.

    A whole number does for a float. Raises KeyError, TypeError, ValueError, AttributeError or
    OverflowError otherwise.
    """
    from_plain = _decoder(typing.cast(typing.Hashable, kind), True)
    return typing.cast(T, from_plain(plain) if from_plain else plain)


def dump(plain: object) -> bytes:
    """JSON-like value -> bytes. The slow way is for what orjson refuses: lone surrogates, integers
    over 64 bit.
    """
    try:
        return orjson.dumps(plain)
    except TypeError:
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        slow = text.encode("utf-8", "surrogatepass")
        try:
            orjson.loads(slow)
        except orjson.JSONDecodeError:
            return slow
        # orjson would read it, but integers over 64 bit as floats: the blank tells `load`.
        return b" " + slow


def load(data: bytes) -> typing.Any:
    """The inverse of `dump`."""
    if data[:1] != b" ":
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # lone surrogates
    return json.loads(data.decode("utf-8", "surrogatepass"))


def seal(data: bytes, *identity: object) -> bytes:
    """`data` behind a CRC-32 of itself and of whose it is: SQLite does not notice a flipped bit or
    a swapped row.
    """
    return _sum(data, identity) + data


def unseal(blob: bytes, *identity: object) -> bytes:
    """The data that `seal` closed. Raises Damaged when it or its owner changed."""
    data = blob[4:]
    if blob[:4] != _sum(data, identity):
        raise Damaged("the checksum does not match")
    return data


def unsealer(*owner: object) -> Callable[[bytes, int], bytes]:
    """`unseal` for many blobs of one owner that differ in the last part of their identity, a
    number.
    """
    # A CRC can be continued: that of the owner is taken once for all blobs.
    first = zlib.crc32(_owner((*owner, "")))

    def unsealed(blob: bytes, last: int) -> bytes:
        data = blob[4:]
        if int.from_bytes(blob[:4], "big") != zlib.crc32(data, zlib.crc32(b"%d" % last, first)):
            raise Damaged("the checksum does not match")
        return data

    return unsealed


def _sum(data: bytes, identity: tuple[object, ...]) -> bytes:
    return zlib.crc32(data, zlib.crc32(_owner(identity))).to_bytes(4, "big")


def _owner(identity: tuple[object, ...]) -> bytes:
    return "\x1f".join(map(str, identity)).encode("utf-8", "surrogatepass")


def as_key(text: str) -> str:
    """`text` as a database column can hold it: NUL and lone surrogates escaped, backslashes
    doubled.
    """
    if "\\" not in text and "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    text = text.replace("\\", "\\\\").replace("\0", "\\u0000")
    return text.encode("utf-8", "backslashreplace").decode()


def from_key(key: str) -> str:
    """The inverse of `as_key`."""
    if not isinstance(key, str):
        raise damaged(f"a {type(key).__name__} stands where a text was written")
    if "\\" not in key:
        return key
    return re.sub(r"\\(?:u([0-9a-f]{4})|\\)", lambda m: chr(int(m[1], 16)) if m[1] else "\\", key)


def finite(value: object, depth: int = 0) -> object:
    """A JSON-like value unchanged (tuples as lists, mappings as dicts). Raises ValueError for NaN
    and infinities.
    """
    if depth > DEPTH:
        raise ValueError(f"a value is nested deeper than {DEPTH}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be stored: a number is finite or absent")
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [finite(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("only text can be a key")
        return {name: finite(item, depth + 1) for name, item in value.items()}
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def _number(value: object) -> object:
    """A number that is finite, fast; whatever else stands where a number may stand (None, a rating
    in words), as `finite`.
    """
    return value if type(value) is float and value - value == 0.0 else finite(value)


@cache
def _encoder(hint: typing.Any) -> Convert:
    if dataclasses.is_dataclass(hint):
        return _dataclass_encoder(typing.cast(type, hint))
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [
            convert
            for arg in args
            if arg is not types.NoneType and (convert := _encoder(arg)) is not None
        ]
        if not inner:
            return None
        (convert,) = inner  # the contract has at most one kind in a union that needs work
        if convert is _number:  # it lets None through by itself
            return convert
        return _or_none(convert)
    if origin is tuple:
        item = _encoder(args[0])
        return None if item is None else lambda values: [item(value) for value in values]
    if origin is not None and issubclass(origin, Mapping):
        value_of = _encoder(args[1])
        return (
            dict
            if value_of is None
            else lambda values: {name: value_of(value) for name, value in values.items()}
        )
    if hint is float:
        return _number
    if hint is object:
        return finite
    if hint in (str, int, bool) or issubclass(hint, Enum):
        return None
    raise TypeError(f"no way to store a {hint}")


_MISSING = object()


def _or_none(convert: typing.Callable[[typing.Any], object]) -> Convert:
    """The conversion of a value that may be missing."""

    def converted(value: typing.Any) -> object:
        return None if value is None else convert(value)

    return converted


def _stored_name(f: dataclasses.Field[typing.Any]) -> str:
    """The key of a field in stored JSON: its name, or what its metadata has as "stored_as" where a
    field was renamed and the values of before still read.
    """
    name: str = f.metadata.get("stored_as", f.name)
    return name


def _default(f: dataclasses.Field[typing.Any]) -> object:
    """A field's default; _MISSING where it has none."""
    if f.default is not dataclasses.MISSING:
        return f.default
    return _MISSING if f.default_factory is dataclasses.MISSING else f.default_factory()


def _compiled(lines: list[str], names: dict[str, object]) -> typing.Any:
    """The function `convert` of these lines. One is made for each class, as the dataclasses' own
    methods are: rows and parts of scores are written and read by the million, and a loop over their
    fields takes several times as long.
    """
    exec("\n".join(["def convert(source):", *(f"    {line}" for line in lines)]), names)
    return names["convert"]


def _dataclass_encoder(kind: type) -> Convert:
    hints = typing.get_type_hints(kind)
    lines, names = ["plain = {}"], dict[str, object]()
    for n, f in enumerate(dataclasses.fields(kind)):
        convert, default = _encoder(hints[f.name]), _default(f)
        names |= {f"convert_{n}": convert, f"default_{n}": default}
        item = "item" if convert is None else f"convert_{n}(item)"
        # `is not` first: most fields are their very default, and equality of tuples and mappings is
        # looked into only where they are not.
        guard = (
            "" if default is _MISSING else f"if item is not default_{n} and item != default_{n}: "
        )
        lines += [f"item = source.{f.name}", f"{guard}plain[{_stored_name(f)!r}] = {item}"]
    return typing.cast(Convert, _compiled([*lines, "return plain"], names))


def _dataclass_decoder(kind: type, strict: bool) -> Convert:
    """Takes what stands there; a field without a default must be there (strict: every field), and a
    name that is no field is passed over.
    """
    hints = typing.get_type_hints(kind)
    names: dict[str, object] = {"kind": kind, "missing": _MISSING}
    lines = [] if strict else ["get = source.get"]
    for n, f in enumerate(dataclasses.fields(kind)):
        convert, default = _decoder(hints[f.name], strict), _MISSING if strict else _default(f)
        names |= {f"convert_{n}": convert, f"default_{n}": default, f"make_{n}": f.default_factory}
        item = f"item_{n}" if convert is None else f"convert_{n}(item_{n})"
        if default is _MISSING:
            lines += [f"item_{n} = source[{_stored_name(f)!r}]", f"item_{n} = {item}"]
        else:
            absent = f"default_{n}" if f.default_factory is dataclasses.MISSING else f"make_{n}()"
            lines += [
                f"item_{n} = get({_stored_name(f)!r}, missing)",
                f"item_{n} = {absent} if item_{n} is missing else {item}",
            ]
    arguments = ", ".join(
        f"{f.name}=item_{n}" for n, f in enumerate(dataclasses.fields(kind)) if f.init
    )
    return typing.cast(Convert, _compiled([*lines, f"return kind({arguments})"], names))


_LEAVES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _leaf(kind: type) -> Convert:
    """Refuses what is not of this kind; a truth value is no number."""
    kinds = (int, float) if kind is float else kind

    def check(value: typing.Any) -> object:
        right = isinstance(value, kinds) and isinstance(value, bool) is (kind is bool)
        if not right:
            raise TypeError(f"{_LEAVES[kind]} is expected")
        if kind is not float:
            return value
        if not math.isfinite(value):
            raise ValueError("a number is not finite")
        return float(value)

    return check


@cache
def _decoder(hint: typing.Any, strict: bool = False) -> Convert:
    if dataclasses.is_dataclass(hint):
        return _dataclass_decoder(typing.cast(type, hint), strict)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [
            c
            for arg in args
            if arg is not types.NoneType and (c := _decoder(arg, strict)) is not None
        ]
        if not inner:
            return None
        (convert,) = inner
        return lambda plain: None if plain is None else convert(plain)
    if origin is tuple:
        item = _decoder(args[0], strict)
        return tuple if item is None else lambda plain: tuple([item(value) for value in plain])
    if origin is not None and issubclass(origin, Mapping):
        value_of = _decoder(args[1], strict)
        return (
            None
            if value_of is None
            else lambda plain: {name: value_of(value) for name, value in plain.items()}
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {member.value: member for member in hint}.__getitem__
    return _leaf(hint) if strict and hint in _LEAVES else None
