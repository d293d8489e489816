"""Typed edits of a rubric: one part of it added, reworded, removed or moved.

An edit names what it changes by its text and not by its place, so that a list of edits can be
applied with one of them left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from ragassay.core import shorten
from ragassay.judges import Rubric
from ragassay.tuning import parts
from ragassay.tuning.parts import Kind

_LAST_NUMBER = re.compile(r"^(.*?)(\d+)$")
_SHOWN = 160

T = TypeVar("T")


class Action(StrEnum):
    """What an edit does to a part."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"
    MOVE = "move"


class Refused(Exception):
    """An edit that is not made. The message is the reason, for whoever reads what was tried."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one part.

    old: the text of the part that is replaced, removed or moved, as `parts.texts` has it. new: the
    text that is added or put in its place. example: instead of `new`, where it is an example.
    place: where an added or a moved part comes to stand among its kind, from 0; None for the end.
    rows: the labelled rows that the example was made of. reason: the proposer's, which is shown
    and decides nothing.
    """

    action: Action
    kind: Kind
    old: str = ""
    new: str = ""
    example: Mapping[str, object] | None = None
    place: int | None = None
    rows: tuple[int, ...] = field(default=(), compare=False)
    reason: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The edit on one line."""
        new = self.new if self.example is None else parts.example_text(self.example)
        name = self.kind.value
        if self.action is Action.ADD:
            return f"+ {name}: {shorten(new, _SHOWN)}"
        if self.action is Action.REMOVE:
            return f"- {name}: {shorten(self.old, _SHOWN)}"
        if self.action is Action.MOVE:
            place = "the end" if self.place is None else f"place {self.place + 1}"
            return f"> {name} to {place}: {shorten(self.old, _SHOWN)}"
        return f"~ {name}: {shorten(self.old, _SHOWN)} -> {shorten(new, _SHOWN)}"


def apply(original: Rubric, edits: Sequence[Edit]) -> Rubric:
    """The next version of the rubric, with these edits made one after the other.

    The original itself where there are none. Raises Refused where an edit does not fit, or adds
    what the rubric says already.
    """
    if not edits:
        return original
    changed = original
    for edit in edits:
        _check_new(changed, edit)
        changed = _APPLY[edit.kind](changed, edit)
    if changed == original:
        raise Refused("it changes nothing")
    return replace(changed, version=next_version(original.version), own=True)


def next_version(version: str) -> str:
    """The version behind this one, its last number raised by one: 4 -> 5, 1.9 -> 1.10."""
    match = _LAST_NUMBER.match(version)
    if match is None:
        return f"{version[:37]}.2"
    return f"{match[1]}{int(match[2]) + 1}"


def _check_new(rubric: Rubric, edit: Edit) -> None:
    """Raise Refused where an edit adds a part that stands in the rubric. Said twice it is followed
    no better, and a search would pay for it each time that a reflector repeats itself.
    """
    if edit.action is not Action.ADD:
        return
    new = edit.new if edit.example is None else parts.example_text(edit.example)
    present = [_plain(text) for text in parts.texts(rubric, edit.kind)]
    if _plain(new) in present:
        raise Refused(f"this {edit.kind.value} stands in the rubric already")


def _plain(text: str) -> str:
    """A text without what does not make it another one: blanks, capitals, the full stop."""
    return parts.one_line(text).casefold().rstrip(".")


# -- one function for each kind of part


def _apply_line(rubric: Rubric, edit: Edit) -> Rubric:
    all_blocks = parts.blocks(rubric)
    free = [place for place, block in enumerate(all_blocks) if not parts.is_fixed(block)]
    at = -1
    if edit.action is not Action.ADD:
        at = free[_place_of(edit, parts.texts(rubric, Kind.LINE))]
    if edit.action in (Action.REMOVE, Action.MOVE) and len(free) == 1:
        raise Refused("it is the only line of the system prompt")
    moved = all_blocks.pop(at) if edit.action in (Action.REMOVE, Action.MOVE) else ""
    if edit.action is Action.REPLACE:
        all_blocks[at] = edit.new
    elif edit.action is not Action.REMOVE:
        free = [place for place, block in enumerate(all_blocks) if not parts.is_fixed(block)]
        # Behind the last free paragraph, and so before the form of the reply.
        target = max(free, default=-1) + 1
        if edit.place is not None and edit.place < len(free):
            target = free[edit.place]
        all_blocks.insert(target, edit.new or moved)
    return parts.with_blocks(rubric, all_blocks)


def _apply_criterion(rubric: Rubric, edit: Edit) -> Rubric:
    changed = _changed(edit, parts.items(rubric), parts.texts(rubric, Kind.CRITERION), _as_item)
    return parts.with_items(rubric, changed)


def _as_item(edit: Edit) -> str:
    return f"- {edit.new}"


def _apply_example(rubric: Rubric, edit: Edit) -> Rubric:
    present = parts.texts(rubric, Kind.EXAMPLE)
    changed = _changed(edit, list(rubric.examples), present, _as_example)
    return parts.with_examples(rubric, changed)


def _as_example(edit: Edit) -> Mapping[str, object]:
    if edit.example is None:
        raise Refused("it gives no example")
    return edit.example


def _apply_point(rubric: Rubric, edit: Edit) -> Rubric:
    if edit.action is not Action.REPLACE:
        raise Refused("the points of a scale can only be reworded")
    return parts.with_meaning(rubric, _place_of(edit, parts.texts(rubric, Kind.POINT)), edit.new)


def _changed(edit: Edit, values: list[T], present: list[str], new: Callable[[Edit], T]) -> list[T]:
    """The parts of one kind with the edit made. present: their texts."""
    at = _place_of(edit, present) if edit.action is not Action.ADD else -1
    if edit.action is Action.REPLACE:
        values[at] = new(edit)
        return values
    if edit.action is Action.REMOVE:
        del values[at]
        return values
    value = values.pop(at) if edit.action is Action.MOVE else new(edit)
    values.insert(len(values) if edit.place is None else edit.place, value)
    return values


def _place_of(edit: Edit, present: list[str]) -> int:
    if edit.old not in present:
        raise Refused(f"there is no {edit.kind.value} {shorten(edit.old, 60)!r}")
    return present.index(edit.old)


_APPLY: Mapping[Kind, Callable[[Rubric, Edit], Rubric]] = {
    Kind.LINE: _apply_line,
    Kind.CRITERION: _apply_criterion,
    Kind.EXAMPLE: _apply_example,
    Kind.POINT: _apply_point,
}
