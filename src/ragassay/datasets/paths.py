"""Walks along dotted paths: into objects and lists, also those that a cell holds as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.datasets.cells import unpack


def walk(row: Mapping[str, object], path: str) -> object:
    """The cell of a column; a dotted name that is no column walks inside: "inputs.question",
    "observations.0.output". None where nothing is there.
    """
    if path in row:
        return row[path]
    value: object = row
    for part in path.split("."):
        value = inside(value, part)
    return value


def inside(value: object, part: str) -> object:
    """What an object has under this name, or a list at this place; None where it has nothing."""
    value = unpack(value)
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple) and value and is_place(part):
        place = int(part)
        if place < len(value):
            return value[place]
    return None


def is_place(part: str) -> bool:
    """Whether a part of a path is a place in a list: its number from 0, or -1 for the last."""
    return part.isdecimal() or part == "-1"
