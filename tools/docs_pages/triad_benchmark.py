"""The page of the published RAG-triad benchmark: its figures from the data files, its tables from
the auditor."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs_pages.markdown import cell, fragment
from ragassay.trust.audit import audit_row, audit_table, describe
from ragassay.trust.gain_audit import GainAudit, audit_gain

_DATA = Path(__file__).parents[2] / "docs" / "data"
_FIGURES = ("precision", "recall", "f1", "kappa")
_SHOWN = "^[^ ]|prevalence|sample"


def triad_benchmark_page() -> str:
    """The page as Markdown."""
    rows = printed_rows()
    tables = {one["metric"]: one for one in published_tables()}
    text = fragment("triad_benchmark.md")
    written = {
        "audit": _audit_table(rows),
        "printed": _printed(),
        "groundedness": _prevalences(rows, "groundedness", tables),
        "relevance": _prevalences(rows, "context relevance", tables),
        "gains": _gains(tables.values()),
    }
    for name, part in written.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def printed_rows() -> list[dict[str, str]]:
    """The rows with the decimals that were printed."""
    with open(_DATA / "triad-benchmark.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published_tables() -> list[dict[str, Any]]:
    """The tables with their counts of errors."""
    found = json.loads((_DATA / "rag-triad-tables.json").read_text(encoding="utf-8"))
    tables: list[dict[str, Any]] = found["tables"]
    return tables


def _audit_table(rows: Sequence[Mapping[str, str]]) -> str:
    lines = []
    for row in rows:
        audit = audit_row(row["name"], row)
        implied = []
        for figure in ("f1", "kappa", "prevalence"):
            if figure in audit.implied:
                implied.append(f"{figure} {_span(audit.implied[figure])}")
        printed = [row[figure] for figure in _FIGURES]
        # Each of the two would explain a row that contradicts itself.
        between = " or " if audit.nature == "inconsistent" else ", "
        lines.append((row["name"], *printed, audit.nature, between.join(implied)))
    return _table(("row", *_FIGURES, "by itself", "the rest implies"), lines)


def _printed() -> str:
    """What the command prints of the rows, without the arithmetic of each."""
    lines = describe(audit_table(str(_DATA / "triad-benchmark.csv")))
    shown = [line for line in lines if re.search(_SHOWN, line)]
    command = f"$ ragassay audit-table docs/data/triad-benchmark.csv | grep -E '{_SHOWN}'"
    return "\n".join(["```bash", command, *shown, "```"])


def _prevalences(
    rows: Sequence[Mapping[str, str]], metric: str, tables: Mapping[str, Mapping[str, Any]]
) -> str:
    lines = []
    for row in rows:
        share = audit_row(row["name"], row).implied.get("prevalence")
        if row["metric"] == metric and share is not None:
            lines.append((row["name"], "precision, recall, kappa", _span(share)))
    published = tables[metric]
    if "rows" in published:
        audit = audit_gain(published)
        for when, pair in zip(("before", "after"), audit.positives, strict=True):
            for figure, positives in zip(("precision", "recall"), pair, strict=True):
                share_of_rows = f"{positives / published['rows']:.3f}"
                source = f"counts of errors and {figure}, {positives:,.0f} rows"
                lines.append((f"{metric}, TruLens {when}", source, share_of_rows))
    return _table(("row", "from", "prevalence"), lines)


def _gains(tables: Iterable[Mapping[str, Any]]) -> str:
    lines = []
    for published in tables:
        audit = audit_gain(published)
        metric = str(published["metric"])
        lines += _gain_lines(metric, audit)
    return _table(
        ("table", "prevalence", "d' before", "d' after", "gain in F1", "by a threshold alone"),
        lines,
    )


def _gain_lines(metric: str, audit: GainAudit) -> list[tuple[str, ...]]:
    if not audit.gains:
        return [(metric, "", "not known", "not known", "", "")]
    lines: list[tuple[str, ...]] = []
    for gain in audit.gains:
        parts = (f"{gain.parts.gain:+.3f}", f"{gain.parts.by_threshold:+.3f}")
        primes = (f"{gain.before:.2f}", f"{gain.after:.2f}")
        lines.append((metric, f"{gain.prevalence:.2f}", *primes, *parts))
    return lines


def _table(titles: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(cell(text) for text in row) + " |" for row in rows)


def _span(span: Sequence[float]) -> str:
    low, high = span
    if round(low, 3) == round(high, 3):
        return f"{low:.3f}"
    return f"{low:.3f} to {high:.3f}"
