"""The sections of a rubric file as templates, and the placeholders in them.

A judge of the user's own may leave out System and User: they are written from the header.
"""

from __future__ import annotations

from collections.abc import Iterable

from ragassay.core import nearest
from ragassay.judges.rubric import Rubric
from ragassay.judges.rubric_file import defaults
from ragassay.judges.rubric_file.draft import Draft, Fields
from ragassay.judges.rubric_file.sections import SECTIONS
from ragassay.judges.template import placeholders, stray_braces

_PARTS = ("criteria", "wording", "examples", "reply")


def read_criteria(draft: Draft, fields: Fields) -> str:
    """The template of the criteria, "" where there are none."""
    return _read_section(draft, "criteria")


def read_system(draft: Draft, fields: Fields) -> str:
    """The template of the part that is the same for every Request."""
    text = _read_section(draft, "system")
    if not draft.custom or "system" in draft.sections or draft.base is not None:
        return text
    has_criteria = bool(fields["criteria"].strip())
    # A section or list that is there and empty is a mistake that was noted already.
    says_what = (
        has_criteria
        or fields["guidelines"]
        or "guidelines" in draft.values
        or "criteria" in draft.sections
    )
    if not says_what:
        draft.mistake("the criteria are missing: say below the header what is judged, and by what")
    purpose = str(fields["purpose"])
    if "{{" in purpose or "}}" in purpose:
        draft.mistake(
            "purpose is shown to the judge as it is and cannot hold double braces", "purpose"
        )
        purpose = ""
    return defaults.system_text(
        purpose,
        fields["item"],
        criteria=has_criteria,
        wordings=bool(fields["wordings"]),
        examples=bool(fields["examples"]),
    )


def read_user(draft: Draft, fields: Fields) -> str:
    """The template of the part with the data."""
    text = _read_section(draft, "user")
    inputs_changed = "inputs" in draft.values or "guidelines" in draft.values
    if not draft.custom or "user" in draft.sections:
        return text
    if draft.base is not None and not inputs_changed:
        return text
    return defaults.user_text(fields["inputs"], fields["item"])


def _read_section(draft: Draft, name: str) -> str:
    section = draft.sections.get(name)
    if section is not None:
        if not section.text.strip():
            draft.mistakes.add_at(section.line, f"the section {name.capitalize()} is empty")
        return section.text
    if draft.base is not None:
        return str(getattr(draft.base, name))
    if name != "criteria" and not draft.custom:
        draft.mistake(f"the section ## {name.capitalize()} is missing")
    return ""


# -- placeholders


def check_placeholders(draft: Draft, rubric: Rubric) -> None:
    """Note placeholders that are unknown or missing, and braces that belong to none."""
    of_scale = set(rubric.scale.placeholders) if rubric.scale is not None else set[str]()
    allowed = {
        "criteria": of_scale,
        "system": {*of_scale, *_PARTS},
        "user": {*of_scale, *_PARTS, *rubric.inputs},
    }
    used: dict[str, set[str]] = {}
    for part in SECTIONS:
        text: str = getattr(rubric, part)
        used[part] = {name for name, _ in placeholders(text)}
        for name, at in placeholders(text):
            if name in allowed[part]:
                continue
            if draft.mistakes.full:
                return
            hint = _placeholder_hint(draft, rubric, name, allowed[part])
            _note_in_text(draft, part, at, f"unknown placeholder {{{{{name}}}}}.{hint}")
        for at in stray_braces(text):
            if draft.mistakes.full:
                return
            _note_in_text(
                draft, part, at, "double braces that are no placeholder of the form {{name}}"
            )
    _check_missing(draft, rubric, used)


def _placeholder_hint(draft: Draft, rubric: Rubric, name: str, allowed: Iterable[str]) -> str:
    """What may have been meant by an unknown placeholder."""
    if name in ("scale.lowest", "scale.highest") and rubric.scale is not None:
        return " Categories have no lowest and no highest one."
    if name in rubric.inputs:
        if draft.custom and not {"system", "user"} & set(draft.sections):
            return " Leave it out: the inputs are put behind the criteria by themselves."
        return " The texts to judge belong into the section User."
    return nearest(name, allowed)


def _check_missing(draft: Draft, rubric: Rubric, used: dict[str, set[str]]) -> None:
    needed = {
        "reply": True,
        "criteria": bool(rubric.criteria.strip()),
        "scale": rubric.scale is not None,
        "examples": bool(rubric.examples),
        "wording": bool(rubric.wordings),
    }
    everywhere = used["system"] | used["user"] | used["criteria"]
    for name, is_needed in needed.items():
        if is_needed and name not in everywhere:
            _note_in_text(draft, "system", 0, f"the placeholder {{{{{name}}}}} is missing")
    for name in rubric.inputs:
        if name not in used["user"]:
            text = f"the placeholder {{{{{name}}}}} is missing: {name} is one of the inputs"
            _note_in_text(draft, "user", 0, text)


def _note_in_text(draft: Draft, part: str, at: int, text: str) -> None:
    """Note a mistake at an offset into a section."""
    section = draft.sections.get(part)
    line = 1
    if section is not None:
        line = section.line + section.text.count("\n", 0, at)
    draft.mistakes.add_at(line, f"section {part.capitalize()}: {text}")
