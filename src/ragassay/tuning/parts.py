"""A rubric as the parts that an edit can change: lines, criteria, examples, points of the scale.

The template of a rubric is split without loss: what no edit touches stays as its author wrote it.
A line of the system prompt is a paragraph of it; one with a placeholder is fixed, as the form of
the reply, the scale and the criteria come to stand there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from ragassay.judges import Point, Rubric, Scale
from ragassay.judges.template import fill, placeholders

_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,3}[.)])\s")
_MARKER = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+)+")


class Kind(StrEnum):
    """A kind of part."""

    LINE = "line"
    CRITERION = "criterion"
    EXAMPLE = "example"
    POINT = "point"


def one_line(text: str) -> str:
    """The text on one line, without the mark of a list item or a heading before it."""
    return _MARKER.sub("", " ".join(text.split()))


def blocks(rubric: Rubric) -> list[str]:
    """The paragraphs of the system prompt's template, the fixed ones among them."""
    return rubric.system.split("\n\n")


def is_fixed(block: str) -> bool:
    """Whether no edit may touch this paragraph."""
    return any(placeholders(block)) or not block.strip()


def items(rubric: Rubric) -> list[str]:
    """The criteria's template, cut before each item of a list and before each paragraph."""
    cut: list[str] = []
    after_blank = False
    for line in rubric.criteria.split("\n"):
        is_new = _ITEM.match(line) is not None or (after_blank and line.strip() != "")
        if is_new or not cut:
            cut.append(line)
        else:
            cut[-1] += f"\n{line}"
        after_blank = not line.strip()
    return cut if rubric.criteria.strip() else []


def texts(rubric: Rubric, kind: Kind) -> list[str]:
    """The parts of this kind as one reads them, in order: what an edit names them by."""
    if kind is Kind.LINE:
        return [one_line(block) for block in blocks(rubric) if not is_fixed(block)]
    if kind is Kind.CRITERION:
        words = rubric.scale.placeholders if rubric.scale is not None else {}
        return [one_line(fill(item, words)) for item in items(rubric)]
    if kind is Kind.EXAMPLE:
        return [example_text(example) for example in rubric.examples]
    return [point.meaning for point in points(rubric)]


def points(rubric: Rubric) -> tuple[Point, ...]:
    """The points of the scale; none where the rubric has no scale."""
    return rubric.scale.points if rubric.scale is not None else ()


def example_text(example: Mapping[str, object]) -> str:
    """An example on one line, the same for equal examples."""
    return json.dumps(dict(example), ensure_ascii=False, sort_keys=True)


# -- a rubric with other parts


def with_blocks(rubric: Rubric, changed: Sequence[str]) -> Rubric:
    """The rubric with these paragraphs in its system prompt."""
    return replace(rubric, system="\n\n".join(changed))


def with_items(rubric: Rubric, changed: Sequence[str]) -> Rubric:
    """The rubric with these criteria. Where it had none, or has none any more, the system prompt
    gets or loses the place for them.
    """
    criteria = "\n".join(changed).strip("\n")
    system = rubric.system
    has_place = any(name == "criteria" for name, _ in placeholders(system + rubric.user))
    if criteria.strip() and not has_place:
        system = f"{{{{criteria}}}}\n\n{system}"
    return replace(rubric, criteria=criteria, system=system)


def with_examples(rubric: Rubric, changed: Sequence[Mapping[str, object]]) -> Rubric:
    """The rubric with these examples; the system prompt has a place for them where there are any,
    before the form of the reply, which stands last.
    """
    system = rubric.system
    has_place = any(name == "examples" for name, _ in placeholders(system + rubric.user))
    if changed and not has_place:
        all_blocks = blocks(rubric)
        at = next((n for n, block in enumerate(all_blocks) if "reply" in _names(block)), 0)
        all_blocks.insert(at, "{{examples}}")
        system = "\n\n".join(all_blocks)
    return replace(rubric, examples=tuple(changed), system=system)


def _names(text: str) -> set[str]:
    return {name for name, _ in placeholders(text)}


def with_meaning(rubric: Rubric, place: int, meaning: str) -> Rubric:
    """The rubric with another wording of one point of its scale."""
    assert rubric.scale is not None
    changed = list(rubric.scale.points)
    changed[place] = Point(changed[place].rating, changed[place].value, meaning)
    scale = Scale(tuple(changed), rubric.scale.pass_mark, rubric.scale.passing)
    return replace(rubric, scale=scale)
