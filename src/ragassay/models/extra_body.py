"""The user's own fields of each request: which there may be, and what of them may be stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import orjson

from ragassay.core import SetupError, digest
from ragassay.models.secret_values import NOT_STORED, is_secret_name, looks_secret

_WHERE = "--extra-body"
_TOO_DEEP = "they are nested too deeply"
_MOST_LEVELS = 100
_EXAMPLE = """give an object, such as --extra-body '{"top_p": 0.9}'"""
_OURS = frozenset(
    [
        *("model", "messages", "contents", "stream", "system", "prompt", "input", "seed"),
        # Several replies cost several times as much, which no cap would know.
        *("n", "bestof", "candidatecount", "numgenerations", "numreturnsequences"),
    ]
)
_LIMITS = (
    *("maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "maxtokenstosample"),
    *("numpredict", "npredict", "maxgenlen", "maxlength"),
)
_OPTIONS = {
    **dict.fromkeys(_LIMITS, "--max-tokens"),
    "temperature": "--temperature",
    "reasoningeffort": "--reasoning-effort",
}
_SETTINGS_WITHIN = frozenset(["generationconfig", "inferenceconfig", "options", "parameters"])
"""Fields in which some dialects have what others have on top."""


def parse_extra_body(text: str | Mapping[str, object]) -> dict[str, object]:
    """The fields of `--extra-body`, a JSON object. Raises SetupError E0101."""
    value = _loaded(text) if isinstance(text, str) else dict(text)
    if not isinstance(value, dict):
        raise _error("The extra fields of the request are no JSON object.", _kind_of(value))
    if _is_deep(value):
        raise _error("The extra fields of the request cannot be sent.", _TOO_DEEP)
    _check_names(value)
    for name in _names_not_stored(value):
        raise SetupError(
            "E0101",
            f"The value of the field {name!r} is not stored with the run.",
            where=_WHERE,
            fix="give --extra-body again, as the run began with it",
        )
    return value


def storable_body(text: str) -> str:
    """The fields as a run's manifest keeps them: values that are secret are left out."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "{}"
    masked = _replaced(value, lambda secret: NOT_STORED)
    return text if masked == value else json.dumps(masked)


def digested_body(body: Mapping[str, object]) -> dict[str, object]:
    """The fields with a digest for each secret, so that another secret is another judge."""
    replaced = _replaced(dict(body), lambda secret: f"sha256:{digest('secret', secret)[:16]}")
    assert isinstance(replaced, dict)
    return replaced


def secrets_in_body(body: Mapping[str, object]) -> tuple[str, ...]:
    """The values that are secret."""
    found: list[str] = []

    def keep(secret: str) -> str:
        found.append(secret)
        return secret

    _replaced(dict(body), keep)
    return tuple(found)


def _replaced(value: object, change: Callable[[str], str], *, secret: bool = False) -> object:
    """A copy with each secret changed. secret: it stands under a name of secrets."""
    if isinstance(value, Mapping):
        return {
            name: _replaced(inner, change, secret=secret or _is_secret_field(name, inner))
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_replaced(inner, change, secret=secret) for inner in value]
    if isinstance(value, str) and value and (secret or looks_secret(value)):
        return change(value)
    return change(str(value)) if _is_number(value) and secret else value


def _is_secret_field(name: str, value: object) -> bool:
    is_count = _is_number(value) and "token" in name.lower()
    return is_secret_name(name) and not is_count


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _names_not_stored(value: object, name: str = "") -> Iterator[str]:
    if value == NOT_STORED:
        yield name
    inner: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        inner = list(value.items())
    elif isinstance(value, (list, tuple)):
        inner = [(name, each) for each in value]
    for inner_name, each in inner:
        yield from _names_not_stored(each, inner_name)


def _loaded(text: str) -> object:
    # Neither the text nor a part of it is shown: it may hold a secret.
    try:
        orjson.loads(text)
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except orjson.JSONDecodeError as error:
        why = f"{error.msg.partition(':')[0]} at character {error.pos}"
    except RecursionError:
        why = _TOO_DEEP
    raise _error("The extra fields of the request are no JSON.", why)


def _is_deep(value: object) -> bool:
    """Whether it has more levels than the functions here, which call themselves, shall go down."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        below: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                below += each.values()
            elif isinstance(each, (list, tuple)):
                below += each
        level = below
    return bool(level)


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            raise SetupError(
                "E0101",
                f"The extra fields of the request hold {name!r} twice.",
                where=_WHERE,
                fix="give it once: only one of the two would be sent",
            )
        fields[name] = value
    return fields


def _check_names(fields: Mapping[str, object]) -> None:
    """Raise SetupError for a field that RagAssay or an option sets: money is counted by these."""
    for name, value in fields.items():
        plain = name.lower().replace("_", "").replace("-", "")
        if plain in _OURS:
            raise SetupError(
                "E0101",
                f"The field {name!r} of the request is RagAssay's own.",
                where=_WHERE,
                fix="leave it out; --judge names the model",
            )
        option = _OPTIONS.get(plain)
        if plain == "reasoning" and isinstance(value, Mapping) and "effort" in value:
            option = "--reasoning-effort"
        if option is not None:
            raise SetupError(
                "E0101",
                f"The field {name!r} of the request is set by an option.",
                where=_WHERE,
                fix=f"leave it out and use {option}, by which calls are counted and kept apart",
            )
        if plain in _SETTINGS_WITHIN and isinstance(value, Mapping):
            _check_names(value)


def _kind_of(value: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return f"it is {kinds.get(type(value), 'a number')}"


def _error(message: str, why: str) -> SetupError:
    return SetupError("E0101", message, where=_WHERE, why=why, fix=_EXAMPLE)
