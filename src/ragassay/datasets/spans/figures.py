"""Tokens and cost of a trace: the sums over its calls of language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragassay.datasets.spans import names
from ragassay.datasets.spans.span import Span
from ragassay.datasets.spans.tree import everything, forest


def figures_of_spans(spans: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Tokens and cost of the calls of language models. A span that repeats the sum of those inside
    it is not counted beside them.
    """
    return figures_of(forest(spans))


def figures_of(roots: Sequence[Span]) -> dict[str, float]:
    """As `figures_of_spans`, of spans as a forest."""
    return _joined(_sums(roots), roots)


def figures_of_each(roots: Sequence[Span]) -> dict[int, dict[str, float]]:
    """As `figures_of`, of each span of a forest and all inside it: by the span's `id`."""
    sums = _sums(roots)
    return {id(span): _joined(sums, [span]) for span in everything(roots)}


def _sums(roots: Sequence[Span]) -> dict[str, dict[int, float]]:
    """Name of a figure -> span's `id` -> the figure of the span and all inside it."""
    # From the inside out, so that a span finds the sums of those inside it.
    ordered = list(everything(roots))
    ordered.reverse()
    found: dict[str, dict[int, float]] = {}
    for name in names.FIGURES:
        sums: dict[int, float] = {}
        for span in ordered:
            value = _figure(span, name, sums)
            if value is not None:
                sums[id(span)] = value
        found[name] = sums
    return found


def _joined(found: Mapping[str, Mapping[int, float]], roots: Sequence[Span]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, sums in found.items():
        said = [sums[id(root)] for root in roots if id(root) in sums]
        if said:
            figures[name] = sum(said)
    # Conventions with a total leave it out where it is the sum; others have none.
    if "total_tokens" not in figures and {"input_tokens", "output_tokens"} <= figures.keys():
        figures["total_tokens"] = figures["input_tokens"] + figures["output_tokens"]
    return figures


def _figure(span: Span, name: str, sums: Mapping[int, float]) -> float | None:
    """The figure of the span and all inside it, None where none of them says it."""
    inside = [sums[id(child)] for child in span.children if id(child) in sums]
    own = None if span.kind == "EMBEDDING" else _own_figure(span, name)
    if not inside:
        return own
    return max(sum(inside), own or 0)


def _own_figure(span: Span, name: str) -> float | None:
    value = span.value(names.FIGURES[name])
    for attribute in names.MLFLOW_USAGE:
        usage = span.value((attribute,))
        if value is None and isinstance(usage, dict):
            named = {names.OF_MLFLOW.get(key, key): figure for key, figure in usage.items()}
            value = named.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and value >= 0 else None
