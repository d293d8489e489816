"""The difference of two rubrics, one readable line for each part that changed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from ragassay.judges import Rubric
from ragassay.tuning import parts
from ragassay.tuning.edits import Action, Edit
from ragassay.tuning.parts import Kind


def differences(before: Rubric, after: Rubric) -> tuple[str, ...]:
    """One line for each part that was added (+), removed (-), reworded (~) or moved (>), and one
    for another pass mark.
    """
    lines: list[str] = []
    for kind in Kind:
        edits = edits_between(kind, parts.texts(before, kind), parts.texts(after, kind))
        lines += map(str, _with_moves(edits))
    marks = (_pass_mark(before), _pass_mark(after))
    if marks[0] != marks[1]:
        lines.append(f"~ pass mark: {marks[0]} -> {marks[1]}")
    return tuple(lines)


def _pass_mark(rubric: Rubric) -> object:
    """The lowest rating that passes; None where the rubric has none."""
    return None if rubric.scale is None else rubric.scale.pass_mark


def edits_between(kind: Kind, old: list[str], new: list[str]) -> list[Edit]:
    """The edits that make the one list of texts of the other."""
    return list(_of_kind(kind, old, new))


def _of_kind(kind: Kind, old: list[str], new: list[str]) -> Iterator[Edit]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, start_new, end_new in matcher.get_opcodes():
        if tag == "equal":
            continue
        pairs = min(end - start, end_new - start_new)
        for n in range(pairs):
            yield Edit(Action.REPLACE, kind, old[start + n], new[start_new + n])
        for text in old[start + pairs : end]:
            yield Edit(Action.REMOVE, kind, text)
        for place in range(start_new + pairs, end_new):
            yield Edit(Action.ADD, kind, new=new[place], place=place)


def _with_moves(edits: list[Edit]) -> Iterator[Edit]:
    """The edits with what is removed here and added there as one move."""
    added = {edit.new: edit for edit in edits if edit.action is Action.ADD}
    moved = {edit.old for edit in edits if edit.action is Action.REMOVE and edit.old in added}
    for edit in edits:
        if edit.action is Action.REMOVE and edit.old in moved:
            yield Edit(Action.MOVE, edit.kind, edit.old, place=added[edit.old].place)
        elif edit.action is not Action.ADD or edit.new not in moved:
            yield edit
