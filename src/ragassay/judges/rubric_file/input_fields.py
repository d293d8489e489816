"""The keys of a rubric file that say what is judged: level, row, guidelines, inputs and item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.core import nearest, shorten
from ragassay.judges.rubric import LISTS, Rubric
from ragassay.judges.rubric_file import defaults
from ragassay.judges.rubric_file.draft import NAME, REQUIRED, Draft, Fields, quoted_choice


def _is_only_for_custom(draft: Draft, key: str) -> bool:
    """Whether the key cannot be given because the file is no judge of the user's own."""
    if draft.custom:
        return False
    if key in draft.values:
        name = shorten(str(draft.values.get("id")), 60)
        draft.mistake(f"{key} is for a judge of your own; {name} is a built-in rubric", key)
    return True


def _custom_base(draft: Draft) -> Rubric | None:
    """The judge of the user's own that the file extends."""
    return draft.base if draft.base is not None and draft.base.level else None


def _choice(draft: Draft, key: str, offered: Sequence[str], default: str) -> str:
    value = draft.values.get(key, default)
    if isinstance(value, str) and value in offered:
        return value
    hint = nearest(value, offered) if isinstance(value, str) else ""
    shown = shorten(repr(value), 40)
    draft.mistake(f"{key} must be {quoted_choice(offered)}, not {shown}.{hint}", key)
    return default


def read_level(draft: Draft, fields: Fields) -> str:
    """What one Request is about: an answer or one context; "" for a built-in rubric."""
    if _is_only_for_custom(draft, "level"):
        return ""
    base = _custom_base(draft)
    return _choice(draft, "level", defaults.LEVELS, base.level if base else "answer")


def read_row(draft: Draft, fields: Fields) -> str:
    """When a row of many contexts passes."""
    if _is_only_for_custom(draft, "row"):
        return "any"
    base = _custom_base(draft)
    row = _choice(draft, "row", defaults.ROWS, base.row if base else "any")
    if "row" in draft.values and fields["level"] != "retrieval":
        draft.mistake(
            "row says when a row of many contexts passes: it needs `level: retrieval`", "row"
        )
    return row


def read_guidelines(draft: Draft, fields: Fields) -> tuple[str, ...]:
    """The guidelines, each on one line."""
    if _is_only_for_custom(draft, "guidelines"):
        return ()
    base = _custom_base(draft)
    given = draft.values.get("guidelines", list(base.guidelines) if base else [])
    texts = [" ".join(text.split()) for text in given] if _are_texts(given) else []
    if not texts and "guidelines" in draft.values:
        draft.mistake("guidelines must be a list of texts, one a guideline", "guidelines")
    seen = set[str]()
    for n, text in enumerate(texts):
        if text in seen:
            draft.mistake("the guideline is given twice", "guidelines", str(n))
        seen.add(text)
    if texts and fields["level"] != "answer":
        draft.mistake('guidelines are checked at the level "answer" only', "guidelines")
    return tuple(texts)


def _are_texts(given: Any) -> bool:
    if not isinstance(given, list):
        return False
    return all(isinstance(text, str) and text.strip() for text in given)


def read_inputs(draft: Draft, fields: Fields) -> tuple[str, ...]:
    """The names of the texts that are read."""
    if not draft.custom:
        return _read_names(draft, "inputs")
    level: str = fields["level"]
    guidelines: tuple[str, ...] = fields["guidelines"]
    if "inputs" in draft.values or draft.base is not None:
        inputs = _read_names(draft, "inputs")
    else:
        inputs = defaults.default_inputs(level)
    if guidelines and inputs and defaults.GUIDELINE not in inputs:
        inputs = (*inputs, defaults.GUIDELINE)
    offered = defaults.INPUTS
    if guidelines:
        offered = (*offered, defaults.GUIDELINE)
    for name in inputs:
        if name not in offered:
            _note_unknown_input(draft, name, offered)
    key = "inputs" if "inputs" in draft.values else "level"
    if "context" in inputs and level != "retrieval":
        draft.mistake(
            "context, one chunk by itself, is given at the level retrieval; say `level:"
            " retrieval`, or read contexts",
            key,
        )
    elif "context" not in inputs and level == "retrieval" and inputs:
        draft.mistake(
            "at the level retrieval each chunk is judged by itself: inputs must hold context", key
        )
    return inputs


def _read_names(draft: Draft, key: str) -> tuple[str, ...]:
    names = draft.value(key, (list, tuple), "a list of names", REQUIRED) or ()
    are_names = all(isinstance(name, str) and NAME.fullmatch(name) for name in names)
    are_different = len(set(map(str, names))) == len(names)
    is_empty = not names and key in draft.values
    if not are_names or not are_different or is_empty:
        draft.mistake(f"{key} must be a list of different names in small letters", key)
        return ()
    return tuple(names)


def _note_unknown_input(draft: Draft, name: str, offered: Sequence[str]) -> None:
    hint = nearest(name, offered)
    if not hint and draft.base is not None:
        # Who extends a built-in rubric with such inputs may have misspelt its id.
        near_id = nearest(str(draft.values.get("id")), draft.context.builtin)
        hint = near_id.replace("mean", "mean the id")
    draft.mistake(
        f"{name} is no input of a judge of your own; there are {', '.join(defaults.INPUTS)}.{hint}",
        "inputs" if "inputs" in draft.values else "id",
    )


def read_item(draft: Draft, fields: Fields) -> str:
    """The input that varies within a call, "" where there is a mistake."""
    if draft.custom and "item" not in draft.values:
        return _custom_item(draft, fields)
    inputs: tuple[str, ...] = fields["inputs"]
    item = draft.value("item", str, "the name of an input", REQUIRED)
    if item is None:
        return ""
    if inputs and item not in inputs:
        draft.mistake(f"item must be one of the inputs ({', '.join(inputs)})", "item")
    elif item in LISTS:
        hint = "; use context" if item == "contexts" else ""
        draft.mistake(f"item cannot be {item}, which is a list of texts{hint}", "item")
    elif draft.custom and (fields["guidelines"] or fields["level"] == "retrieval"):
        due = defaults.default_item(fields["level"], inputs, fields["guidelines"])
        if item != due and due in inputs:
            draft.mistake(f"item must be {due}: that is what is judged, each by itself", "item")
    return str(item)


def _custom_item(draft: Draft, fields: Fields) -> str:
    """The item of a judge of the user's own whose file names none."""
    inputs: tuple[str, ...] = fields["inputs"]
    item = defaults.default_item(fields["level"], inputs, fields["guidelines"])
    is_fixed = bool(fields["guidelines"]) or fields["level"] == "retrieval"
    if not is_fixed and draft.base is not None and draft.base.item in inputs:
        item = draft.base.item
    if inputs and not item:
        draft.mistake(
            "inputs must hold a single text as well: question, response or reference", "inputs"
        )
    return item
