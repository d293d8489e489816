"""Walks along dotted paths: into objects and lists, also those that a cell holds as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.datasets.cells import unpack


def walk(row: Mapping[str, object], path: str) -> object:
    """The cell of a column; a dotted name that is no column walks inside: "inputs.question",
    "observations.0.output", "hits.*.doc" (what each item of a list has there, as one list). None
    where nothing is there.
    """
    if path in row:
        return row[path]
    return _inside(row, path)


def _inside(value: object, path: str) -> object:
    """What lies at the end of a path into an object or a list; None where nothing does."""
    if not path or value is None:
        return value
    value = unpack(value)
    if isinstance(value, Mapping):
        return _inside_object(value, path)
    if not isinstance(value, list | tuple):
        return None
    part, _, rest = path.partition(".")
    if part == "*":
        return _of_each(value, rest)
    return _inside(inside(value, part), rest)


def _inside_object(fields: Mapping[str, object], path: str) -> object:
    # A key may hold dots itself, as attributes of spans do: the shortest that leads on is taken.
    end = path.find(".")
    while end >= 0:
        key = path[:end]
        if key in fields:
            found = _inside(fields[key], path[end + 1 :])
            if found is not None:
                return found
        end = path.find(".", end + 1)
    return fields.get(path)


def _of_each(items: Sequence[object], path: str) -> list[object] | None:
    """What each of these items has at the end of a path, lists among it one after another; None
    where none has anything.
    """
    found: list[object] = []
    for item in items:
        inner = _inside(item, path)
        if isinstance(inner, list | tuple):
            found.extend(inner)
        elif inner is not None:
            found.append(inner)
    return found or None


def inside(value: object, part: str) -> object:
    """What an object has under this name, or a list at this place; None where it has nothing."""
    value = unpack(value)
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple) and value and part != "*" and is_place(part):
        return value[int(part)] if int(part) < len(value) else None
    return None


def is_place(part: str) -> bool:
    """Whether a part of a path is a place in a list: its number from 0, -1 for the last, or * for
    all.
    """
    return part.isdecimal() or part in ("-1", "*")
