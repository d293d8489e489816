"""The worst rows of a run, whichever end of each metric is the good one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.core import Manifest, MetricSummary, RowResult, Verdict
from ragassay.report.wording import lower_is_better

if TYPE_CHECKING:
    from ragassay.store import Store

_KINDS = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1}


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
    for *_, row_id in heapq.nsmallest(limit, _keys(store, run_id, lower)):
        row = store.row(run_id, row_id)
        if row is not None:
            yield row


def _keys(store: Store, run_id: str, lower: set[str]) -> Iterator[tuple[int, float, int, str]]:
    for line, scores in store.lines(run_id):
        good = [
            1 - s.value if s.metric in lower else s.value
            for s in scores
            if s.value is not None and s.pass_mark is not None
        ]
        mean = math.fsum(good) / len(good) if good else math.inf
        kind = 2 if line.verdict is None else _KINDS.get(line.verdict, 2)
        yield kind, mean, line.index, line.id
