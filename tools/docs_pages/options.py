"""The page docs/options.md: the options of a run, from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docs_pages.markdown import cell, fragment
from ragassay.runs.options import Option, declared_options


def options_page() -> str:
    """The table of all options."""
    head = (
        "| `ragassay.evaluate` | command line | default | what it says | a resume may change it |\n"
        "|---|---|---|---|---|\n"
    )
    rows = [_row(option) for option in declared_options().values()]
    return fragment("options_intro.md") + head + "".join(rows)


def _row(option: Option) -> str:
    flags = " ".join(f"`{flag}`" for flag in option.flags) or "-"
    cells = (
        f"`{option.name}`",
        flags,
        _default(option.default),
        option.help,
        option.on_resume.value,
    )
    return f"| {' | '.join(cell(text) for text in cells)} |\n"


def _default(value: Any) -> str:
    if value is None or (isinstance(value, tuple | Mapping) and not value):
        return "-"
    return f"`{value!r}`"
