"""Verdicts in a list that is no JSON: a line for each id, a Markdown table, a YAML list.

Each id stands there once, at the place where an entry begins, and no text of the data holds an id,
so that each entry is the judge's. Nothing is read where one is missing, named twice or unclear.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_AROUND = " \t`*\"'[]()<>#"
_LINE = re.compile(
    r"[\s>*+-]*+(?:[0-9]{1,3}[.)]\s++)?(?:(?:tag|id|item|claim)\b[\s:#]*+)?"
    r"[`*\"'\[(]*+(?P<id>[0-9a-f]{8,32})[`*\"'\])]*+\s*+(?:[:=|]|->|→|[-–—])\s*+"
    r"(?:(?:rating|score)\s*+[:=]\s*+)?(?P<rating>[^\n]{1,40})",
    re.I,
)
_PAIR = re.compile(r"(?P<indent>[ ]*+(?:-[ ]++)?)[\"']?(?P<key>\w{1,40})[\"']?[ ]*+:(?P<value>.*)")
_RULE = re.compile(r"[\s|:-]+")
_MOST_LINES = 5_000

Fields = list[dict[str, object]]


def plain_list(answer: str, ids: Collection[str], key: str) -> tuple[Fields, str]:
    """The entries of such a list, with an id each, and which form it has; none where it is no
    list. key: the field that holds what was asked for.
    """
    lines = answer.splitlines()
    if len(lines) > _MOST_LINES:
        return [], ""
    any_id = re.compile("|".join(map(re.escape, ids)) or "(?!)")
    named = len(list(any_id.finditer(answer)))
    if not named:
        return [], ""
    for form, read in (("lines", _lines), ("table", _table), ("yaml", _yaml)):
        entries = read(lines, ids, key)
        found = [entry["id"] for entry in entries]
        if entries and len(set(map(str, found))) == len(found) == named:
            return entries, form
    return [], ""


def _lines(lines: list[str], ids: Collection[str], key: str) -> Fields:
    entries: Fields = []
    for line in lines:
        match = _LINE.fullmatch(line.rstrip())
        if match is not None and match["id"] in ids:
            rating = match["rating"].strip(_AROUND)
            entries.append({"id": match["id"], key: rating})
        elif any(mark.isdigit() for mark in line):
            # Who knows which item such a number is about.
            return []
    return entries


def _table(lines: list[str], ids: Collection[str], key: str) -> Fields:
    rows = [line.strip().strip("|").split("|") for line in lines if line.strip()[:1] == "|"]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        return []
    names = [cell.strip(_AROUND).lower() for cell in rows[0]]
    if names.count(key) != 1:
        return []
    entries: Fields = []
    for row in rows[1:]:
        if _RULE.fullmatch("|".join(row)):
            continue
        cells = [cell.strip(_AROUND) for cell in row]
        own = [cell for cell in cells if cell in ids]
        if len(own) != 1:
            return []
        entries.append({**dict(zip(names, cells, strict=True)), "id": own[0]})
    return entries


def _yaml(lines: list[str], ids: Collection[str], key: str) -> Fields:
    entries: Fields = []
    indent = -1
    for line in lines:
        pair = _PAIR.fullmatch(line)
        if pair is None:
            continue
        name, value = pair["key"].lower(), pair["value"].strip()
        if "-" in pair["indent"] and value.strip(_AROUND) in ids:
            indent = len(pair["indent"])
            entries.append({"id": value.strip(_AROUND)})
        elif entries and len(pair["indent"]) == indent and value:
            if name in entries[-1]:
                return []
            plain = value.strip("\"'")
            entries[-1][name] = {"[]": []}.get(value, plain)
        elif name == key:
            return []
    return entries
