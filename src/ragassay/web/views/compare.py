"""Two runs side by side: paired differences, the rows that turned, and the texts of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.core import RowResult, Sample
from ragassay.diagnosis import cause_named
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

if TYPE_CHECKING:
    from ragassay.store import StoredRun

A_PAGE = 100
CHUNKS_SHOWN = 200
RUNS_OFFERED = 100


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

    comparison = figures.other(("compare", *key, _labels_stamp(ask, first, second)), pair, 2.0)
    if comparison is None:
        return Page("counting_pair.html.j2", {"a": first, "b": second})
    metric = _metric(ask, comparison.metrics)
    made: list[PairedRow] | None = []
    if metric:
        made = figures.large(
            ("pairs", *key, metric),
            lambda: paired_rows(store, first.run_id, second.run_id, metric),
            10.0,
        )
    pairs = made or []
    only_changed = ask.query.get("changed", "1") == "1"
    chosen = [pair for pair in pairs if pair.changed] if only_changed else pairs
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
        "pairs": shown,
        "waits": made is None,
        "total": len(chosen),
        "both": len(pairs),
        "from_": start,
        "only_changed": only_changed,
        "link": link,
        "next": link(from_=start + A_PAGE) if start + A_PAGE < len(chosen) else "",
        "title_of": lambda name: cause_named(name).title if name else "",
    }
    return Page("compare.html.j2", values)


def _metric(ask: Ask, metrics: Sequence[MetricComparison]) -> str:
    """The metric whose rows are shown, "" where there is none."""
    metric = ask.query.get("metric", "") or _most_telling(metrics)
    if metric and metric not in [each.metric for each in metrics]:
        raise refused("metric", metric, "a metric of both runs")
    return metric


def _unlikely(metric: MetricComparison) -> tuple[float, int, float]:
    """The smaller the more is to be seen in a metric: the least likely by chance first, of several
    the one with the most changed rows.
    """
    p = 1.0 if metric.p is None else metric.p
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


def _labels_stamp(ask: Ask, *runs: StoredRun) -> tuple[object, ...]:
    """What changes with every label of the runs."""
    stamps: list[object] = []
    for run in runs:
        labels = ask.site.store.labels(run.run_id)
        stamps.append((len(labels), max((label.created for label in labels), default="")))
    return tuple(stamps)


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
            "contexts": contexts[:CHUNKS_SHOWN],
            "chunks": len(contexts),
        },
    )


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
    """(id, beginning of the text, rank in a, rank in b) of every chunk; rank 0 = not retrieved.
    Where they are too many to be shown, those at another rank come first.
    """
    ranks: list[Mapping[tuple[str, str], int]] = []
    for sample in (before, after):
        places: dict[tuple[str, str], int] = {}
        for rank, context in enumerate((sample.contexts if sample else None) or (), 1):
            places.setdefault((context.id or "", context.text), rank)
        ranks.append(places)
    every = list(dict.fromkeys([*ranks[0], *ranks[1]]))
    if len(every) > CHUNKS_SHOWN:
        every.sort(key=lambda chunk: ranks[0].get(chunk) == ranks[1].get(chunk))
    return [
        (chunk[0], chunk[1][:300], ranks[0].get(chunk, 0), ranks[1].get(chunk, 0))
        for chunk in every
    ]
