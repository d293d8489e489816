"""The page docs/metrics.md, written from the declarations of the metrics."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields

from docs_pages.markdown import cell, differs, fragment
from ragassay.metrics import Area, Declaration, MetricBase, catalogue
from ragassay.scoring import BASE_WEIGHT, WEIGHT_RULES


@dataclass(frozen=True)
class _Group:
    """A table of the page: the metrics of an area. judged: only those that ask a judge, or only
    those that do not; None for both.
    """

    title: str
    question: str
    area: Area
    judged: bool | None = None


_GROUPS = (
    _Group("Retrieval", "Was the right text found?", Area.RETRIEVAL),
    _Group("Generation", "What was made of it?", Area.RESPONSE, judged=True),
    _Group("Exact", "Is the text the same? Without a judge.", Area.RESPONSE, judged=False),
    _Group("Operation", "What did it cost, and did it run?", Area.OPERATION),
)
_BETTER = {True: "higher", False: "lower", None: "neither"}
_DIRECTION = {
    True: "higher is better",
    False: "lower is better",
    None: "neither end is better by itself",
}


def metrics_page() -> str:
    """The reference of the catalogue's metrics in Markdown."""
    metrics = tuple(catalogue().values())
    declarations = [metric.declaration for metric in metrics]
    tables = [_table(group, declarations) for group in _GROUPS]
    sections = [metric_section(metric) for metric in metrics]
    return "".join(
        (
            fragment("metrics_intro.md"),
            *tables,
            "\n",
            fragment("metrics_names.md"),
            *sections,
            fragment("metrics_claims.md"),
            _weights(),
        )
    )


def _table(group: _Group, declarations: Sequence[Declaration]) -> str:
    """The metrics of a group, one a line."""
    lines = [
        f"\n### {group.title}\n",
        f"{group.question}\n",
        "| metric | measures | better | needs | calls a row |",
        "|---|---|---|---|---|",
    ]
    for d in declarations:
        if d.area is not group.area or group.judged not in (None, d.judged):
            continue
        better = _BETTER[d.higher_is_better]
        lines.append(
            f"| [{d.name}](#{d.name}) | {d.title} | {better} | {_needs(d)} | {cell(_calls(d))} |"
        )
    return "\n".join(lines) + "\n"


def metric_section(metric: type[MetricBase]) -> str:
    """Everything the declaration of one metric says."""
    d = metric.declaration
    lines = [
        f"## {d.name}\n",
        f"{d.title}\n",
        f"- value: {d.formula}",
        f"- range: {_range(d)}, {_DIRECTION[d.higher_is_better]}",
        f"- needs: {_needs(d)}",
    ]
    parameters = _parameters(metric)
    if parameters:
        lines.append(f"- parameters and defaults: {parameters}. {_docstring(metric)}")
    if d.edge_cases:
        lines.append("- edge cases:")
        lines += [f"    - {case}" for case in d.edge_cases]
    rubrics = f" (rubrics: {', '.join(d.rubrics)})" if d.rubrics else ""
    lines.append(f"- calls a row: {_calls(d)}{rubrics}")
    lines.append(f"- source: {d.source}")
    if d.elsewhere:
        lines += ["", "| elsewhere | name there | how it differs |", "|---|---|---|"]
    for other in d.elsewhere:
        lines.append(f"| {other.tool} | {cell(other.name)} | {cell(differs(other))} |")
    return "\n".join(lines) + "\n\n"


def _parameters(metric: type[MetricBase]) -> str:
    parameters = []
    for field in fields(metric):  # type: ignore[arg-type]
        default = field.default
        shown = f"{default:.4g}" if isinstance(default, float) else str(default)
        parameters.append(f"`{field.name}={shown}`")
    return ", ".join(parameters)


def _docstring(metric: type[MetricBase]) -> str:
    """The class's docstring on one line: it says what the parameters mean."""
    return " ".join(inspect.cleandoc(metric.__doc__ or "").split())


def _calls(d: Declaration) -> str:
    return d.calls or "none"


def _needs(d: Declaration) -> str:
    """The needed fields, alternatives joined by "or"."""
    needs = []
    for need in d.needs:
        alternatives = [f"`{name}`" for name in need.split("|")]
        needs.append(" or ".join(alternatives))
    return ", ".join(needs)


def _range(d: Declaration) -> str:
    if d.high is None:
        return f"{d.low:g} or more {d.unit}".rstrip()
    return f"{d.low:g} to {d.high:g}"


def _weights() -> str:
    table = "".join(f"| {rule.what} | +{rule.adds:g} |\n" for rule in WEIGHT_RULES)
    return (
        f"## Weights of faithfulness(mode=weighted)\n\nA claim weighs {BASE_WEIGHT:g}, plus what it"
        f" holds:\n\n| holds | weight |\n|---|---|\n{table}\nNumbers inside a date count as the"
        " date only; a name is a capitalised word that does not begin the claim, or\nan acronym."
        " The weight of each claim stands beside it in the reports.\n"
    )
