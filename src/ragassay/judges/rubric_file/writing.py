"""A rubric as the text of a rubric file, which reads back to the same rubric.

Everything is written out, so that the file stands alone: `extends` and what follows from it are
gone. The file of a built-in rubric, changed or not, is a user's file that replaces it.
"""

from __future__ import annotations

from typing import Any

from ragassay.judges.rubric import InputRule, Rubric
from ragassay.judges.scale import Point, Scale

_WIDTH = 100


def rubric_text(rubric: Rubric) -> str:
    """The rubric file: YAML front matter and the sections System, Criteria and User."""
    sections = [_front_matter(rubric), f"## System\n\n{rubric.system}"]
    if rubric.criteria.strip():
        sections.append(f"## Criteria\n\n{rubric.criteria}")
    sections.append(f"## User\n\n{rubric.user}\n")
    return "\n\n".join(sections)


def _front_matter(rubric: Rubric) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes a value out each time that it comes: readers refuse aliases."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    front = yaml.dump(
        _values(rubric), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    return f"---\n{front}---"


def _values(rubric: Rubric) -> dict[str, Any]:
    values: dict[str, Any] = {"id": rubric.id, "version": _version(rubric.version)}
    values["purpose"] = rubric.purpose
    if rubric.source:
        values["source"] = rubric.source
    if rubric.level:
        values["level"] = rubric.level
    if rubric.level == "retrieval":
        values["row"] = rubric.row
    if rubric.guidelines:
        values["guidelines"] = list(rubric.guidelines)
    values |= {"inputs": list(rubric.inputs), "item": rubric.item, "batch": rubric.batch}
    if rubric.writes != "ratings":
        values["writes"] = rubric.writes
    for name in ("asks_reasons", "asks_quotes", "asks_sources"):
        values[name] = getattr(rubric, name)
    if rubric.flags:
        values["flags"] = _flags(rubric)
    if rubric.scale is not None:
        values["scale"] = _scale(rubric.scale)
    if rubric.wordings:
        values["wordings"] = {"by": rubric.wording_by, **rubric.wordings}
    if rubric.rules_are_own:
        values["input_rules"] = [_rule(rule) for rule in rubric.input_rules]
    if rubric.examples:
        values["examples"] = [dict(example) for example in rubric.examples]
    return values


def _version(version: str) -> int | str:
    """A whole number as such; YAML would read 1.10 as 1.1, so anything else stays a text."""
    if version.isascii() and version.isdigit() and str(int(version)) == version:
        return int(version)
    return version


def _flags(rubric: Rubric) -> dict[str, Any]:
    flags: dict[str, Any] = {}
    for flag in rubric.flags:
        flags[flag.name] = {"meaning": flag.meaning}
        if flag.end:
            flags[flag.name]["rating"] = flag.end
    return flags


def _scale(scale: Scale) -> dict[str, Any]:
    passing: object = scale.pass_mark
    if scale.pass_mark is None:
        passing = list(scale.passing)
    values: dict[str, Any] = {"pass": passing}
    first, second = scale.ratings[:2]
    if isinstance(first, int) and isinstance(second, int) and second - first != 1:
        values["step"] = second - first
    values["points"] = {
        point.rating: _point(scale, place, point) for place, point in enumerate(scale.points)
    }
    return values


def _point(scale: Scale, place: int, point: Point) -> object:
    """The meaning alone where the value is the one that a reader gives a point without a value."""
    due = place / (len(scale.points) - 1)
    if scale.pass_mark is None:
        due = float(point.rating in scale.passing)
    if point.value == due:
        return point.meaning
    return {"value": point.value, "meaning": point.meaning}


def _rule(rule: InputRule) -> dict[str, Any]:
    values: dict[str, Any] = {"when": dict(rule.conditions)}
    if rule.not_applicable:
        values["not_applicable"] = rule.not_applicable
    if rule.rating is not None:
        values["rating"] = rule.rating
    if rule.reasoning:
        values["reasoning"] = rule.reasoning
    if rule.flags:
        values["flags"] = list(rule.flags)
    if rule.nothing_supports:
        values["supported_by"] = []
    return values
