"""Reports that commands left in the store: optimisations, test sets, probings of a judge."""

from __future__ import annotations

from ragassay.report.blocks_html import sections_of
from ragassay.report.text_diff import text_diff
from ragassay.runs.kept_reports import KINDS, KeptReport, kept_report, kept_reports
from ragassay.runs.report_items import item_at, items_of
from ragassay.web.messages import Answer, Ask, NotThere, Page, number, refused
from ragassay.web.site import url

TITLES = {
    "optimisation": "Optimisations",
    "test set": "Test sets",
    "probing": "Probings",
}
ITEMS_SHOWN = 10
RUNS_SHOWN = 50
A_PAGE = 100
PAIRS = {
    "optimisation": ("Before", "After"),
    "test set": ("Before", "After"),
    "probing": ("The row", "The changed row"),
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
    """One report as it was printed, with its items by group; of an optimisation both texts of the
    rubric side by side.
    """
    found = _found(ask)
    changed = text_diff(found.before, found.after) if found.after else None
    # The first line is the page's heading.
    blocks = list(found.blocks)
    if found.headline in blocks:
        blocks.remove(found.headline)
    store = ask.site.store
    lists = [
        (group, list(items_of(store, found.id, group.start, min(group.kept, ITEMS_SHOWN))))
        for group in found.groups
    ]
    values = {
        "report": found,
        "sections": sections_of(blocks),
        "changed": changed,
        "lists": lists,
        "runs": [store.run(run) for run in found.runs[:RUNS_SHOWN] if store.has_run(run)],
    }
    return Page("report_page.html.j2", values)


def items(ask: Ask) -> Answer:
    """The items of one group of a report, a page at a time."""
    found = _found(ask)
    name = ask.query.get("group", "")
    group = next((group for group in found.groups if group.name == name), None)
    if group is None:
        raise NotThere("This report has no such group of items.")
    start = number(ask, "from", 0, 0, group.kept)
    shown = min(A_PAGE, group.kept - start)
    lines = list(items_of(ask.site.store, found.id, group.start + start, shown)) if shown else []
    further = start + shown < group.kept
    place = {"group": name, "from_": start + shown}
    values = {
        "report": found,
        "group": group,
        "items": lines,
        "start": start,
        "next": url("/reports/{}/items", found.id, **place) if further else "",
    }
    return Page("report_items.html.j2", values)


def item(ask: Ask) -> Answer:
    """One item of a report: its texts, and what is set side by side."""
    found = _found(ask)
    place = _number(ask.path["item"])
    one = item_at(ask.site.store, found.id, place)
    if one is None:
        raise NotThere("This report has no item of this number.")
    group = next(group for group in found.groups if group.name == one.group)
    judged = one.run and ask.site.store.has_run(one.run)
    values = {
        "report": found,
        "group": group,
        "item": one,
        "place": place - group.start + 1,
        "before": _address(found, place - 1),
        "after": _address(found, place + 1),
        "changed": text_diff(one.before, one.after) if one.before or one.after else None,
        "names": PAIRS[found.kind],
        "row": url("/runs/{}/rows/{}", one.run, one.index) if judged else "",
    }
    return Page("report_item.html.j2", values)


def _found(ask: Ask) -> KeptReport:
    found = kept_report(ask.site.store, ask.path["report"])
    if found is None:
        raise NotThere("There is no report of this id. It may have been deleted with its store.")
    return found


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1


def _address(found: KeptReport, place: int) -> str:
    """The address of an item, "" where there is none of this number."""
    kept = sum(group.kept for group in found.groups)
    return url("/reports/{}/items/{}", found.id, place) if 0 <= place < kept else ""
