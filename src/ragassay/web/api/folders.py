"""Folders of the server's machine, which are told to the admin alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import Any

from ragassay.report.text import file_name
from ragassay.web.sessions import Role

_MANIFESTS = ("manifest", "a", "b")
"""What says how a run was made: of one run or its summary, and of the two of a comparison."""


def for_role(role: Role, answer: Mapping[str, Any]) -> dict[str, Any]:
    """A run, a summary or a comparison as somebody of a role may see it: for all but the admin,
    files stand there by their names, without their folders.
    """
    shown = dict(answer)
    if role.may(Role.ADMIN):
        return shown
    for name in _MANIFESTS:
        if name in shown:
            shown[name] = _without_folders(shown[name])
    return shown


def _without_folders(value: Any) -> Any:
    """JSON-like values in which each text that is the absolute path of a file is its name."""
    if isinstance(value, dict):
        return {key: _without_folders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_folders(item) for item in value]
    if isinstance(value, str) and (value.startswith("/") or PureWindowsPath(value).is_absolute()):
        return file_name(value)
    return value
