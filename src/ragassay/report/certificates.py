"""Certificates of judges, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from ragassay.core import DESIGNS, Certificate, Figure
from ragassay.report import wording as say
from ragassay.report.benchmark import figure_words
from ragassay.report.jsonable import SCHEMA, as_json
from ragassay.report.terminal_page import Page, page_on
from ragassay.report.text import one_line

SHOWN = ("kappa", "balanced_accuracy")
WIDE = 100  # columns from which both fit unbroken


def certificates_json(certificates: Sequence[Certificate]) -> dict[str, object]:
    """All certificates for `--json`, every figure and profile included."""
    return {"schema": SCHEMA, "kind": "certificates", "certificates": as_json(list(certificates))}


def render_certificates(
    certificates: Sequence[Certificate],
    console: Console | Page,
    caveats: Mapping[str, str] | None = None,
) -> None:
    """One line a certificate: what was measured, on which labels, bound to which rubrics.

    caveats: id -> what to beware of in that certificate.
    """
    caveats = caveats or {}
    page = page_on(console)
    if not certificates:
        page.line("The store holds no certificate yet.")
        page.line("Make one: ragassay benchmark LABELS --judge URI")
        return
    shown = SHOWN if page.width >= WIDE else SHOWN[:1]
    heads = [("metric", False), ("labels", False)]
    for name in shown:
        heads.append((f"{name.replace('_', ' ')} [95 %]", False))
    for judge in dict.fromkeys(certificate.judge for certificate in certificates):
        own = [certificate for certificate in certificates if certificate.judge == judge]
        own.sort(key=_by_metric)
        page.title(f"Judge: {judge}")
        page.table(heads, [_certificate_cells(c, shown, caveats.get(c.id, "")) for c in own])
        if any(certificate.kind != "human" for certificate in own):
            page.note("* labels that were constructed, wholly or in part")
        for caveat in dict.fromkeys(caveats[c.id] for c in own if c.id in caveats):
            page.note(f"! {caveat}")
    page.line(
        "A certificate holds for one rubric text, model and set of parameters, and for rows like"
        " those it was measured on. Every figure: --json.",
        "dim",
    )


def _by_metric(certificate: Certificate) -> tuple[str, str, str]:
    return certificate.metric, certificate.dataset, certificate.id


def render_certificate(certificate: Certificate, console: Console | Page, caveat: str = "") -> None:
    """One certificate in full: what it is bound to, the set-up, every figure. caveat: what to
    beware of in it.
    """
    page = page_on(console)
    page.line(f"Certificate {certificate.id}", "bold")
    if caveat:
        page.line(f"beware: {caveat}", "yellow")
    page.table([("", False), ("", False)], _facts(certificate))
    page.title("Figures")
    macro = {figure.name: figure for figure in certificate.macro}
    heads = [("figure", False), ("pooled [95 %]", False)]
    if macro:
        heads.append(("macro [95 %]", False))
    rows = []
    for figure in certificate.pooled:
        cells: list[str | tuple[str, str]] = [figure.name.replace("_", " "), _full(figure)]
        if macro:
            cells.append(_full(macro.get(figure.name)))
        rows.append(cells)
    page.table(heads, rows)
    for reason, n in sorted(certificate.missing.items(), key=_most_frequent_first):
        page.note(f"{say.count(n, 'row')} without a verdict: {reason}")


def _facts(c: Certificate) -> list[tuple[str, str]]:
    """(what, in words) of everything that the certificate depends on."""
    bound = []
    for rubric, fingerprint in sorted(c.fingerprints.items()):
        bound.append(f"{c.rubrics.get(rubric, rubric)} {fingerprint[:12]}")
    clusters = say.count(c.clusters, "cluster")
    draws = f"{c.set_up.draws:,} draws, seed {c.set_up.seed}"
    facts = [
        ("judge", c.judge),
        ("metric", c.metric),
        ("bound to", ", ".join(bound)),
        ("labels", f"{c.dataset} ({c.data_hash[:12]}), {c.kind}: {c.n:,} in {clusters}"),
        ("people pass", f"a label of at least {c.set_up.cut:g}"),
        ("intervals", f"95 %, cluster bootstrap, {draws}"),
        ("made", f"{c.created} with RagAssay {c.version}"),
    ]
    drawn = DESIGNS.get(c.design) or "not recorded, or a whole set"
    if c.worth is not None:
        drawn += f"; worth {c.worth:.0f} of equal chance"
    facts.append(("rows", drawn))
    if c.set_up.where:
        facts.append(("only rows", " and ".join(c.set_up.where)))
    if c.note:
        facts.append(("note", c.note))
    return facts


def _most_frequent_first(item: tuple[str, int]) -> int:
    return -item[1]


def _cell(certificate: Certificate, name: str) -> tuple[str, str]:
    """The pooled figure; below it the macro one, named, where there is one."""
    pooled = figure_words(certificate.figure(name))
    for figure in certificate.macro:
        if figure.name == name:
            return pooled, f"macro {figure_words(figure)}"
    return pooled, ""


def _full(figure: Figure | None) -> tuple[str, str]:
    """The figure, and below it why it or its interval is absent."""
    if figure is None:
        return figure_words(None), ""
    return figure_words(figure), figure.reason


def _mark(certificate: Certificate) -> str:
    return "" if certificate.kind == "human" else " *"


def _certificate_cells(
    certificate: Certificate, figures: Sequence[str], caveat: str
) -> list[str | tuple[str, str]]:
    """A row of the table of certificates."""
    clusters = say.count(certificate.clusters, "cluster")
    labels = f"{certificate.n:,} in {clusters}{_mark(certificate)}{' !' if caveat else ''}"
    if certificate.weighted_words:
        labels += f" ({certificate.weighted_words})"
    return [
        (certificate.metric, certificate.id[:8]),
        (one_line(certificate.dataset, 60), labels),
        *(_cell(certificate, name) for name in figures),
    ]
