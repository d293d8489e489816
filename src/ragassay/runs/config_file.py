"""The configuration file: options of commands that are the same each time, in ragassay.toml.

Every key is an option of the command line, without its dashes. What a flag says goes before. Keys
and passwords are refused: they belong into variables of the environment.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from ragassay.core.errors import SetupError, nearest, shorten
from ragassay.runs.options import Option, declared_options

FILE_NAME = "ragassay.toml"
_VARIABLE = "RAGASSAY_CONFIG"
_OF_COMMANDS: Mapping[str, type] = {
    "rows": str,
    "store": str,
    "name": str,
    "gate": list,
    "min_coverage": float,
    "html": str,
    "junit": str,
}
"""Options that are no options of a run -> their types."""
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a text or a list of texts",
    dict: "a table",
}


def default_path() -> Path | None:
    """The file that commands read where none is named: that of RAGASSAY_CONFIG, else ragassay.toml
    of the folder; None where there is none.
    """
    named = os.environ.get(_VARIABLE)
    if named:
        return Path(named)
    path = Path(FILE_NAME)
    return path if path.is_file() else None


def read_config(path: Path) -> dict[str, Any]:
    """The options of the file by the names of `evaluate`'s arguments, lists and tables as such.

    Raises SetupError: E0102 for a file that cannot be read, E0111 for what it must not say.
    """
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise SetupError(
            "E0102",
            f"The configuration {shorten(str(path))} cannot be read.",
            why=shorten(str(error)),
            fix=f"name a file that is there, or write one: ragassay init -o {path}",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _mistake(path, "It is not valid TOML.", shorten(str(error)), "correct it") from error
    return dict(_checked(path, key, value) for key, value in content.items())


def _checked(path: Path, written: str, value: object) -> tuple[str, Any]:
    """(name of the argument, its value) of a key. Raises SetupError E0111."""
    key = written.replace("-", "_")
    name = _names().get(key, key)
    declared = declared_options().get(name)
    if key not in _names() and key not in _OF_COMMANDS:
        hint = nearest(key, (*_names(), *_OF_COMMANDS))
        fix = "`ragassay evaluate --help` lists the options; write one without its dashes"
        if any(word in key for word in ("key", "token", "secret", "password")):
            fix = "name the variable that holds the key: api_key_env = 'OPENAI_API_KEY'"
        raise _mistake(path, f"No option is called {shorten(written, 40)!r}.{hint}", "", fix)
    kind = _OF_COMMANDS[key] if declared is None else _kind(declared)
    value = _typed(path, written, value, kind)
    if declared is not None:
        _refuse_secret(path, written, value, declared)
        if declared.choices and value not in declared.choices:
            choices = ", ".join(declared.choices)
            raise _mistake(path, f"{written} is one of {choices}.", repr(value), "choose one")
    return name, value


def _typed(path: Path, key: str, value: object, kind: type) -> Any:
    """The value as its option takes it. Raises SetupError E0111 where it is of another type."""
    if kind is list and isinstance(value, str):
        return [value]
    if kind is list:
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = type(value) is kind
    if not fits:
        what = f"{key} takes {_KINDS[kind]}."
        raise _mistake(path, what, shorten(repr(value), 60), "see docs/options.md")
    return value


def _refuse_secret(path: Path, key: str, value: Any, declared: Option) -> None:
    """Refuse what a run would not store either: the value of a header, a field or a proxy that is
    a secret.
    """
    if declared.name in ("proxy", "base_url"):
        is_secret = "@" in value
    else:
        store = declared.declaration.stored
        argument = declared.stored(value)
        is_secret = store is not None and store(argument) != argument
    if is_secret:
        raise _mistake(
            path,
            f"{key} holds a secret, which does not belong into a file.",
            "",
            "write '$NAME' in its place, and set that variable of the environment",
        )


@cache
def _names() -> Mapping[str, str]:
    """Key -> name of the option: keys are named as the flags are."""
    names: dict[str, str] = {}
    for name, declared in declared_options().items():
        if declared.flags:
            flag = declared.flags[0].partition("/")[0].removeprefix("--no-").removeprefix("--")
            names[flag.replace("-", "_")] = name
    return names


def _kind(declared: Option) -> type:
    if isinstance(declared.default, Mapping) or declared.name == "extra_body":
        return dict
    if isinstance(declared.default, tuple):
        return list
    if declared.choices:
        return str
    kinds = [kind for kind in get_args(declared.type) if kind is not type(None)]
    kind: type = kinds[0] if kinds else declared.type
    return kind


def _mistake(path: Path, what: str, why: str, fix: str) -> SetupError:
    return SetupError("E0111", what, where=str(path), why=why, fix=fix)


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of the user's file. field: what it is read as, "" for nothing. example: its first
    value, shortened. is_guess: whether its name alone would not do.
    """

    column: str
    field: str
    example: str
    is_guess: bool


def config_text(rows: str, columns: Sequence[FoundColumn], judge: str) -> str:
    """The text of a new configuration file, with comments. rows: the file, "" for none yet."""
    known = [f"{each.column} as {each.field}" for each in columns if _is_renamed(each)]
    lines = [
        "# Options of RagAssay for this folder. Each key is an option of the command without its",
        "# dashes (`ragassay evaluate --help`); what is given on the command line goes before.",
        "# No keys or passwords here: they are read from variables of the environment.",
        "",
        "# The rows that `ragassay evaluate` reads where no file is named.",
        f"rows = {_quoted(rows)}" if rows else '# rows = "rows.jsonl"',
        '# slice = ["topic"]            # columns to slice results by',
        "# limit = 20                   # only the first rows",
        "",
        "# Who judges: 'offline' (no key, no network) or PROVIDER:MODEL.",
        f"judge = {_quoted(judge)}",
        '# base_url = "http://localhost:8000/v1"',
        '# api_key_env = "OPENAI_API_KEY" # the variable that holds the key',
        '# order = "both"               # ask in two orders and average',
        "",
        "# What is measured; without it, what the columns allow.",
        '# metrics = ["groundedness", "answer_relevance"]',
        '# gate = ["groundedness>=0.8"]',
        "",
        "# Caps.",
        "# max_cost = 1.00              # US dollars",
        "# max_calls = 1000",
        "",
        "# Where runs are kept.",
        '# store = ".ragassay/store.db"',
        "",
    ]
    lines += [f"# Read by its name: {words}." for words in known]
    guesses = [each for each in columns if each.is_guess]
    lines += ["# Fields whose columns have other names: field = column.", "[map]"]
    lines += [f"{each.field} = {_quoted(each.column)}" for each in guesses]
    if not guesses:
        lines.append('# response = "bot_reply"')
    return "\n".join(lines) + "\n"


def _is_renamed(each: FoundColumn) -> bool:
    return bool(each.field) and not each.is_guess and each.field != each.column


def _quoted(text: str) -> str:
    """The text as TOML and JSON write it alike."""
    return json.dumps(text, ensure_ascii=False)
