"""What the configuration file says, as defaults of the commands' options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragassay.cli.output import note

_OF_EVALUATE = ("rows", "name", "gate", "min_coverage", "html", "junit")
"""Options that other commands have with another meaning."""
_mapping: dict[str, str] = {}
_paths: list[str] = []
"""The file that commands take their options from where --config names none."""


def take_default_config(context: Any) -> None:
    """Give every command below this one the options of the configuration file, if there is one."""
    # Without a file nothing of it is imported: most commands have none.
    from ragassay.runs.config_file import default_path, read_config

    _mapping.clear()
    _paths.clear()
    path = default_path()
    if path is None:
        return
    config = read_config(path)
    defaults: dict[str, Any] = {}
    for name, command in context.command.commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            defaults[name] = defaults_of(command, config)
        else:
            defaults[name] = {sub: defaults_of(inner[sub], config) for sub in inner}
    context.default_map = defaults
    _mapping.update(config.get("mapping", {}))
    _paths.append(str(path))
    # A command that takes --config tells which options it has, once it is known from which file.
    name = context.invoked_subcommand or ""
    command = context.command.commands.get(name)
    if not hasattr(command, "commands") and not _takes_config(command):
        _tell(path, defaults.get(name, {}))


def _takes_config(command: Any) -> bool:
    return any(parameter.name == "config" for parameter in getattr(command, "params", ()))


def _tell(path: str | Path, taken: Mapping[str, Any]) -> None:
    """Name the options of a file: one that came with a folder may name a server or an
    application.
    """
    if taken:
        note(f"options of {path}: {', '.join(sorted(taken))}")


def take_config(context: Any, path: Path | None) -> None:
    """Give a command the options of the file that --config names, in place of another one's."""
    if path is None:
        for default in _paths:
            _tell(default, context.default_map or {})
        return
    from ragassay.runs.config_file import read_config

    config = read_config(path)
    context.default_map = defaults_of(context.command, config)
    _tell(path, context.default_map)
    _mapping.clear()
    _mapping.update(config.get("mapping", {}))


def mapping_of_file() -> Mapping[str, str]:
    """The fields and columns of the file that was taken; --map goes before, field by field."""
    return _mapping


def defaults_of(command: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a command's parameters, as the command line would give them.

    Commands that ask no judge and read no rows have options of the same names with other meanings
    (`runs --limit`, `demo --rows`); of the file they take the store alone. So does `doctor`, which
    asks a judge only where it is told to.
    """
    parameters = {parameter.name: parameter for parameter in command.params}
    is_judging = "judge" in parameters and command.name != "doctor"
    defaults: dict[str, Any] = {}
    for name, value in config.items():
        parameter = parameters.get(name)
        if parameter is None or name == "mapping":
            continue
        if name == "store" or (is_judging and (name not in _OF_EVALUATE or "gate" in parameters)):
            defaults[name] = _as_given(name, value, parameter)
    return defaults


def _as_given(name: str, value: Any, parameter: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value)
    # Of a flag such as --no-cache the parameter says that it is given.
    if name == "cache":
        return not value
    if getattr(parameter, "multiple", False):
        return value if isinstance(value, list) else [value]
    return ",".join(value) if isinstance(value, list) else value
