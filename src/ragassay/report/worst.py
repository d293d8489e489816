"""The worst rows of a run, whichever end of each metric is the good one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.core import Manifest, MetricSummary, RowResult, Verdict
from ragassay.report.wording import lower_is_better, unit_of

if TYPE_CHECKING:
    from ragassay.store import ScoreLine, Store

# What rows are sorted by first.
_PLACES = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1}
_LAST = 2


def worst_rows(
    store: Store, run_id: str, manifest: Manifest, metrics: Sequence[MetricSummary], limit: int
) -> Iterator[RowResult]:
    """At most `limit` rows: failed ones first, then undecided ones, then the rest; within each the
    lowest mean of the scores with a pass mark, where a score that is better when lower counts as 1
    - value. Ties by index.

    Without such a metric that is the order the store keeps; with one, the lines of all rows are
    read first.
    """
    if not limit:
        return
    marked = (m for m in metrics if m.pass_mark is not None and not m.unit)
    lower = {m.metric for m in marked if lower_is_better(m.metric, manifest)}
    if not lower:
        yield from store.rows(run_id, order="worst", limit=limit)
        return
    # The store sorts by the mean value, which is wrong where low values are the good ones.
    for *_, row_id in heapq.nsmallest(limit, _keys(store, run_id, lower)):
        row = store.row(run_id, row_id)
        if row is not None:
            yield row


def _keys(store: Store, run_id: str, lower: set[str]) -> Iterator[tuple[int, float, int, str]]:
    for line, scores in store.lines(run_id):
        if not line.done:
            continue  # what a stop left half judged is no verdict yet
        place = _LAST if line.verdict is None else _PLACES.get(line.verdict, _LAST)
        yield place, _mean_goodness(scores, lower), line.index, line.id


def _mean_goodness(scores: Iterable[ScoreLine], lower: set[str]) -> float:
    """The mean of the scores with a pass mark, 1 the best; a row without one sorts last."""
    goodness = []
    for score in scores:
        if score.value is None or score.pass_mark is None:
            continue
        goodness.append(1 - score.value if score.metric in lower else score.value)
    if not goodness:
        return math.inf
    return math.fsum(goodness) / len(goodness)


def worst_first(manifest: Manifest) -> Callable[[RowResult], float]:
    """A number for each row that is lower the worse it is, in the order of `worst_rows`."""
    lower = {name for name in manifest.metrics if lower_is_better(name, manifest)}
    ratios = {name for name in manifest.metrics if not unit_of(name, manifest)}

    def key(row: RowResult) -> float:
        verdict = row.diagnosis.verdict
        kind = _LAST if verdict is None else _PLACES.get(verdict, _LAST)
        goodness = []
        for score in row.scores:
            if score.value is None or score.pass_mark is None or score.metric not in ratios:
                continue
            goodness.append(1 - score.value if score.metric in lower else score.value)
        mean = math.fsum(goodness) / len(goodness) if goodness else math.inf
        return 4.0 * kind + min(max(mean, -1.0), 2.0)

    return key
