"""The chunks in what a retriever returned, and the same object with fewer of them.

A list of chunks may stand by itself, or under a usual name in an object, in the results of a
pipeline's components, or beside lists with an entry for each chunk, as vector stores answer. What
is passed on keeps that form: whoever called the retriever reads it as before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from ragassay.datasets.names import CONTEXT_NAMES, HIT_LISTS, WRAPPERS
from ragassay.datasets.outputs import part
from ragassay.instrument.documents import UNREADABLE, readable

Only = Callable[[Collection[int]], Any]
"""What was read, with the chunks at these places alone."""

_DEEPEST = 4
_TIERS = (
    tuple([name for name in CONTEXT_NAMES if name != "sources"]),
    HIT_LISTS,
    ("sources",),  # mostly links, beside the chunks
)
"""Names under which chunks stand; the first names that are there count."""
_BESIDE = ("ids", "distances", "scores", "metadatas", "embeddings", "uris", "data")
"""Names of lists that have an entry for each chunk."""


class Chunks(NamedTuple):
    """The chunks, in one list wherever they stand, and how they are passed on."""

    documents: list[Any]
    only: Only


def chunks_in(returned: object) -> Chunks | None:
    """The chunks in what a retriever returned; None where none can be read."""
    if returned is None:
        return Chunks([], lambda kept: None)
    documents: list[Any] = []
    only = _read(returned, documents, _DEEPEST)
    if only is not None:
        return Chunks(documents, only)
    if readable(returned) is UNREADABLE:
        return None
    return Chunks([returned], lambda kept: returned if kept else None)


def _read(value: Any, documents: list[Any], depth: int) -> Only | None:
    """Add the chunks of a value to the documents. None where it has none that can be read."""
    if isinstance(value, str):
        return _read_text(value, documents)
    if not depth or value is None or isinstance(value, bytes | bytearray):
        return None
    if isinstance(value, Iterator):
        value = list(value)  # it can be read only once
    if isinstance(value, Mapping):
        return _read_fields(value, documents, depth)
    if isinstance(value, Sequence | Set):
        return _read_list(value, documents, may_be_batch=True)
    return _read_object(value, documents, depth)


def _read_text(text: str, documents: list[Any]) -> Only:
    """A text that is the only chunk."""
    place = len(documents)
    documents.append(text)
    return lambda kept: text if place in kept else ""


def _read_list(value: Collection[Any], documents: list[Any], *, may_be_batch: bool) -> Only:
    items = list(value)
    if may_be_batch and len(items) == 1 and isinstance(items[0], list):
        inner = _read_list(items[0], documents, may_be_batch=False)  # of one question
        return lambda kept: [inner(kept)]
    start = len(documents)
    documents += items
    make: Any = type(value) if type(value) in (tuple, set, frozenset) else list

    def only(kept: Collection[int]) -> Any:
        return make([item for place, item in enumerate(items, start) if place in kept])

    return only


def _read_object(value: Any, documents: list[Any], depth: int) -> Only | None:
    try:
        dimensions = getattr(value, "ndim", None)
        if dimensions is None:
            return _read_fields(value, documents, depth)
        items = value.tolist() if dimensions == 1 else None
    except Exception:  # whatever an object raises when it is looked at
        return None
    if items is None:
        return None
    start = len(documents)
    documents += items
    # A mask is understood by the arrays of NumPy and by the columns of pandas.
    return lambda kept: value[[place in kept for place in range(start, start + len(items))]]


def _read_fields(value: Any, documents: list[Any], depth: int) -> Only | None:
    """An object, or a mapping, that holds chunks in its fields."""
    changes: dict[str, Only] = {}
    for names in (*_TIERS, _inner_names(value)):
        for name in names:
            start = len(documents)
            only = _read_field(part(value, (name,)), name, documents, depth)
            if only is not None:
                changes[name] = only
                changes |= _lists_beside(value, range(start, len(documents)))
            elif names is _TIERS[0] and not _holds_none(part(value, (name,))):
                return None  # what is named chunks would be passed on unread
        if changes:
            return lambda kept: _changed(value, {name: changes[name](kept) for name in changes})
    return None


def _inner_names(value: Any) -> Sequence[str]:
    """Where a further object with chunks may lie: in wrappers, and in a pipeline's components."""
    if not isinstance(value, Mapping):
        return WRAPPERS
    return [name for name, inner in value.items() if isinstance(inner, Mapping) or name in WRAPPERS]


def _read_field(field: Any, name: str, documents: list[Any], depth: int) -> Only | None:
    # A text is a chunk under the names of contexts alone: "result" may be an answer.
    if isinstance(field, str) and name not in _TIERS[0]:
        return None
    return _read(field, documents, depth - 1)


def _holds_none(field: Any) -> bool:
    """Whether a field that was not read is none of chunks: it is not there, says one thing about
    them, or names other things.
    """
    return field is None or isinstance(field, Mapping | int | float)


def _lists_beside(value: Any, places: range) -> dict[str, Only]:
    """The lists that have an entry for each of the chunks at these places."""
    found: dict[str, Only] = {}
    for name in _BESIDE:
        only = _sliced(part(value, (name,)), places)
        if only is not None:
            found[name] = only
    return found


def _sliced(value: Any, places: range) -> Only | None:
    if not isinstance(value, list):
        return None
    if len(value) == 1 and isinstance(value[0], list) and len(value[0]) == len(places):
        inner = value[0]
        return lambda kept: [_entries(inner, places, kept)]
    if len(value) != len(places):
        return None
    return lambda kept: _entries(value, places, kept)


def _entries(items: list[Any], places: range, kept: Collection[int]) -> list[Any]:
    return [item for place, item in zip(places, items, strict=True) if place in kept]


def _changed(value: Any, fields: dict[str, Any]) -> Any:
    """A copy with these fields; where an object allows none, what the first of them holds."""
    if isinstance(value, Mapping):
        return {**value, **fields}
    try:
        changed = copy.copy(value)
        for name, field in fields.items():
            setattr(changed, name, field)
    except Exception:  # a frozen object, or one that checks its fields
        return next(iter(fields.values()))
    return changed
