"""Lines and tables as one HTML page that needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.tables import Block, Table


def write_blocks_html(title: str, blocks: Iterable[Block], path: str | Path) -> None:
    """Write a report as a page: its first line is the headline. Raises EnvironmentFailure E0107
    when it cannot be written.
    """
    style = (FOLDER / "report.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template("blocks.html.j2")
    sections = _sections(blocks)
    write_whole(
        path,
        page.generate(title=title, policy=policy, style=Markup(style), sections=sections),
    )


def _sections(blocks: Iterable[Block]) -> list[list[Table | list[str]]]:
    """The blocks between empty lines; lines that follow each other are one paragraph."""
    sections: list[list[Table | list[str]]] = [[]]
    for block in blocks:
        if block == "":
            sections.append([])
        elif isinstance(block, Table):
            sections[-1].append(block)
        elif sections[-1] and isinstance(sections[-1][-1], list):
            sections[-1][-1].append(block)
        else:
            sections[-1].append([block])
    return [section for section in sections if section]
