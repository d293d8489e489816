"""The command that looks at the user's file and writes a configuration for the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragassay.cli.output import note, print_json, print_lines
from ragassay.cli.parameters import JsonOption
from ragassay.core.errors import SetupError, shorten


def init(
    rows: Annotated[
        str | None, typer.Argument(help="Your file of rows; without it, a file to fill in.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path(
        "ragassay.toml"
    ),
    judge: Annotated[
        str, typer.Option(help="'offline' (no key, no network) or 'PROVIDER:MODEL'.")
    ] = "offline",
    force: Annotated[bool, typer.Option("--force", help="Write over a file there.")] = False,
    json_: JsonOption = False,
) -> None:
    """Look at a file of rows, show how each column is read, and write a ragassay.toml with
    comments, which every command in its folder reads. Asks nothing and sends nothing.
    """
    from ragassay.runs.config_file import config_text
    from ragassay.runs.look import look_at

    if output.exists() and not force:
        raise SetupError(
            "E0107",
            f"{output} is there already.",
            where=str(output),
            fix="give --force to write over it, or another name with --output",
        )
    found = look_at(rows) if rows is not None else None
    columns = found.columns if found is not None else ()
    text = config_text(rows or "", columns, judge)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            "E0107",
            f"{output} cannot be written.",
            where=str(output),
            why=shorten(str(error)),
            fix="name a file in a folder that is there",
        ) from error
    if json_:
        named = {each.column: each.field or None for each in columns}
        absent = list(found.open_fields) if found is not None else []
        print_json({"schema": 1, "file": str(output), "columns": named, "missing": absent})
        return
    width = max((len(each.column) for each in columns), default=0)
    for each in columns:
        read = f"read as {each.field}" if each.field else "not read"
        doubt = " (a guess: check it)" if each.is_guess else ""
        print_lines(f"  {each.column:<{min(width, 30)}}  {read}{doubt}: {each.example}")
    for advice in found.advice if found is not None else ():
        note(advice)
    note(f"wrote {output}")
    if not rows:
        note(f"next: name your rows in {output}")
    elif found is not None and {"question", "response"} & set(found.open_fields):
        note(f"next: name the columns under [map] in {output}, then: ragassay evaluate")
    else:
        note("next: ragassay evaluate")
