"""The keys `flags`, `wordings` and `examples` of a rubric file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragassay.core import shorten
from ragassay.judges.rubric import LISTS, Flag
from ragassay.judges.rubric_file.draft import NAME, Draft, Fields
from ragassay.judges.rubric_file.mistakes import Key
from ragassay.judges.scale import Scale

SHAPES = ("question", "phrase", "statement")
# Fields of a reply that no flag can be named after.
_RESERVED = frozenset(
    {"id", "reasoning", "quotes", "rating", "claims", "texts", "supported_by", "verdicts"}
)


# -- flags


def read_flags(draft: Draft, fields: Fields) -> tuple[Flag, ...]:
    """The yes/no fields of a verdict."""
    if "flags" not in draft.values:
        return draft.base.flags if draft.base is not None else ()
    given = draft.values["flags"] or {}
    if not isinstance(given, dict):
        draft.mistake("flags must be a mapping of names to meanings", "flags")
        return ()
    flags: list[Flag] = []
    for name, entry in given.items():
        flag = _read_flag(draft, fields, name, entry)
        if flag is not None:
            flags.append(flag)
    return tuple(flags)


def _read_flag(draft: Draft, fields: Fields, name: object, given: object) -> Flag | None:
    entry = given if isinstance(given, dict) else {"meaning": given}
    meaning = entry.get("meaning")
    end = entry.get("rating", "")
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in _RESERVED:
        draft.mistake(f"{shorten(str(name))!r} cannot be the name of a flag", "flags", str(name))
        return None
    if not isinstance(meaning, str) or end not in ("", "lowest", "highest"):
        draft.mistake(
            f"the flag {name} needs a meaning, and `rating`, if given, is lowest or highest",
            "flags",
            name,
        )
        return None
    reason = _why_no_end(fields) if end else ""
    if reason:
        draft.mistake(f"the flag {name} cannot fix the rating: {reason}", "flags", name)
        return None
    return Flag(name, meaning.strip(), end)


def _why_no_end(fields: Fields) -> str:
    """Why no flag can fix the rating at an end of the scale; "" where one can."""
    scale: Scale | None = fields["scale"]
    if fields["writes"] != "ratings":
        return "there is none"
    if scale is not None and scale.pass_mark is None:
        return "categories have no lowest and no highest one"
    return ""


# -- wordings


def read_wordings(draft: Draft, fields: Fields) -> Mapping[str, str]:
    """Shape of an input -> the text for it; {} where there are none."""
    if "wordings" not in draft.values:
        return draft.base.wordings if draft.base is not None else {}
    given = draft.values["wordings"] or {}
    if given == {}:
        return {}
    if not isinstance(given, dict) or set(given) != {"by", *SHAPES}:
        draft.mistake(f"wordings needs exactly the keys by, {', '.join(SHAPES)}", "wordings")
    elif given["by"] not in fields["inputs"] or given["by"] in LISTS:
        draft.mistake("wordings.by must be the name of an input with one text", "wordings", "by")
    elif not all(_is_text(given[shape]) for shape in SHAPES):
        draft.mistake("every wording must be a text", "wordings")
    else:
        return {shape: given[shape].strip() for shape in SHAPES}
    return {}


def read_wording_by(draft: Draft, fields: Fields) -> str:
    """The input whose shape decides on the wording, "" where there are no wordings."""
    if "wordings" not in draft.values:
        return draft.base.wording_by if draft.base is not None else ""
    if not fields["wordings"]:
        return ""
    return str(draft.values["wordings"]["by"])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# -- examples


def read_examples(draft: Draft, fields: Fields) -> tuple[Mapping[str, object], ...]:
    """The worked examples; every key and type in them is checked."""
    if "examples" not in draft.values:
        return _moved_examples(draft, fields["scale"])
    given = draft.values["examples"] or []
    if not isinstance(given, list):
        draft.mistake("examples must be a list", "examples")
        return ()
    for n, example in enumerate(given):
        if isinstance(example, dict):
            _check_example(draft, fields, n, example)
        else:
            draft.mistake(f"example {n + 1} must be a mapping", "examples", str(n))
    return tuple(given)


def _check_example(draft: Draft, fields: Fields, n: int, example: Mapping[str, Any]) -> None:
    key: Key = ("examples", str(n))
    _check_example_inputs(draft, fields, n, example)
    scale: Scale | None = fields["scale"]
    rating = example.get("rating")
    if scale is not None and (type(rating) not in (int, str) or rating not in scale.ratings):
        draft.mistake(
            f"example {n + 1} has the rating {shorten(repr(rating), 40)}, the scale offers"
            f" {scale.words}",
            *key,
            "rating",
        )
    if not isinstance(example.get("reasoning", ""), str):
        draft.mistake(f"example {n + 1}: reasoning must be a text", *key, "reasoning")
    for flag in fields["flags"]:
        if type(example.get(flag.name, False)) is not bool:
            draft.mistake(f"example {n + 1}: {flag.name} must be true or false", *key, flag.name)
    _check_example_lists(draft, fields, n, example)


def _check_example_inputs(draft: Draft, fields: Fields, n: int, example: Mapping[str, Any]) -> None:
    key: Key = ("examples", str(n))
    inputs = set(fields["inputs"])
    writes: str = fields["writes"]
    answer = {writes}
    if writes == "ratings":
        answer = {"rating", "reasoning", "quotes", "supported_by"}
    answer |= {flag.name for flag in fields["flags"]}
    for name in set(map(str, example)) - answer - inputs:
        draft.mistake(
            f"example {n + 1}: {shorten(name)!r} is no input and no part of a verdict", *key, name
        )
    for name in inputs & set(example):
        value = example[name]
        if name in LISTS:
            fits, kind = _is_list_of(value, str), "a list of texts"
        else:
            fits, kind = isinstance(value, str), "a text"
        if not fits:
            draft.mistake(f"example {n + 1}: {name} must be {kind}", *key, name)
    if not inputs & set(example):
        draft.mistake(f"example {n + 1} gives none of the inputs", *key)


def _check_example_lists(draft: Draft, fields: Fields, n: int, example: Mapping[str, Any]) -> None:
    """Check quotes, claims, texts and numbers of passages; what is the answer must be there."""
    quote: dict[str, type] = {"passage": int, "text": str}
    if fields["writes"] == "quotes" and "contexts" not in fields["inputs"]:
        del quote["passage"]
    claim: dict[str, type] = {"text": str, "trivial": bool}
    quotes, claims = example.get("quotes", []), example.get("claims", [])
    checks = (
        ("quotes", _is_list_of_entries(quotes, quote), " and ".join(quote)),
        ("claims", _is_list_of_entries(claims, claim), " and ".join(claim)),
        ("texts", _is_list_of(example.get("texts", []), str), "texts"),
        (
            "supported_by",
            _is_list_of(example.get("supported_by", []), int),
            "numbers of passages",
        ),
    )
    for name, fits, words in checks:
        is_missing = name == fields["writes"] and name not in example
        if not fits or is_missing:
            draft.mistake(
                f"example {n + 1}: {name} must be a list of {words}", "examples", str(n), name
            )


def _is_list_of(value: object, kind: type) -> bool:
    # type() and not isinstance(): True is no number of a passage.
    return isinstance(value, list) and all(type(entry) is kind for entry in value)


def _is_list_of_entries(value: object, kinds: Mapping[str, type]) -> bool:
    """Whether it is a list of mappings with just these keys, each of its type."""
    if not isinstance(value, list):
        return False
    for entry in value:
        if not isinstance(entry, dict):
            return False
        if {key: type(part) for key, part in entry.items()} != kinds:
            return False
    return True


def _moved_examples(draft: Draft, scale: Scale | None) -> tuple[Mapping[str, object], ...]:
    """The base's examples; under another scale each rating becomes the one whose value is nearest
    to its own.
    """
    base = draft.base
    if base is None:
        return ()
    if base.scale is None or scale is None or base.scale == scale:
        return base.examples
    moved: list[Mapping[str, object]] = []
    for example in base.examples:
        rating = example["rating"]
        assert isinstance(rating, (int, str))
        moved.append({**example, "rating": scale.nearest(base.scale.value(rating))})
    return tuple(moved)
