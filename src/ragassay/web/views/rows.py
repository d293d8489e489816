"""The list of a run's rows: filtered, sorted, searched, a page at a time; every state is a URL.

Where the run's index is not there yet (it is being made, or the run goes on), the rows are listed
by the store's own order, and what takes the index waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragassay.core import Verdict
from ragassay.diagnosis import cause_named
from ragassay.report import wording as say
from ragassay.report.text import one_line
from ragassay.store.row_index import (
    NO_VERDICT,
    UNREADABLE,
    RowEntry,
    RowIndex,
    RowQuery,
    entry_of,
    verdict_of,
)
from ragassay.web.messages import Answer, Ask, refused
from ragassay.web.site import url
from ragassay.web.views.shell import figures_of, run_page, stored_run
from ragassay.web.views.told import TOO_LONG, Told, told_at, told_of

if TYPE_CHECKING:
    from ragassay.core import RowResult
    from ragassay.store import ScoreLine, StoredRun

A_PAGE = 100
VERDICTS = ("fail", "undecided", "pass", NO_VERDICT, UNREADABLE)
SORTS = ("worst", "index", "id", "value")
_FILTERS = ("verdict", "cause", "slice", "metric", "outcome", "q", "sort", "down")
_SEPARATOR = "="


class Line(NamedTuple):
    """One row of the list as it is shown. told: what was answered, and why it does not pass. score:
    the metric that speaks, with its value.
    """

    entry: RowEntry
    word: str
    told: Told
    score: str
    value: str
    address: str


def show(ask: Ask) -> Answer:
    """One page of rows."""
    stored = stored_run(ask)
    query = query_of(ask, stored)
    index = ask.site.figures.index(stored)
    if index is not None:
        entries = index.page(query, A_PAGE + 1, _cursor(ask))
        total: int | None = index.count(query)
    else:
        rows = _stored_rows(ask, stored, query)
        entries = [entry_of(row) for row in rows]
        told = told_of(rows, stored.manifest)
        total = None if query.narrows else stored.rows
    shown = entries[:A_PAGE]
    if index is not None:
        places = [entry.index for entry in shown]
        told = told_at(ask.site.store, stored.run_id, places, stored.manifest)
    more = ""
    if len(entries) > A_PAGE:
        more = _after(shown[-1]) if index is not None else str(_offset(ask) + A_PAGE)
    figures = figures_of(ask, stored)
    return run_page(
        "rows.html.j2",
        ask,
        stored,
        "rows",
        query=query,
        lines=_lines(ask, stored, shown, query, told),
        total=total,
        all_rows=stored.rows,
        first=not ask.query.get("after"),
        more=address(ask, stored.run_id, after=more) if more else "",
        start=address(ask, stored.run_id),
        indexed=index is not None,
        building=index is None and not ask.site.figures.goes_on(stored),
        built=ask.site.figures.indexed_rows(stored.run_id),
        slices=index.slices if index is not None else {},
        causes=figures.summary.causes if figures is not None else (),
        cause_titles={name: cause_named(name).title for name in [query.cause] if name},
        slice_text=_SEPARATOR.join(query.slice) if query.slice else "",
        separator=_SEPARATOR,
    )


def query_of(ask: Ask, stored: StoredRun) -> RowQuery:
    """The query that a URL states. Raises SetupError E0101 for values that cannot be."""
    given = ask.query
    verdict, outcome = given.get("verdict", ""), given.get("outcome", "")
    for name, value in (("verdict", verdict), ("outcome", outcome)):
        if value and value not in VERDICTS:
            raise refused(name, value, f"one of {', '.join(VERDICTS)}")
    metric = given.get("metric", "")
    if metric and metric not in stored.manifest.metrics:
        raise refused("metric", metric, "a metric of this run")
    sort = given.get("sort", "worst") or "worst"
    if sort not in SORTS:
        raise refused("sort", sort, f"one of {', '.join(SORTS)}")
    if sort == "value" and not metric:
        sort = "worst"
    name, separator, value = given.get("slice", "").partition(_SEPARATOR)
    return RowQuery(
        verdict=verdict,
        cause=given.get("cause", ""),
        slice=(name, value) if separator else None,
        text=given.get("q", "").strip()[:500],
        metric=metric,
        outcome=outcome if metric else "",
        sort=sort,
        descending=given.get("down") == "1",
    )


def filters(ask: Ask) -> dict[str, str]:
    """What the URL says of filter and order, to be carried from page to page."""
    return {name: ask.query[name] for name in _FILTERS if ask.query.get(name)}


def address(ask: Ask, run_id: str, **more: str) -> str:
    """The address of this list, with `more` in its query."""
    return url("/runs/{}/rows", run_id, **{**filters(ask), **more})


def _cursor(ask: Ask) -> tuple[float | str | None, int] | None:
    """The row behind which the page begins: KIND KEY INDEX, as `_after` wrote it."""
    text = ask.query.get("after", "")
    if not text:
        return None
    if text.isascii() and text.isdigit():
        # A place in the list as it was while the run went on: its rows have another order now.
        return None
    kind, _, rest = text.partition(":")
    key, _, index = rest.rpartition(":")
    if index.isascii() and index.isdigit() and len(index) < 16:
        if kind == "s":
            return key, int(index)
        if kind == "n":
            return None, int(index)
        if kind == "f":
            try:
                number = float(key)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number, int(index)
    raise refused("after", text, "a place in this list")


def _after(entry: RowEntry) -> str:
    if entry.key is None:
        return f"n::{entry.index}"
    if isinstance(entry.key, str):
        return f"s:{entry.key}:{entry.index}"
    return f"f:{entry.key!r}:{entry.index}"


def _offset(ask: Ask) -> int:
    text = ask.query.get("after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _stored_rows(ask: Ask, stored: StoredRun, query: RowQuery) -> list[RowResult]:
    """The rows in the store's own order, as far as it can filter."""
    rows = ask.site.store.rows(
        stored.run_id,
        order="index" if query.sort == "index" else "worst",
        limit=A_PAGE + 1,
        offset=_offset(ask),
        verdict=verdict_of(query.verdict),
        cause=query.cause or None,
    )
    return list(rows)


def _lines(
    ask: Ask,
    stored: StoredRun,
    entries: Sequence[RowEntry],
    query: RowQuery,
    told: Mapping[int, Told],
) -> list[Line]:
    lines = ask.site.store.lines_at(stored.run_id, [entry.index for entry in entries])
    shown = []
    for entry in entries:
        why = told.get(entry.index, TOO_LONG)
        score = None
        if entry.index in lines:
            scores = lines[entry.index][1]
            # The score that "why" tells of stands beside it.
            score = _score_of(scores, query.metric or why.metric)
            if score is None and not query.metric:
                score = _fails_worst(scores, stored)
        name, value = "", ""
        if score is not None:
            unit = say.unit_of(score.metric, stored.manifest)
            name, value = score.metric, say.figure(score.value, unit)
        # Of a row that is too long to be read here, what its line says.
        cause = cause_named(entry.cause).title if entry.cause else ""
        word = {NO_VERDICT: "no verdict"}.get(entry.verdict, entry.verdict)
        place: Any = {**filters(ask)}
        link = url("/runs/{}/rows/{}", stored.run_id, entry.index, **place)
        shown.append(
            Line(
                entry._replace(question=one_line(entry.question, 160)),
                word,
                why if why.cause or not cause else why._replace(cause=cause),
                name,
                value,
                link,
            )
        )
    return shown


def _score_of(scores: Sequence[ScoreLine], metric: str) -> ScoreLine | None:
    return next((score for score in scores if score.metric == metric), None)


def _fails_worst(scores: Sequence[ScoreLine], stored: StoredRun) -> ScoreLine | None:
    """The failing score with the worst value; None where none fails."""
    failing = [score for score in scores if score.verdict is Verdict.FAIL]

    def badness(score: ScoreLine) -> float:
        value = score.value or 0.0
        low = say.lower_is_better(score.metric, stored.manifest)
        return value if low else 1 - value

    return max(failing, key=badness, default=None)


def neighbours(ask: Ask, stored: StoredRun, index: RowIndex | None, place: int) -> tuple[str, str]:
    """The addresses of the rows before and after a row in the list that the URL states, "" where
    there is none.
    """
    if index is None:
        return "", ""
    query = query_of(ask, stored)
    here = index.at(query, place)
    if here is None:
        return "", ""
    cursor = (here.key, here.index)
    after = index.page(query, 1, cursor)
    before = index.page(query, 1, cursor, backwards=True)
    links = []
    for found in (before, after):
        more: Any = filters(ask)
        links.append(
            url("/runs/{}/rows/{}", stored.run_id, found[0].index, **more) if found else ""
        )
    return links[0], links[1]
