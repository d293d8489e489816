"""Certificates of judges, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ragassay.core import Certificate, Figure
from ragassay.report import wording as say
from ragassay.report.benchmark import figure_words
from ragassay.report.jsonable import SCHEMA, as_json
from ragassay.report.terminal import Page
from ragassay.report.text import one_line

SHOWN = ("kappa", "balanced_accuracy")
WIDE = 100  # columns from which both fit unbroken


def certificates_json(certificates: Sequence[Certificate]) -> dict[str, object]:
    """All certificates for `--json`, every figure and profile included."""
    return {"schema": SCHEMA, "kind": "certificates", "certificates": as_json(list(certificates))}


def render_certificates(certificates: Sequence[Certificate], console: Console) -> None:
    """One line a certificate: what was measured, on which labels, bound to which rubrics."""
    page = Page(console)
    if not certificates:
        page.line("No certificate here. Make one: ragassay benchmark LABELS --judge URI")
        return
    shown = SHOWN if console.width >= WIDE else SHOWN[:1]
    for judge in dict.fromkeys(c.judge for c in certificates):
        own = sorted(
            (c for c in certificates if c.judge == judge), key=lambda c: (c.metric, c.dataset, c.id)
        )
        page.title(f"Judge: {judge}")
        page.table(
            [
                ("metric", False),
                ("labels", False),
                *((f"{name.replace('_', ' ')} [95 %]", False) for name in shown),
            ],
            [_certificate_cells(c, shown) for c in own],
        )
        if any(c.kind != "human" for c in own):
            page.line("* labels that were constructed, wholly or in part", "dim", indent=2)
    page.line(
        "A certificate holds for one rubric text, model and set of parameters, and for rows like"
        " those it was measured on. Every figure: --json.",
        "dim",
    )


def render_certificate(certificate: Certificate, console: Console) -> None:
    """One certificate in full: what it is bound to, the set-up, every figure."""
    page, c = Page(console), certificate
    page.line(f"Certificate {c.id}", "bold")
    bound = [
        f"{c.rubrics.get(rubric, rubric)} {print_[:12]}"
        for rubric, print_ in sorted(c.fingerprints.items())
    ]
    facts = [
        ("judge", c.judge),
        ("metric", c.metric),
        ("bound to", ", ".join(bound)),
        (
            "labels",
            (
                f"{c.dataset} ({c.data_hash[:12]}), {c.kind}: {c.n:,} in"
                f" {say.count(c.clusters, 'cluster')}"
            ),
        ),
        ("people pass", f"a label of at least {c.set_up.cut:g}"),
        ("intervals", f"95 %, cluster bootstrap, {c.set_up.draws:,} draws, seed {c.set_up.seed}"),
        ("made", f"{c.created} with RagAssay {c.version}"),
    ]
    facts += [("only rows", " and ".join(c.set_up.where))] if c.set_up.where else []
    facts += [("note", c.note)] if c.note else []
    page.table([("", False), ("", False)], [[what, words] for what, words in facts])
    page.title("Figures")
    macro = {figure.name: figure for figure in c.macro}
    heads = [
        ("figure", False),
        ("pooled [95 %]", False),
        *([("macro [95 %]", False)] if macro else []),
    ]
    page.table(
        heads,
        [
            [f.name.replace("_", " "), _full(f), *([_full(macro.get(f.name))] if macro else [])]
            for f in c.pooled
        ],
    )
    for reason, n in sorted(c.missing.items(), key=lambda item: -item[1]):
        page.line(f"{say.count(n, 'row')} without a verdict: {reason}", "dim", indent=2)


def _cell(certificate: Certificate, name: str) -> tuple[str, str]:
    """The pooled figure; below it the macro one, named, where there is one."""
    macro = next((figure for figure in certificate.macro if figure.name == name), None)
    words = figure_words(certificate.figure(name))
    return words, f"macro {figure_words(macro)}" if macro is not None else ""


def _full(figure: Figure | None) -> tuple[str, str]:
    return figure_words(figure), figure.reason if figure is not None else ""


def _mark(certificate: Certificate) -> str:
    return "" if certificate.kind == "human" else " *"


def _certificate_cells(
    certificate: Certificate, figures: Sequence[str]
) -> list[str | tuple[str, str]]:
    """A row of the table of certificates."""
    clusters = say.count(certificate.clusters, "cluster")
    labels = f"{certificate.n:,} in {clusters}{_mark(certificate)}"
    return [
        (certificate.metric, certificate.id[:8]),
        (one_line(certificate.dataset, 60), labels),
        *(_cell(certificate, name) for name in figures),
    ]
