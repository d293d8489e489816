"""The commands that look after the store itself: copy it into another database, check it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragassay.cli.output import note, print_json, print_lines, store_file
from ragassay.cli.parameters import JsonOption, StoreOption
from ragassay.core.counting import count

store_app = typer.Typer(
    help="Copy a store into another database, check it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_SINGULAR = {
    "runs": "run",
    "rows": "row",
    "judgments": "judgment",
    "batches": "batch",
    "labels": "label",
    "certificates": "certificate",
}


@store_app.command(name="copy", short_help="Copy all runs into another store.")
def copy(
    from_: Annotated[
        str,
        typer.Argument(metavar="FROM", help="The store to read: a file or a postgresql:// URL."),
    ],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="The store to write; made where it is missing.")
    ],
    json_: JsonOption = False,
) -> None:
    """Copy all runs with their judgments, labels and certificates, under the same ids. What is
    there already stays; a copy that was stopped goes on when it is started again. No run may be
    worked on meanwhile.
    """
    from ragassay.store import Store, copy_store, shown_location

    # The target is made where it is missing; a source that is missing is a mistyped name.
    with Store.open(from_, make=False) as source, Store.open(to) as target:
        counts = asdict(copy_store(source, target, tell=note))
    if json_:
        print_json({"schema": 1, "copied": counts})
        return
    # Runs that were there already are not among those copied.
    known = counts.pop("known")
    print_lines(
        f"copied into {shown_location(to)}",
        ", ".join(count(number, _SINGULAR[what], what) for what, number in counts.items()),
        *([f"there already, with the same content: {count(known, 'run')}"] if known else []),
    )


@store_app.command(name="check", short_help="Check every value of a store.")
def check(store: StoreOption = None, json_: JsonOption = False) -> None:
    """Check every stored value against its checksum, and what is counted against what is there.
    Exit code 5 where something is wrong.
    """
    from ragassay.core import EnvironmentFailure
    from ragassay.store import Store

    with Store.open(store_file(store), make=False) as opened:
        problems = opened.check()
        location = opened.location
    if json_:
        print_json({"schema": 1, "store": location, "problems": list(problems)})
    else:
        print_lines(*problems, location, f"{len(problems)} problems" if problems else "sound")
    if problems:
        raise typer.Exit(EnvironmentFailure.exit_code)
