"""How a local model is to be asked, where its own files do not say it.

Settings stand in the URI (`local:FOLDER?task=support&positive=LABEL_1`), in `ragassay.yaml` or
`ragassay.json` beside the model, or follow from the family of a published model (families.yaml);
the first of these that names a setting counts.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import yaml

from ragassay.core import SetupError, nearest, shorten

TASKS = ("support", "relevance", "answer")
KINDS = ("sequence", "tokens", "first_token", "seq2seq")
FILES = ("ragassay.yaml", "ragassay.json")
# Task -> the fields that its input may hold, those that it must hold first.
PLACEHOLDERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "support": (("context", "claim"), ("question", "count")),
    "relevance": (("question", "context"), ("count",)),
    "answer": (("question", "response"), ()),
}
MARKS = ("eos", "sep", "pad")
"""Fields of an input that stand for the tokenizer's own marks."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that are given; None = not given.

    like: a family. task: "support", "relevance" or "answer", as of MatchCalls. kind: what the model
    classifies: a "sequence"; "tokens", each; the "first_token"; "seq2seq", the first token that it
    writes. positive: the label that means yes (supported, relevant, answers), by name or index;
    seq2seq: the id of the token. negative: seq2seq, the id of the token that means no.
    contradicted: the label that means that the passages contradict the claim. activation:
    "softmax", "sigmoid" or "none". input: one text or two, with fields in braces;
    input_without_question: the same for rows without one. passage: how each passage is written into
    {context}. max_tokens: of an input. window: tokens of the passages that are read at once. cut:
    the probability from which the judge says yes. spans: "max" or "mean", how the tokens of a claim
    become one figure. file: the weights. base: a folder or name whose config.json and tokenizer are
    used. prefix: of the names of the weights. device: of torch.
    """

    like: str | None = None
    task: str | None = None
    kind: str | None = None
    positive: str | int | None = None
    negative: int | None = None
    contradicted: str | int | None = None
    activation: str | None = None
    input: tuple[str, ...] | None = None
    input_without_question: tuple[str, ...] | None = None
    passage: str | None = None
    max_tokens: int | None = None
    window: int | None = None
    cut: float | None = None
    spans: str | None = None
    file: str | None = None
    base: str | None = None
    prefix: str | None = None
    device: str | None = None

    def over(self, other: Settings) -> Settings:
        """These settings, and those of the other where these name none."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **given)


def split_uri(name: str) -> tuple[str, Settings]:
    """The folder or name of a local model's URI (without "local:"), and the settings behind "?".

    Raises SetupError E0414.
    """
    model, mark, query = name.partition("?")
    if not mark:
        return model, Settings()
    where = f"local:{shorten(name)}"
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError as error:
        raise unreadable(where, str(error)) from None
    names = [key for key, _ in pairs]
    if len(set(names)) < len(names):
        raise unreadable(where, "a setting stands in it twice")
    return model, make_settings(dict(pairs), where)


def read_settings(folder: Path) -> Settings:
    """The settings of the file beside a model; none without a file. Raises SetupError E0414."""
    for name in FILES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
            content = json.loads(text) if name.endswith(".json") else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
            raise unreadable(str(path), shorten(str(error))) from None
        if not isinstance(content, dict):
            raise unreadable(str(path), "it is no mapping of settings")
        return make_settings(content, str(path))
    return Settings()


def make_settings(values: Mapping[Any, Any], where: str) -> Settings:
    """The settings of a mapping, checked each by itself. Raises SetupError E0414."""
    known = [each.name for each in fields(Settings)]
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            hint = nearest(str(name), known)
            raise unreadable(where, f"there is no setting {shorten(str(name), 40)!r}.{hint}")
        try:
            checked[name] = _CHECKS[name](value)
        except (TypeError, ValueError) as error:
            raise unreadable(where, f"{name}: {error}") from None
    return Settings(**checked)


@dataclass(frozen=True, slots=True)
class Family:
    """A family of published models. settings: as their authors' code asks them."""

    name: str
    title: str
    source: str
    names: tuple[str, ...]
    model_types: tuple[str, ...]
    settings: Settings


@cache
def families() -> Mapping[str, Family]:
    """The families by name, in the order of the file."""
    path = Path(__file__).with_name("families.yaml")
    found: dict[str, Family] = {}
    for name, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        found[name] = Family(
            name,
            entry["title"],
            entry["source"],
            tuple(entry["names"]),
            tuple(entry.get("model_types", ())),
            make_settings(entry["settings"], f"{path.name}, {name}"),
        )
    return found


def family_of(like: str | None, hub_name: str, model_type: str) -> Family | None:
    """The family that is named, else the one of this name of the hub or type of config.json."""
    if like is not None:
        return families()[like]
    for family in families().values():
        if model_type and model_type in family.model_types:
            return family
        if hub_name and any(fnmatchcase(hub_name, name) for name in family.names):
            return family
    return None


def unreadable(where: str, why: str) -> SetupError:
    """E0414 for settings that cannot be."""
    return SetupError(
        "E0414",
        "The settings of the local model cannot be used.",
        where=where,
        why=why,
        fix="docs/local-models.md lists the settings and what they take",
    )


# -- what each setting takes; a URI gives every value as a text


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"takes {', '.join(choices)}, not {shorten(repr(value), 40)}")
        return str(value)

    return check


def _whole_number(least: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError(f"takes a whole number from {least} on")
        return number

    return check


def _label(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError("takes the name or the index of a label")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("takes a text")
    return value


def _cut(value: Any) -> float:
    number = float(value)
    if not 0 < number < 1:  # false for NaN as well
        raise ValueError("takes a probability above 0 and below 1")
    return number


def _input(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not 1 <= len(texts) <= 2:
        raise ValueError("takes one text or a list of two")
    for text in texts:
        placeholders(_text(text))
    return tuple(texts)


def _passage(value: Any) -> str:
    if set(placeholders(_text(value))) - {"number"} != {"text"}:
        raise ValueError("takes a text with {text}, and {number} where wanted")
    return str(value)


def _like(value: Any) -> str:
    if value not in families():
        raise ValueError(f"takes {', '.join(families())}, not {shorten(repr(value), 40)}")
    return str(value)


def placeholders(text: str) -> list[str]:
    """The fields in braces of a text, in order. Raises ValueError for braces that are no field."""
    names: list[str] = []
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is None:
            continue
        if not name.isidentifier() or form or conversion:
            raise ValueError(f"{{{shorten(name, 20)}}} is no field; a brace is written twice")
        names.append(name)
    return names


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "like": _like,
    "task": _one_of(*TASKS),
    "kind": _one_of(*KINDS),
    "positive": _label,
    "negative": _whole_number(0),
    "contradicted": _label,
    "activation": _one_of("softmax", "sigmoid", "none"),
    "input": _input,
    "input_without_question": _input,
    "passage": _passage,
    "max_tokens": _whole_number(16),
    "window": _whole_number(8),
    "cut": _cut,
    "spans": _one_of("max", "mean"),
    "file": _text,
    "base": _text,
    "prefix": _text,
    "device": _text,
}
