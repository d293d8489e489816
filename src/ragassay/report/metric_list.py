"""The list of the metrics and presets: for the terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ragassay.metrics import PRESETS, catalogue, default_metrics

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FOOTNOTE = (
    "* in the default set. Parameters: 'groundedness(pass_mark=0.8)'. Formulas: docs/metrics.md\n"
)


def metrics_json() -> dict[str, object]:
    """What every metric declares, and what every preset holds."""
    declarations = [kind.declaration.to_json() for kind in catalogue().values()]
    presets = {name: asdict(preset) for name, preset in PRESETS.items()}
    return {"schema": 1, "metrics": declarations, "presets": presets}


def render_metrics(console: Console) -> None:
    """Print a table of the metrics and one of the presets."""
    metrics = _table("metric", "what it says", "needs", "also called")
    for name, kind in catalogue().items():
        declared = kind.declaration
        mark = "*" if name in default_metrics() else ""
        needs = ", ".join(declared.needs)
        metrics.add_row(name + mark, declared.title, needs, ", ".join(declared.aka))
    console.print(metrics)
    # Without markup: rich would take the brackets of the example for a style.
    console.print(_FOOTNOTE, markup=False)
    presets = _table("--preset", "for", "metrics")
    for name, preset in PRESETS.items():
        presets.add_row(name, preset.title, ", ".join(preset.metrics))
    console.print(presets)


def _table(*head: str) -> Table:
    from rich.table import Table

    return Table(*head, box=None, header_style="bold", pad_edge=False)
