"""The Markdown sections of a rubric file: System, Criteria and User."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest

from ragassay.core import shorten
from ragassay.judges.rubric_file.mistakes import Mistakes

SECTIONS = ("system", "criteria", "user")
_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t]*$", re.M)


@dataclass(frozen=True, slots=True)
class Section:
    """The text below a heading. line: of its first line of text in the file, counted from 1."""

    text: str
    line: int


def read_sections(text: str, start: int, mistakes: Mistakes, *, custom: bool) -> dict[str, Section]:
    """The sections that begin behind the offset `start`.

    custom: the file is a judge of the user's own, whose text without any section is its criteria.
    """
    sections: dict[str, Section] = {}
    headings = list(_HEADING.finditer(text, start))
    has_sections = any(heading[1].lower() in SECTIONS for heading in headings)
    is_criteria_only = custom and not has_sections
    body = text[start:]
    if is_criteria_only and body.strip():
        sections["criteria"] = _section(body, _line_at(text, start))
    first = headings[0].start() if headings else len(text)
    before = text[start:first]
    if before.strip() and not is_criteria_only:
        line = _line_at(text, start + len(before) - len(before.lstrip()))
        mistakes.add_at(
            line, "text before the first section; sections are ## System, ## Criteria, ## User"
        )
    for heading, following in zip_longest(headings, headings[1:]):
        if mistakes.full:
            break
        name = heading[1].lower()
        line = _line_at(text, heading.start())
        if name not in SECTIONS:
            hint = " (a heading within the criteria begins with ###)" if is_criteria_only else ""
            mistakes.add_at(
                line,
                f"{shorten(heading[1])!r} is not a section; sections are ## System, ## Criteria,"
                f" ## User{hint}",
            )
        elif name in sections:
            mistakes.add_at(line, f"the section {heading[1]!r} is given twice")
        else:
            end = following.start() if following else len(text)
            sections[name] = _section(text[heading.end() : end], line)
    return sections


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _section(body: str, line: int) -> Section:
    """The section of this text, which begins in this line of the file."""
    empty_lines = len(body) - len(body.lstrip("\n"))
    return Section(body.strip("\n"), line + empty_lines)
