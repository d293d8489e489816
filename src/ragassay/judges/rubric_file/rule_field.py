"""The key `input_rules` of a rubric file: what follows from the inputs, without asking a model."""

from __future__ import annotations

from typing import Any

from ragassay.core import nearest, shorten
from ragassay.judges.input_rules import CONDITIONS, SINGLE_TEXT_CONDITIONS
from ragassay.judges.rubric import LISTS, InputRule
from ragassay.judges.rubric_file.draft import NAME, Draft, Fields
from ragassay.judges.scale import Rating, Scale

_KEYS = ("when", "not_applicable", "rating", "reasoning", "flags", "supported_by")
ENDS = ("lowest", "highest")


def read_input_rules(draft: Draft, fields: Fields) -> tuple[InputRule, ...]:
    """The rules, in the order in which they are tried."""
    if "input_rules" not in draft.values:
        return _inherited(draft, fields)
    given = draft.values["input_rules"] or []
    if not isinstance(given, list):
        draft.mistake("input_rules must be a list", "input_rules")
        return ()
    rules: list[InputRule] = []
    for n, entry in enumerate(given):
        mistakes_before = len(draft.mistakes)
        rule = _read_rule(draft, fields, n, entry)
        if rule is not None and len(draft.mistakes) == mistakes_before:
            rules.append(rule)
    return tuple(rules)


def read_rules_are_own(draft: Draft, fields: Fields) -> bool:
    """Whether a file of the user's gave the rules, this one or one that it extends."""
    if "input_rules" in draft.values:
        return draft.context.own
    return draft.base is not None and draft.base.rules_are_own


def _inherited(draft: Draft, fields: Fields) -> tuple[InputRule, ...]:
    """The rules of a file that gives none."""
    base = draft.base
    if base is not None and (base.rules_are_own or not draft.context.own):
        return base.input_rules
    if draft.replaced is not None:
        return draft.replaced.input_rules
    if draft.custom:
        return _rules_of_custom(fields)
    return ()


def _rules_of_custom(fields: Fields) -> tuple[InputRule, ...]:
    """A judge of the user's own is not asked about a response or an item that holds no text."""
    rules: list[InputRule] = []
    for name in dict.fromkeys(("response", fields["item"])):
        if name in fields["inputs"]:
            reason = f"the {name} holds no text"
            rules.append(InputRule((("blank", name),), not_applicable=reason))
    return tuple(rules)


def _read_rule(draft: Draft, fields: Fields, n: int, entry: object) -> InputRule | None:
    key = ("input_rules", str(n))
    if not isinstance(entry, dict):
        draft.mistake(f"rule {n + 1} must be a mapping", *key)
        return None
    for name in entry:
        if name not in _KEYS:
            hint = nearest(str(name), _KEYS)
            text = f"rule {n + 1}: {shorten(str(name))!r} is no key of a rule.{hint}"
            draft.mistake(text, *key, str(name))
    reason = entry.get("not_applicable", "")
    reasoning = entry.get("reasoning", "")
    for name, text in (("not_applicable", reason), ("reasoning", reasoning)):
        if not isinstance(text, str):
            draft.mistake(f"rule {n + 1}: {name} must be a text", *key, name)
    flags = entry.get("flags", [])
    if not isinstance(flags, list) or not all(_is_name(flag) for flag in flags):
        draft.mistake(f"rule {n + 1}: flags must be a list of names", *key, "flags")
        flags = []
    if entry.get("supported_by", []) != []:
        text = f"rule {n + 1}: supported_by can only be [], for what nothing supports"
        draft.mistake(text, *key, "supported_by")
    return InputRule(
        conditions=_read_conditions(draft, fields, n, entry.get("when")),
        not_applicable=reason,
        rating=_read_rating(draft, fields, n, entry),
        reasoning=reasoning,
        flags=tuple(flags),
        nothing_supports="supported_by" in entry,
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _read_conditions(
    draft: Draft, fields: Fields, n: int, given: object
) -> tuple[tuple[str, str], ...]:
    key = ("input_rules", str(n), "when")
    if not isinstance(given, dict) or not given:
        draft.mistake(f"rule {n + 1}: when must be a mapping of conditions to inputs", *key)
        return ()
    conditions: list[tuple[str, str]] = []
    for condition, name in given.items():
        if condition not in CONDITIONS:
            offered = ", ".join(CONDITIONS)
            draft.mistake(
                f"rule {n + 1}: {shorten(str(condition))!r} is no condition; there are {offered}",
                *key,
                str(condition),
            )
        elif name not in fields["inputs"]:
            draft.mistake(
                f"rule {n + 1}: {shorten(str(name))!r} is none of the inputs", *key, condition
            )
        elif condition in SINGLE_TEXT_CONDITIONS and name in LISTS:
            text = f"rule {n + 1}: {condition} is for an input with one text"
            draft.mistake(text, *key, condition)
        else:
            conditions.append((condition, name))
    return tuple(conditions)


def _read_rating(draft: Draft, fields: Fields, n: int, entry: dict[Any, Any]) -> Rating | None:
    """The rating of a rule: "lowest", "highest" or one of the scale; None where it gives none."""
    key = ("input_rules", str(n))
    scale: Scale | None = fields["scale"]
    rating: Rating | None = entry.get("rating")
    if "not_applicable" in entry:
        if "rating" in entry:
            text = f"rule {n + 1}: what is not applicable has no rating"
            draft.mistake(text, *key, "rating")
        return None
    if fields["writes"] != "ratings":
        if "rating" in entry:
            text = f"rule {n + 1}: the rubric writes {fields['writes']} and gives no rating"
            draft.mistake(text, *key, "rating")
        return None
    if scale is None or rating in ENDS:
        return rating
    if type(rating) not in (int, str) or rating not in scale.ratings:
        draft.mistake(
            f"rule {n + 1} has the rating {shorten(repr(rating), 40)}, which is neither lowest nor"
            f" highest nor {scale.words}",
            *key,
            "rating",
        )
    return rating
