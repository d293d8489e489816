"""HTML pages that show hostile texts and ask for nothing: their templates and their writing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ragassay.core import EnvironmentFailure
from ragassay.report import wording as say
from ragassay.report.output_files import private
from ragassay.report.text import one_line, page

FOLDER = Path(__file__).parent / "templates"


def environment() -> Environment:
    """Templates that escape whatever they print."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    templates.globals.update(say=say, one_line=one_line, percent_of=percent_of)
    return templates


def _printable(value: object) -> object:
    # Markup is a str too, and safe already: only plain texts may hold what a page cannot.
    return page(value) if type(value) is str else value


def percent_of(value: float | None) -> str:
    """A share in [0, 1] as an SVG coordinate; what lies outside stands at the end."""
    return f"{100 * min(max(value or 0.0, 0.0), 1.0):.2f}%"


def hash_of(text: str) -> str:
    """What a content security policy calls this style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode(
        "ascii"
    )


def write_whole(path: str | Path, pieces: Iterable[str]) -> None:
    """Write a page beside its place and move it there: it is whole or not there.

    Raises EnvironmentFailure E0107 when it cannot be written.
    """
    part = Path(f"{path}.part")
    try:
        with open(part, "w", encoding="utf-8", newline="\n", opener=private) as out:
            out.writelines(pieces)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise EnvironmentFailure(
            "E0107", "The output file cannot be written.", where=str(path), why=str(error)
        ) from error
