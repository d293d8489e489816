"""The reader of a proposer's reply: edits, and for what is none the reason why.

Replies come with fences, prose, thoughts and cut ends, and some are hostile. A reply is read in
bounded time and raises nothing; its texts are data and go through the guard before they are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragassay.core import shorten
from ragassay.judges import Rubric
from ragassay.judges.llm.loose_json import LooseReader
from ragassay.judges.llm.thinking import answer_of
from ragassay.tuning import parts
from ragassay.tuning.edits import Action, Edit
from ragassay.tuning.parts import Kind

MOST_EDITS = 6
"""How many edits of one reply are looked at."""

_MOST_CHARS = 60_000
_SHOWN = 60
_MOST_STARTS = 60
_MOST_DEPTH = 4
_START = re.compile(r"[{\[]")
_NUMBER = re.compile(r"\d{1,3}")
_LISTS = ("edits", "changes", "proposals")
_KINDS: Mapping[str, Kind] = {
    "criterion": Kind.CRITERION,
    "criteria": Kind.CRITERION,
    "rule": Kind.CRITERION,
    "example": Kind.EXAMPLE,
    "examples": Kind.EXAMPLE,
    "point": Kind.POINT,
    "scale": Kind.POINT,
    "scale_point": Kind.POINT,
    "line": Kind.LINE,
    "system": Kind.LINE,
}
_ACTIONS: Mapping[str, Action] = {
    "add": Action.ADD,
    "insert": Action.ADD,
    "replace": Action.REPLACE,
    "rewrite": Action.REPLACE,
    "reword": Action.REPLACE,
    "remove": Action.REMOVE,
    "delete": Action.REMOVE,
    "move": Action.MOVE,
    "reorder": Action.MOVE,
}


class ReadReply(NamedTuple):
    """edits: what was proposed. cases: for the edit in the same place, the numbers of the shown
    cases that it wants as examples. refused: why something in the reply is no edit.
    """

    edits: tuple[Edit, ...]
    cases: tuple[tuple[int, ...], ...]
    refused: tuple[str, ...]


def read_reply(text: str, rubric: Rubric) -> ReadReply:
    """The edits of this rubric in a reply, at most six."""
    if not isinstance(text, str) or not text.strip():
        return ReadReply((), (), ("the reply is empty",))
    is_long = len(text) > _MOST_CHARS
    entries = _entries(answer_of(text[:_MOST_CHARS], is_cut=True))
    if entries is None:
        reason = "the reply holds no list of edits"
        if is_long:
            reason = f"the reply is longer than {_MOST_CHARS:,} characters, and {reason[10:]}"
        reason = f"{reason}: {shorten(parts.one_line(text[:_SHOWN]), _SHOWN)!r}"
        return ReadReply((), (), (reason,))
    edits: list[Edit] = []
    cases: list[tuple[int, ...]] = []
    refused: list[str] = []
    for entry in entries[:MOST_EDITS]:
        read = _read_edit(entry, rubric)
        if isinstance(read, str):
            refused.append(read)
        elif read[0] not in edits or read[1]:
            edits.append(read[0])
            cases.append(read[1])
    if len(entries) > MOST_EDITS:
        refused.append(f"{len(entries) - MOST_EDITS} more edits than the {MOST_EDITS} looked at")
    return ReadReply(tuple(edits), tuple(cases), tuple(refused))


# -- the entries


def _entries(text: str) -> list[object] | None:
    """The entries of the last list of edits; of a list that was cut off those that are whole."""
    reader = LooseReader(text)
    found: list[object] | None = None
    whole: list[object] = []
    at = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        read = reader.read(start.start())
        if read is None:
            at = start.end()
            continue
        value, at, _ = read
        listed = _in_value(value, 0)
        if listed is not None:
            found = listed
        elif isinstance(value, dict) and _looks_like_an_edit(value):
            whole.append(value)
    return found if found is not None else whole or None


def _in_value(value: object, depth: int) -> list[object] | None:
    if depth > _MOST_DEPTH:
        return None
    if isinstance(value, list):
        entries = [entry for entry in value if isinstance(entry, dict)]
        return list(value) if any(map(_looks_like_an_edit, entries)) else None
    if not isinstance(value, dict):
        return None
    for name, inner in value.items():
        if name.strip().lower() in _LISTS and isinstance(inner, list):
            return inner
    if _looks_like_an_edit(value):
        return None
    for inner in value.values():
        listed = _in_value(inner, depth + 1)
        if listed is not None:
            return listed
    return None


def _looks_like_an_edit(value: Mapping[str, object]) -> bool:
    return "action" in value or ("part" in value and "text" in value)


# -- one entry


def _read_edit(entry: object, rubric: Rubric) -> tuple[Edit, tuple[int, ...]] | str:
    """The edit and the cases it names, or the reason why the entry is none."""
    if not isinstance(entry, dict):
        return f"{shorten(repr(entry), 40)} is no edit"
    action = _ACTIONS.get(_word(entry.get("action", "add")))
    kind = _KINDS.get(_word(entry.get("part", "criterion")))
    if action is None:
        return f"{shorten(str(entry.get('action')), 40)!r} is no action"
    if kind is None:
        return f"{shorten(str(entry.get('part')), 40)!r} is no part of a rubric"
    old = ""
    if action is not Action.ADD:
        named = _named(entry, parts.texts(rubric, kind))
        if named is None:
            shown = shorten(str(entry.get("number", entry.get("old", ""))), 40)
            return f"the rubric has no {kind} {shown!r}"
        old = named
    new = ""
    cases: tuple[int, ...] = ()
    if action in (Action.ADD, Action.REPLACE):
        cases = _cases(entry) if kind is Kind.EXAMPLE else ()
        text = entry.get("text")
        if kind is Kind.EXAMPLE and not cases:
            return "an example must name the cases that it is made of"
        if kind is not Kind.EXAMPLE and not (isinstance(text, str) and text.strip()):
            return f"the {kind} has no text"
        new = parts.one_line(text) if isinstance(text, str) and not cases else ""
    reason = entry.get("reason", "")
    edit = Edit(
        action,
        kind,
        old,
        new,
        place=_place(entry.get("to")) if action in (Action.ADD, Action.MOVE) else None,
        reason=shorten(reason, 300) if isinstance(reason, str) else "",
    )
    return edit, cases


def _word(value: object) -> str:
    return value.strip().lower().replace(" ", "_") if isinstance(value, str) else ""


def _named(entry: Mapping[str, object], present: Sequence[str]) -> str | None:
    """The part that an entry names by its number, or by its text."""
    number = _number(entry.get("number"))
    if number is not None and 1 <= number <= len(present):
        return present[number - 1]
    for name in ("old", "target"):
        text = entry.get(name)
        if isinstance(text, str) and parts.one_line(text) in present:
            return parts.one_line(text)
    return None


def _number(value: object) -> int | None:
    """A number, also one inside a word such as "criterion 3"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        match = _NUMBER.search(value[:60])
        return int(match[0]) if match else None
    return None


def _place(value: object) -> int | None:
    number = _number(value)
    return number - 1 if number is not None and number >= 1 else None


def _cases(entry: Mapping[str, object]) -> tuple[int, ...]:
    given = entry.get("cases")
    text = entry.get("text")
    if given is None and isinstance(text, dict):
        given = text.get("cases")
    values = given if isinstance(given, list) else [given]
    numbers = [_number(value) for value in values[:MOST_EDITS]]
    return tuple(dict.fromkeys(number for number in numbers if number is not None and number > 0))
