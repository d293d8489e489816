"""What the pages of a run have in common: the run itself, its name, its place in the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragassay.report.text import file_name
from ragassay.web.messages import Ask, Page

if TYPE_CHECKING:
    from ragassay.store import StoredRun
    from ragassay.web.figures import RunFigures


def stored_run(ask: Ask, name: str | None = None) -> StoredRun:
    """The run that the URL names. Raises SetupError E0103."""
    store = ask.site.store
    run_id = store.resolve(ask.path["run"] if name is None else name)
    return ask.site.figures.stored(run_id)


def run_title(stored: StoredRun) -> str:
    """A run's name, else the file's it read."""
    manifest = stored.manifest
    return manifest.name or file_name(manifest.source)


def run_page(
    template: str, ask: Ask, stored: StoredRun, here: str, /, status: int = 200, **values: Any
) -> Page:
    """A page of a run. here: its entry of the menu."""
    shell = {
        "stored": stored,
        "m": stored.manifest,
        "title": run_title(stored),
        "tab": here,
        "live": ask.site.figures.goes_on(stored),
    }
    return Page(template, {**shell, **values}, status)


def counting_page(ask: Ask, stored: StoredRun, here: str) -> Page:
    """What stands in for figures that are being counted; it asks again by itself."""
    return run_page("counting.html.j2", ask, stored, here)


def figures_of(ask: Ask, stored: StoredRun) -> RunFigures | None:
    """The run's figures, None while they are being counted."""
    return ask.site.figures.of_run(stored)
