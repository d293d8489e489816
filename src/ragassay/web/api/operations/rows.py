"""The rows of a run, what was judged of them, and their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.api import Run
from ragassay.core import RowResult, SetupError
from ragassay.report.jsonable import as_json, row_json
from ragassay.report.records import records
from ragassay.store.row_index import RowEntry, RowQuery, entry_of, verdict_of
from ragassay.web.api.cursors import cursor, foreign_cursor, place_of
from ragassay.web.api.messages import Call, Json, Problem, Refused, Reply
from ragassay.web.api.requests import RowsQuery

if TYPE_CHECKING:
    from ragassay.store import StoredRun

PATIENCE_S = 20.0
_FAR = 1e15
_LARGEST = 2**53
"""No run has as many rows."""


def listed(call: Call) -> Reply:
    """A page of a run's rows, each in one line."""
    stored = call.run()
    asked: RowsQuery = call.query
    if asked.id:
        return _by_id(call, stored, asked)
    query = _query(asked, stored)
    of = ["rows", stored.run_id, asked.model_dump(exclude={"cursor", "limit"})]
    after = place_of(asked.cursor, of)
    index = call.site.figures.index(stored, PATIENCE_S)
    if index is None:
        return _unindexed(call, stored, query, of, after)
    entries = index.page(query, asked.limit + 1, _place(after, query))
    following = None
    if len(entries) > asked.limit:
        last = entries[asked.limit - 1]
        following = cursor(of, [last.key, last.index])
    items = [_line(entry) for entry in entries[: asked.limit]]
    return Json({"items": items, "total": index.count(query), "next": following})


def _by_id(call: Call, stored: StoredRun, asked: RowsQuery) -> Reply:
    if asked.model_dump(exclude={"limit"}) != RowsQuery(id=asked.id).model_dump(exclude={"limit"}):
        what = "id names one row, and goes with no other parameter."
        raise Refused("E1409", what, where="id", problems=(Problem("id", what),))
    row = call.site.store.row(stored.run_id, asked.id)
    items = [] if row is None else [_line(entry_of(row))]
    return Json({"items": items, "total": len(items), "next": None})


def _query(asked: RowsQuery, stored: StoredRun) -> RowQuery:
    """The query of the index. Raises Refused E1409 for what the run does not have."""
    metric, sort = asked.metric, asked.sort
    problem = None
    if metric and metric not in stored.manifest.metrics:
        problem = Problem("metric", f"is none of {', '.join(stored.manifest.metrics)}")
    elif asked.outcome and not metric:
        problem = Problem("outcome", "is the verdict of a metric: name it as well")
    elif sort == "value" and not metric:
        problem = Problem("sort", "by the value of a metric: name it as well")
    name, separator, value = asked.slice.partition("=")
    if asked.slice and not separator:
        problem = Problem("slice", "is written NAME=VALUE")
    if problem is not None:
        raise Refused(
            "E1409",
            f"The parameter {problem.where} {problem.what}.",
            where=problem.where,
            problems=(problem,),
        )
    return RowQuery(
        verdict=asked.verdict,
        cause=asked.cause,
        slice=(name, value) if separator else None,
        text=asked.q,
        metric=metric,
        outcome=asked.outcome,
        sort=sort,
        descending=asked.descending == "true",
    )


def _place(after: object, query: RowQuery) -> tuple[float | str | None, int] | None:
    """The key and index of a row, as `listed` wrote them."""
    if after is None:
        return None
    if isinstance(after, list) and len(after) == 2 and type(after[1]) is int:
        key, index = after
        number = isinstance(key, int | float) and not isinstance(key, bool)
        if 0 <= index < _FAR and (key is None or isinstance(key, str) or number):
            # None of ours is beyond what a float holds exactly, nor does the index take more.
            if number and not abs(key) <= _LARGEST:
                raise foreign_cursor()
            # An order by words with a place by numbers, or the reverse, is of another list.
            if key is None or isinstance(key, str) == (query.sort == "id"):
                return key, index
    if type(after) is int:
        raise Refused(
            "E1409",
            "The cursor is of the list as it was before the run had ended.",
            where="cursor",
            why="its rows can be searched and sorted now, and are in another order",
            fix="begin with the first page, without a cursor",
            problems=(Problem("cursor", "is of the list before the run had ended"),),
        )
    raise foreign_cursor()


def _unindexed(call: Call, stored: StoredRun, query: RowQuery, of: object, after: object) -> Reply:
    """The rows in the store's own order, while the run goes on or its index is being made."""
    only = RowQuery(
        verdict=query.verdict if verdict_of(query.verdict) else "",
        cause=query.cause,
        sort="index" if query.sort == "index" else "worst",
    )
    if query != only:
        ready = not call.site.figures.goes_on(stored)
        raise Refused(
            "E1412",
            "These rows can be searched and sorted when the run has ended.",
            where=f"run {stored.run_id}",
            why="their index is being made" if ready else "the run goes on",
            fix="ask by verdict or cause, in the order worst or index; or wait for its end",
        )
    start = 0 if after is None else after
    if type(start) is not int or not 0 <= start < _FAR:
        raise foreign_cursor()
    limit = call.query.limit
    rows = call.site.store.rows(
        stored.run_id,
        order="index" if only.sort == "index" else "worst",
        limit=limit + 1,
        offset=start,
        verdict=verdict_of(only.verdict),
        cause=only.cause or None,
    )
    entries = [entry_of(row) for row in rows]
    following = cursor(of, start + limit) if len(entries) > limit else None
    total = stored.rows if not only.narrows else None
    return Json({"items": [_line(e) for e in entries[:limit]], "total": total, "next": following})


def _line(entry: RowEntry) -> dict[str, object]:
    """One row of a list. value: of the metric that was asked for, else null."""
    values = {
        "index": entry.index,
        "id": entry.id,
        "verdict": entry.verdict,
        "cause": entry.cause,
        "done": entry.done,
        "question": entry.question,
        "value": entry.value,
    }
    texts = as_json(values)
    assert isinstance(texts, dict)
    return texts


def one(call: Call) -> Reply:
    """A row with its scores, their parts and evidence, and its diagnosis."""
    return Json(row_json(_row(call)))


def judgments(call: Call) -> Reply:
    """What a judge was asked about a row, the replies, and the judgments made of them."""
    row = _row(call)
    run = Run(call.site.store, call.run().run_id)
    keys = []
    for score in row.scores:
        keys += [part.key for part in score.parts if part.key]
    asked = run.asked(row)
    found = run.judgments(dict.fromkeys(keys))
    return Json({"asked": as_json(asked), "judgments": as_json(list(found.values()))})


def _row(call: Call) -> RowResult:
    """The row that the path names by its index. Raises SetupError E0108."""
    stored = call.run()
    text = call.path["index"]
    row = None
    if text.isascii() and text.isdigit() and len(text) < 16:
        row = call.site.store.row_at(stored.run_id, int(text))
    if row is None:
        raise SetupError(
            "E0108",
            "The run has no row of this index.",
            where=f"run {stored.run_id}",
            why=text[:40],
            fix="rows are counted from 0; a row's id is asked for with rows?id=",
        )
    return row


def scores(call: Call) -> Reply:
    """A page of the records that an export writes: one a row and metric."""
    stored = call.run()
    metric, limit = call.query.metric, call.query.limit
    if metric and metric not in stored.manifest.metrics:
        problem = Problem("metric", f"is none of {', '.join(stored.manifest.metrics)}")
        what = "The run has no such metric."
        raise Refused("E1409", what, where="metric", why=metric[:80], problems=(problem,))
    of = ["scores", stored.run_id, metric]
    after = place_of(call.query.cursor, of)
    start = 0 if after is None else after
    if type(start) is not int or not 0 <= start < _FAR:
        raise foreign_cursor()
    items = []
    for record in records(call.site.store, stored.run_id, start=start, rows=limit):
        if not metric or record["metric"] == metric:
            items.append(as_json(record))
    following = cursor(of, start + limit) if start + limit < stored.rows else None
    return Json({"items": items, "next": following})
