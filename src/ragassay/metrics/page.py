"""What does the page docs/metrics.md say? Written from the declarations, so that it cannot fall behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from ragassay.metrics.base import Declaration, MetricBase
from ragassay.scoring import BASE_WEIGHT, WEIGHT_RULES

_INTRO = """# Metrics

<!-- Written by ragassay.metrics.reference(); a test keeps this file equal to it. -->

A score is a number, or it is absent with a status and a reason; it is never NaN and never a made-up 0 or 1. Every score
says how many parts (claims, chunks, ratings) were asked about and how many were judged. A metric that lacks an input is
not applicable and names the field. When some judgments are lost, the value rests on the others and is flagged
`partial`; the verdict is pass or fail only where the lost ones could not change it, else undecided.

Write parameters in brackets: `groundedness(pass_mark=0.8)`, `ndcg_at_k(k=5)` (also `ndcg@5`). Several metrics are
separated by commas. Metrics that share a judgment share its cost: faithfulness and chunk_relevance ask nothing of their
own beside groundedness and context_relevance, and abstention nothing beside answer_relevance.

| metric | measures | range | needs | asks a judge |
|---|---|---|---|---|
"""

_CLAIMS = """## Claims

The response is cut into sentences, list items and table rows at their exact place. What makes no claim is dropped, with
its reason, and stays visible in the reports: politeness, lead-ins to a list, headings, questions, code, bare citations.
With `claims=llm` the judge's model lists the claims instead (one more call a row).

"""


def page(metrics: Sequence[type[MetricBase]]) -> str:
    """The reference of these metrics in Markdown."""
    rows = [_row(kind.declaration) for kind in metrics]
    return "".join([_INTRO, *rows, "\n", *(_section(kind) for kind in metrics), _CLAIMS, _weights()])


def _row(d: Declaration) -> str:
    needs = ", ".join(f"`{name}`" for name in d.needs)
    return f"| [{d.name}](#{d.name}) | {d.title} | {_range(d)} | {needs} | {'yes' if d.judged else 'no'} |\n"


def _section(kind: type[MetricBase]) -> str:
    d = kind.declaration
    lines = [f"## {d.name}\n", f"{d.title}\n", f"- value: {d.formula}"]
    direction = {True: ", higher is better", False: ", lower is better", None: ", neither end is better by itself"}
    lines.append(f"- range: {_range(d)}{direction[d.higher_is_better]}")
    lines.append(f"- needs: {', '.join(f'`{name}`' for name in d.needs)}")
    if d.rubrics:
        lines.append(f"- rubrics: {', '.join(d.rubrics)}")
    parameters = [f"`{f.name}={_short(f.default)}`" for f in fields(kind)]  # type: ignore[arg-type]
    if parameters:
        lines.append(f"- parameters and defaults: {', '.join(parameters)}")
    if d.aka:
        lines.append(f"- also called: {', '.join(d.aka)}")
    lines.append(f"- source: {d.source} ({d.id})")
    return "\n".join(lines) + "\n\n"


def _range(d: Declaration) -> str:
    if d.high is None:
        return f"{d.low:g} or more {d.unit}".rstrip()
    return f"{d.low:g} to {d.high:g}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _weights() -> str:
    table = "".join(f"| {rule.what} | +{rule.adds:g} |\n" for rule in WEIGHT_RULES)
    return (
        f"## Weights of faithfulness(mode=weighted)\n\nA claim weighs {BASE_WEIGHT:g}, plus what it holds:\n\n"
        f"| holds | weight |\n|---|---|\n{table}\n"
        "Numbers inside a date count as the date only; a name is a capitalised word that does not begin the claim, or\n"
        "an acronym. The weight of each claim stands beside it in the reports.\n"
    )
