"""The list of the metrics and presets: for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from ragassay.metrics import PRESETS, catalogue, default_metrics

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FOOTNOTE = (
    "* measured by default, where the rows have what it needs. Parameters:"
    " 'groundedness(pass_mark=0.8)'. Formulas: docs/metrics.md\n"
)


def metrics_json() -> dict[str, object]:
    """What every metric declares, and what every preset holds."""
    declarations = [kind.declaration.to_json() for kind in catalogue().values()]
    presets = {name: asdict(preset) for name, preset in PRESETS.items()}
    return {"schema": 1, "metrics": declarations, "presets": presets}


def render_metrics(console: Console, *, verbose: bool = False) -> None:
    """Print a line for each metric and preset; verbose: with what each needs and is called
    elsewhere.
    """
    if verbose:
        _render_all(console)
        return
    metrics = _table("metric", "what it says", names=map(_marked, catalogue()))
    for name, kind in catalogue().items():
        metrics.add_row(_marked(name), kind.declaration.title)
    console.print(metrics)
    # Without markup: rich would take the brackets of the example for a style.
    console.print(_FOOTNOTE, markup=False)
    presets = _table("--preset", "for", names=PRESETS)
    for name, preset in PRESETS.items():
        presets.add_row(name, preset.title)
    console.print(presets)
    console.print("\nWhat each needs, and what it is called elsewhere: ragassay metrics -v")


def _marked(name: str) -> str:
    return name + ("*" if name in default_metrics() else "")


def _render_all(console: Console) -> None:
    metrics = _table("metric", "what it says", "needs", "also called")
    for name, kind in catalogue().items():
        declared = kind.declaration
        needs = ", ".join(declared.needs)
        metrics.add_row(_marked(name), declared.title, needs, ", ".join(declared.aka))
    console.print(metrics)
    console.print(_FOOTNOTE, markup=False)
    presets = _table("--preset", "for", "metrics")
    for name, preset in PRESETS.items():
        presets.add_row(name, preset.title, ", ".join(preset.metrics))
    console.print(presets)


def _table(*head: str, names: Iterable[str] = ()) -> Table:
    """A table whose first column, of these names, is never broken."""
    from rich.table import Table

    longest = max(map(len, names), default=0)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(head[0], no_wrap=True, min_width=longest or None)
    for name in head[1:]:
        table.add_column(name, overflow="fold")
    return table
