"""The parts of an export in OTLP's protobuf encoding, cut apart without reading what is inside.

A span is stored as the bytes that it came as, and one that cannot be read must not cost the others
of its request: so the two outer levels are cut here, and each span is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10

RESOURCES = 1
"""Field of an export that holds a resource with its scopes."""
_RESOURCE, _SCOPES = 1, 2
_SCOPE, _RECORDS = 1, 2
"""Fields that exports of spans and of log records share."""


MOST_RECORDS = 50_000
"""Records of one export. A sender has some hundreds in each; of bytes that unpack to millions of
empty ones, each would be looked at.
"""
MOST_FIELDS = 4 * MOST_RECORDS
"""Fields that are looked at to cut an export apart."""


class BadExport(ValueError):
    """Bytes that are no export."""


def too_many() -> BadExport:
    """The refusal of an export with more records than are taken."""
    return BadExport(f"it has more than {MOST_RECORDS:,} records: send fewer at a time")


class Part(NamedTuple):
    """Records of one library. origin: a resource with that library, in OTLP's encoding."""

    origin: bytes
    records: list[bytes]


def parts_of(export: bytes) -> list[Part]:
    """The records of an export by resource and library. Raises BadExport."""
    parts: list[Part] = []
    left = _Left(MOST_FIELDS)
    for number, resource_records in _messages(export, left):
        if number == RESOURCES:
            parts += _parts_of_resource(resource_records, left)
    if sum(len(part.records) for part in parts) > MOST_RECORDS:
        raise too_many()
    return parts


class _Left:
    """How many fields may still be looked at."""

    def __init__(self, fields: int) -> None:
        self.fields = fields

    def take(self) -> None:
        """One less. Raises BadExport where none is left."""
        self.fields -= 1
        if self.fields < 0:
            raise too_many()


def _parts_of_resource(data: bytes, left: _Left) -> list[Part]:
    resource = b""
    scopes: list[bytes] = []
    for number, message in _messages(data, left):
        if number == _RESOURCE:
            resource += message
        elif number == _SCOPES:
            scopes.append(message)
    parts: list[Part] = []
    for each in scopes:
        scope = b""
        records: list[bytes] = []
        for number, message in _messages(each, left):
            if number == _SCOPE:
                scope += message
            elif number == _RECORDS:
                records.append(message)
        parts.append(Part(origin_of(resource, scope), records))
    return parts


def origin_of(resource: bytes, scope: bytes) -> bytes:
    """A resource with one library and no records."""
    return field(_RESOURCE, resource) + field(_SCOPES, field(_SCOPE, scope))


def field(number: int, message: bytes) -> bytes:
    """A field of a message that is a message, a text or bytes. number: below 16."""
    return bytes([number << 3 | _BYTES]) + varint(len(message)) + message


def varint(value: int) -> bytes:
    """A number in the variable length of protobuf."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _messages(data: bytes, left: _Left) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of the fields of a message that are messages or texts; others are passed
    over. Raises BadExport.
    """
    place, end = 0, len(data)
    while place < end:
        left.take()
        tag, place = _number(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == _BYTES:
            size, place = _number(data, place)
            if size > end - place:
                raise BadExport("it is cut short")
            yield number, data[place : place + size]
            place += size
        elif kind == _VARINT:
            _, place = _number(data, place)
        elif kind == _FIXED64:
            place += 8
        elif kind == _FIXED32:
            place += 4
        else:
            raise BadExport(f"it has a field of the unknown kind {kind}")
        if number == 0 or place > end:
            raise BadExport("it is no message of protobuf")


def _number(data: bytes, place: int) -> tuple[int, int]:
    """(the number of variable length at a place, the place behind it)."""
    value = shift = 0
    for position in range(place, min(place + _LONGEST_VARINT, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise BadExport("it is cut short")
