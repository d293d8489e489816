"""Going somewhere by name: a page, a run, or a row of the run that is looked at."""

from __future__ import annotations

from typing import NamedTuple

from ragassay.store import StoredRun
from ragassay.store.row_index import RowQuery
from ragassay.web.messages import Answer, Ask, Data, Page
from ragassay.web.site import url
from ragassay.web.views.shell import run_title, stored_run

RUNS_LOOKED_AT = 500
MOST = 12
_PAGES = (
    ("Runs", "/"),
    ("Compare two runs", "/compare"),
    ("Costs over runs", "/costs"),
    ("Traces", "/traces"),
    ("Traffic: what is judged of it, marks, alerts", "/traffic"),
    ("Judges and their certificates", "/judges"),
    ("Reports: optimisations, test sets, probings", "/reports"),
)
_OF_A_RUN = (
    ("Overview", ""),
    ("Causes", "/causes"),
    ("Rows", "/rows"),
    ("Labels", "/labels"),
    ("Trust", "/trust"),
    ("Cost", "/cost"),
)


class Place(NamedTuple):
    """Where one can go. kind: "page", "run" or "row"."""

    kind: str
    title: str
    address: str


def show(ask: Ask) -> Answer:
    """Places that the words name; as JSON for the script."""
    text = " ".join(ask.query.get("q", "").split())[:200]
    run = _run(ask)
    of_id, of_words = _rows(ask, run, text)
    places = [*of_id, *_pages(run, text), *_runs(ask, text), *of_words][:MOST]
    if ask.query.get("format") == "json":
        return Data([place._asdict() for place in places])
    return Page("find.html.j2", {"text": text, "places": places, "run": run})


def _run(ask: Ask) -> StoredRun | None:
    """The run that is looked at, None where there is none (any more)."""
    name = ask.query.get("run", "")
    store = ask.site.store
    return stored_run(ask, name) if name and store.has_run(name) else None


def _pages(run: StoredRun | None, text: str) -> list[Place]:
    pages = [Place("page", title, address) for title, address in _PAGES]
    if run is not None:
        title = run_title(run)
        own = [
            Place("page", f"{word} of {title}", url("/runs/{}", run.run_id) + path)
            for word, path in _OF_A_RUN
        ]
        pages = [*own, *pages]
    return [page for page in pages if _named(text, page.title)]


def _runs(ask: Ask, text: str) -> list[Place]:
    found = []
    for run in ask.site.store.runs(RUNS_LOOKED_AT, names="used"):
        title = f"{run_title(run)} {run.run_id}"
        if _named(text, title):
            found.append(Place("run", title, url("/runs/{}", run.run_id)))
        if len(found) == MOST:
            break
    return found


def _rows(ask: Ask, run: StoredRun | None, text: str) -> tuple[list[Place], list[Place]]:
    """(the row of this id, rows whose words begin so)."""
    of_id: list[Place] = []
    of_words: list[Place] = []
    if run is None or not text:
        return of_id, of_words
    row = ask.site.store.row(run.run_id, text)
    if row is not None:
        of_id.append(Place("row", row.id, url("/runs/{}/rows/{}", run.run_id, row.index)))
    index = ask.site.figures.index(run)
    entries = index.page(RowQuery(text=f"{text}*"), MOST // 2) if index is not None else []
    for entry in entries:
        title = f"{entry.id} {entry.question[:100]}"
        if row is None or entry.index != row.index:
            of_words.append(Place("row", title, url("/runs/{}/rows/{}", run.run_id, entry.index)))
    return of_id, of_words


def _named(text: str, title: str) -> bool:
    """Whether each word stands in the title, in any order."""
    title = title.casefold()
    return all(word in title for word in text.casefold().split())
