"""Two runs side by side: paired differences, the rows that turned, and the texts of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragassay.core import RowResult, Sample, Verdict
from ragassay.diagnosis import cause_named
from ragassay.report import wording as say
from ragassay.report.comparison import (
    Comparison,
    MetricComparison,
    PairedRow,
    compare,
    paired_rows,
)
from ragassay.report.text_diff import Piece, text_diff
from ragassay.runs.corrected import corrected_in_both
from ragassay.web.messages import Answer, Ask, NotThere, Page, number, refused
from ragassay.web.site import url
from ragassay.web.views.run_table import run_table
from ragassay.web.views.shell import run_title, stored_run
from ragassay.web.views.told import LARGEST, RESPONSE, TOO_LONG, response_of

if TYPE_CHECKING:
    from ragassay.store import StoredRun

A_PAGE = 100
CONTEXTS_SHOWN = 200
RUNS_OFFERED = 100
PATIENCE_S = 2.0
"""How long the page of a row waits for the rows to be paired."""


class Pairs(NamedTuple):
    """The rows that both runs have. passes: how many of them pass, in A and in B."""

    rows: list[PairedRow]
    passes: tuple[int, int]


class Side(NamedTuple):
    """A row in one of the two runs, as the list shows it."""

    verdict: Verdict | None
    cause: str
    response: str
    lacking: str


class Line(NamedTuple):
    """A row in both runs. same: the response is the same, letter by letter."""

    pair: PairedRow
    sides: tuple[Side, Side]
    same: bool


def show(ask: Ask) -> Answer:
    """The comparison of two runs; without both, the last ones beside each other."""
    store = ask.site.store
    offered = [(run.run_id, run_title(run)) for run in store.runs(RUNS_OFFERED, names="used")]
    a, b = ask.query.get("a", ""), ask.query.get("b", "")
    if not a or not b:
        return _choice(ask, offered, a, b)
    first, second = stored_run(ask, a), stored_run(ask, b)
    key = (first.run_id, first.updated, second.run_id, second.updated)
    figures = ask.site.figures

    def pair() -> Comparison:
        corrected = corrected_in_both(store, first.run_id, second.run_id)
        return compare(store, first.run_id, second.run_id, corrected=corrected)

    comparison = figures.other(("compare", *key, store.labels_stamp()), pair, 2.0)
    if comparison is None:
        return Page("counting_pair.html.j2", {"a": first, "b": second})
    metric = _metric(ask, comparison.metrics)
    made: Pairs | None = Pairs([], (0, 0))
    if metric:
        made = _paired(ask, first, second, metric, 10.0)
    pairs = made.rows if made is not None else []
    only_changed = _only_changed(ask)
    chosen = _chosen(pairs, only_changed)
    start = number(ask, "from", 0, 0, 10**8)
    shown = chosen[start : start + A_PAGE]

    def link(**more: object) -> str:
        given = {"metric": metric, "changed": "1" if only_changed else "0", **more}
        return url("/compare", a=first.run_id, b=second.run_id, **given)

    values: dict[str, Any] = {
        "offered": offered,
        "a": first.run_id,
        "b": second.run_id,
        "first": first,
        "second": second,
        "titles": (run_title(first), run_title(second)),
        "comparison": comparison,
        "table": None,
        "metrics": sorted(comparison.metrics, key=_unlikely),
        "metric": metric,
        "lines": _lines(ask, (first, second), shown),
        "passes": made.passes if made is not None and metric else None,
        "waits": made is None,
        "total": len(chosen),
        "both": len(pairs),
        "from_": start,
        "only_changed": only_changed,
        "link": link,
        "next": link(from_=start + A_PAGE) if start + A_PAGE < len(chosen) else "",
    }
    return Page("compare.html.j2", values)


def _paired(
    ask: Ask, first: StoredRun, second: StoredRun, metric: str, patience: float
) -> Pairs | None:
    """The rows of both runs by a metric, None while they are being paired."""
    store = ask.site.store

    def make() -> Pairs:
        rows = paired_rows(store, first.run_id, second.run_id, metric)
        passes = (
            sum(pair.verdict_a is Verdict.PASS for pair in rows),
            sum(pair.verdict_b is Verdict.PASS for pair in rows),
        )
        return Pairs(rows, passes)

    key = ("pairs", first.run_id, first.updated, second.run_id, second.updated, metric)
    return ask.site.figures.large(key, make, patience)


def _only_changed(ask: Ask) -> bool:
    return ask.query.get("changed", "1") == "1"


def _chosen(pairs: list[PairedRow], only_changed: bool) -> list[PairedRow]:
    return [pair for pair in pairs if pair.changed] if only_changed else pairs


def _lines(ask: Ask, runs: tuple[StoredRun, StoredRun], pairs: Sequence[PairedRow]) -> list[Line]:
    """The rows of a page with what was answered in both runs. Only these are read."""
    places = ([pair.index_a for pair in pairs], [pair.index_b for pair in pairs])
    rows = [
        ask.site.store.rows_at(run.run_id, indices, largest=LARGEST)
        for run, indices in zip(runs, places, strict=True)
    ]
    lines = []
    for pair in pairs:
        before, after = rows[0].get(pair.index_a), rows[1].get(pair.index_b)
        start = _first_difference(before, after)
        sides = (
            _side(before, pair.verdict_a, pair.cause_a, start),
            _side(after, pair.verdict_b, pair.cause_b, start),
        )
        lines.append(Line(pair, sides, _same_response(before, after)))
    return lines


def _side(row: RowResult | None, verdict: Verdict | None, cause: str, start: int) -> Side:
    """start: the character of the response from which on it is shown."""
    title = cause_named(cause).title if cause else ""
    if row is None:
        return Side(verdict, title, TOO_LONG.response, TOO_LONG.lacking)
    if row.diagnosis.cause is not None:
        title = say.cause_words(row.diagnosis.cause)
    return Side(verdict, title, *response_of(row, start))


def _first_difference(before: RowResult | None, after: RowResult | None) -> int:
    """Where two responses are best shown from, so that what differs is in sight: shortly before it,
    where both begin alike for long.
    """
    texts = []
    for row in (before, after):
        sample = row.sample if row is not None else None
        texts.append((sample.response if sample is not None else None) or "")
    if texts[0] == texts[1]:
        return 0
    pairs = enumerate(zip(*texts, strict=False))
    alike = next((place for place, (a, b) in pairs if a != b), min(map(len, texts)))
    if alike <= RESPONSE // 2:
        return 0
    near = alike - RESPONSE // 4
    # From the beginning of a word, in languages that put blanks between them.
    return texts[0].rfind(" ", near - RESPONSE // 4, near) + 1 or near


def _same_response(before: RowResult | None, after: RowResult | None) -> bool:
    if before is None or after is None or before.sample is None or after.sample is None:
        return False
    return bool(before.sample.response) and before.sample.response == after.sample.response


def _metric(ask: Ask, metrics: Sequence[MetricComparison]) -> str:
    """The metric whose rows are shown, "" where there is none."""
    metric = ask.query.get("metric", "") or _most_telling(metrics)
    if metric and metric not in [each.metric for each in metrics]:
        raise refused("metric", metric, "a metric of both runs")
    return metric


def _unlikely(metric: MetricComparison) -> tuple[float, int, float]:
    """The smaller the more is to be seen in a metric: what is beyond chance first, the least likely
    before the others; of the rest the one with the most changed rows.
    """
    p = 1.0 if metric.p is None or metric.p >= 0.05 else metric.p
    return p, -(metric.won + metric.lost), -abs(metric.result.difference or 0.0)


def _choice(ask: Ask, offered: list[tuple[str, str]], a: str, b: str) -> Page:
    """The last runs by metric, to choose two of them: as B the newest, as A the one before B. A run
    with none before it is A itself.
    """
    ids = [run_id for run_id, _ in offered]
    if b:
        b = stored_run(ask, b).run_id
        if not a and len(ids) > 1 and b == ids[-1]:
            a, b = b, ids[-2]
    others = [run_id for run_id in ids if run_id != a]
    b = b or next(iter(others), "")
    older = ids[ids.index(b) + 1 :] if b in ids else ids
    a = a or next(iter([*older, *(run_id for run_id in ids if run_id != b)]), "")
    table = run_table(ask, whole=ask.query.get("all") == "1") if ids else None
    values = {"offered": offered, "a": a, "b": b, "comparison": None, "table": table}
    return Page("compare.html.j2", values)


def _most_telling(metrics: Sequence[MetricComparison]) -> str:
    """The metric in which the most is to be seen."""
    best = min((m for m in metrics if m.result.n), key=_unlikely, default=None)
    return best.metric if best is not None else ""


def row(ask: Ask) -> Answer:
    """The texts and scores of one row in both runs."""
    store = ask.site.store
    runs = stored_run(ask, ask.query.get("a", "")), stored_run(ask, ask.query.get("b", ""))
    row_id = ask.query.get("id", "")
    rows = [store.row(run.run_id, row_id) for run in runs]
    if rows[0] is None or rows[1] is None:
        raise NotThere(f"One of the runs has no row {row_id[:80]!r}.")
    before, after = rows[0], rows[1]
    texts = []
    for title, name in (
        ("Question", "question"),
        ("Response", "response"),
        ("Reference", "reference"),
    ):
        texts.append((title, *_text_pair(before.sample, after.sample, name)))
    contexts = _contexts(before.sample, after.sample)
    return Page(
        "compare_row.html.j2",
        {
            "id": row_id,
            "runs": runs,
            "rows": rows,
            "titles": tuple(run_title(run) for run in runs),
            "texts": [text for text in texts if text[1] or text[2]],
            "scores": _scores(runs, before, after),
            "contexts": contexts[:CONTEXTS_SHOWN],
            "all_contexts": len(contexts),
            **_place(ask, runs, row_id),
        },
    )


def _place(ask: Ask, runs: tuple[StoredRun, StoredRun], row_id: str) -> dict[str, str]:
    """Where the row stands in the list that the address names: the list itself, the rows before and
    after, "" where there is none or the rows are not paired yet.
    """
    first, second = runs
    metric, only_changed = ask.query.get("metric", ""), _only_changed(ask)
    given = {"a": first.run_id, "b": second.run_id, "metric": metric}
    if not only_changed:
        given["changed"] = "0"
    found = {"back": url("/compare", **given), "before": "", "after": "", "words": ""}
    if metric not in first.manifest.metrics or metric not in second.manifest.metrics:
        return {**found, "back": url("/compare", a=first.run_id, b=second.run_id)}
    made = _paired(ask, first, second, metric, PATIENCE_S)
    ids = [pair.id for pair in _chosen(made.rows if made is not None else [], only_changed)]
    if row_id not in ids:
        return found
    place = ids.index(row_id)
    found["back"] = url("/compare", **given, from_=place // A_PAGE * A_PAGE)
    if place > 0:
        found["before"] = url("/compare/row", **given, id=ids[place - 1])
    if place + 1 < len(ids):
        found["after"] = url("/compare/row", **given, id=ids[place + 1])
    found["words"] = f"{place + 1:,} of {len(ids):,} {'changed ' if only_changed else ''}rows"
    return found


def _text_pair(
    before: Sample | None, after: Sample | None, name: str
) -> tuple[list[Piece], list[Piece]]:
    first = getattr(before, name) if before is not None else None
    second = getattr(after, name) if after is not None else None
    return text_diff(first or "", second or "")


def _scores(
    runs: tuple[StoredRun, StoredRun], before: RowResult, after: RowResult
) -> list[tuple[str, object, object]]:
    """(metric, score in a, score in b) of every metric of either run."""
    names = dict.fromkeys([*runs[0].manifest.metrics, *runs[1].manifest.metrics])
    first = {score.metric: score for score in before.scores}
    second = {score.metric: score for score in after.scores}
    pairs = [(name, first.get(name), second.get(name)) for name in names]
    return [pair for pair in pairs if pair[1] is not None or pair[2] is not None]


def _contexts(before: Sample | None, after: Sample | None) -> list[tuple[str, str, int, int]]:
    """(id, beginning of the text, rank in a, rank in b) of every context; rank 0 = not retrieved.
    Where they are too many to be shown, those at another rank come first.
    """
    ranks: list[Mapping[tuple[str, str], int]] = []
    for sample in (before, after):
        places: dict[tuple[str, str], int] = {}
        for rank, context in enumerate((sample.contexts if sample else None) or (), 1):
            places.setdefault((context.id or "", context.text), rank)
        ranks.append(places)
    every = list(dict.fromkeys([*ranks[0], *ranks[1]]))
    if len(every) > CONTEXTS_SHOWN:
        every.sort(key=lambda each: ranks[0].get(each) == ranks[1].get(each))
    return [
        (each[0], each[1][:300], ranks[0].get(each, 0), ranks[1].get(each, 0)) for each in every
    ]
