"""Reports that commands left in the store: optimisations, test sets, probings of a judge."""

from __future__ import annotations

from ragassay.report.blocks_html import sections_of
from ragassay.report.text_diff import text_diff
from ragassay.runs.kept_reports import KINDS, KeptReport, kept_report, kept_reports
from ragassay.web.messages import Answer, Ask, NotThere, Page, refused

TITLES = {
    "optimisation": "Optimisations",
    "test set": "Test sets",
    "probing": "Probings",
}
COMMANDS = {
    "optimisation": "ragassay optimise METRIC --labels FILE --judge URI --reflector URI",
    "test set": "ragassay testset make DOCS --out set.jsonl",
    "probing": "ragassay probe --judge URI",
}


def show(ask: Ask) -> Answer:
    """All reports by kind, newest first."""
    kind = ask.query.get("kind", "")
    if kind and kind not in KINDS:
        raise refused("kind", kind, f"one of {', '.join(KINDS)}")
    found = kept_reports(ask.site.store, kind)
    by_kind = {name: _of_kind(found, name) for name in ([kind] if kind else KINDS)}
    values = {"by_kind": by_kind, "titles": TITLES, "commands": COMMANDS, "total": len(found)}
    return Page("reports.html.j2", values)


def _of_kind(reports: list[KeptReport], kind: str) -> list[KeptReport]:
    return [report for report in reports if report.kind == kind]


def report(ask: Ask) -> Answer:
    """One report as it was printed; of an optimisation both texts of the rubric side by side."""
    found = kept_report(ask.site.store, ask.path["report"])
    if found is None:
        raise NotThere("There is no report of this id. It may have been deleted with its store.")
    changed = text_diff(found.before, found.after) if found.after else None
    # The first line is the page's heading.
    blocks = list(found.blocks)
    if found.headline in blocks:
        blocks.remove(found.headline)
    values = {"report": found, "sections": sections_of(blocks), "changed": changed}
    return Page("report_page.html.j2", values)
