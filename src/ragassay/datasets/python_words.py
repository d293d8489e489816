"""Printed fixes in the words of Python: rows in memory are not read by the command."""

from __future__ import annotations

import re
import shlex

_MAP = r"--map [^\s=]+=(?:'[^']*'|\\'|[^\s',;])+"
_MAPS = re.compile(f"{_MAP}(?: {_MAP})*")
_OPTIONS = {"--make-ids": "make_ids=True", "--yes": "yes=True"}
_SLICE = re.compile(r"--slice (\S+)")


def in_python(text: str) -> str:
    """A text with options of the command as the parameters of the same meaning."""
    text = _MAPS.sub(lambda maps: f"mapping={_mapping(maps[0])}", text)
    text = _SLICE.sub(lambda option: f"slices=[{option[1]!r}]", text)
    for option, parameter in _OPTIONS.items():
        text = text.replace(option, parameter)
    return text


def _mapping(options: str) -> dict[str, str]:
    """The fields and columns that --map options name."""
    mapping: dict[str, str] = {}
    for word in shlex.split(options):
        field, mark, column = word.partition("=")
        if mark:
            mapping[field] = column
    return mapping
