"""The page docs/coming-from.md: other tools' names, from the declarations and coming_from.yaml."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from docs_pages.markdown import cell, differs, fragment
from ragassay.metrics import Elsewhere, catalogue


class _Tool(NamedTuple):
    """A section of the page: the tools of the declarations that belong to it, and what only a
    person can say.

    more: (name there, name here, how it differs). absent: (names there, what to do instead).
    """

    title: str
    tools: tuple[str, ...]
    words: str
    more: tuple[tuple[str, str, str], ...]
    absent: tuple[tuple[str, str], ...]


def coming_from_page() -> str:
    """The page about other tools' names. Every Elsewhere of the catalogue is on it."""
    names = _names_elsewhere()
    sections = _sections()
    sectioned = {tool for section in sections for tool in section.tools}
    strangers = sorted({other.tool for other, _ in names} - sectioned)
    # The last section takes the tools that have none of their own.
    sections[-1] = sections[-1]._replace(tools=(*sections[-1].tools, *strangers))
    return fragment("coming_from_intro.md") + "".join(
        _section(section, names) for section in sections
    )


def _names_elsewhere() -> list[tuple[Elsewhere, str]]:
    """(name in another tool, our metric) of every declaration.

    A metric may warn of another tool's name that means something else; where a metric of ours is
    what that name means, the name leads to that metric alone.
    """
    names = []
    for metric in catalogue().values():
        names += [(other, metric.declaration.name) for other in metric.declaration.elsewhere]
    meant = {(other.tool, other.name) for other, _ in names if not _points_away(other)}
    return [
        (other, name)
        for other, name in names
        if not _points_away(other) or (other.tool, other.name) not in meant
    ]


def _points_away(other: Elsewhere) -> bool:
    return "another quantity" in other.differs or ": see " in other.differs


def _sections() -> list[_Tool]:
    """The sections of the data file, in order."""
    sections = []
    for entry in yaml.safe_load(fragment("coming_from.yaml")):
        more = [(one["there"], one["here"], one["differs"]) for one in entry.get("more", ())]
        absent = [(one["there"], one["instead"]) for one in entry.get("absent", ())]
        sections.append(
            _Tool(entry["title"], tuple(entry["tools"]), entry["words"], tuple(more), tuple(absent))
        )
    return sections


def _section(section: _Tool, names: list[tuple[Elsewhere, str]]) -> str:
    lines = [
        f"\n## {section.title}\n",
        f"{section.words}\n",
        "| there | here | what differs |",
        "|---|---|---|",
    ]
    more = [(there, _linked(here), how) for there, here, how in section.more]
    for there, here, how in (*_declared_rows(section, names), *more):
        lines.append(f"| {cell(there)} | {here} | {cell(how)} |")
    for there, instead in section.absent:
        lines.append(f"| {cell(there)} | not here | {cell(instead)} |")
    return "\n".join(lines) + "\n"


def _linked(here: str) -> str:
    """A text that begins with the name of a metric, with the name led to it."""
    name = re.match(r"\w*", here)
    if name is None or name[0] not in catalogue():
        return here
    return f"[{name[0]}](metrics.md#{name[0]}){here[name.end() :]}"


def _declared_rows(
    section: _Tool, names: list[tuple[Elsewhere, str]]
) -> list[tuple[str, str, str]]:
    """The rows of a section that come from the declarations, by the name there."""
    rows = []
    for other, name in names:
        # Ragas carries NVIDIA's metrics under names that say so.
        tool = "NVIDIA" if "NVIDIA" in other.name else other.tool
        if tool not in section.tools:
            continue
        there = other.name
        if len(section.tools) > 1 and other.tool != section.title:
            there = f"{other.name} ({other.tool})"
        rows.append((there, f"[{name}](metrics.md#{name})", differs(other)))
    return sorted(rows, key=lambda row: row[0].lower())
