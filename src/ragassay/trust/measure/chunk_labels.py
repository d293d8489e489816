"""Precision at k of a run's rankings, as the judge has it and corrected by labels of chunks.

The judge says of every retrieved chunk whether it is relevant; people say it of some, each named by
its row and rank. Over the first k ranks of all rows that is a rate like any other, corrected by
prediction-powered inference; the chunks of a row are one cluster. A place that a shorter ranking
leaves empty holds nothing relevant, and no label is needed to know that: precision at k divides by
k (as trec_eval does), so the rate of the chunks counts by the share of places that are filled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.core import DataError, Interval, Score, SetupError, Status, nearest, shorten
from ragassay.scoring.correction import Correction, RowLabel, RunRow, corrected_metric

if TYPE_CHECKING:
    from ragassay.api import Run

_METRICS = ("chunk_relevance", "context_relevance")


@dataclass(frozen=True, slots=True)
class PrecisionAt:
    """Precision at k over a run's rows.

    value, interval: corrected; judge: the judge's own. rows: of the run that the metric applies to;
    filled: of their k * rows places those that hold a chunk. correction: of the rate of these
    chunks, None where no place is filled.
    """

    metric: str
    k: int
    rows: int
    filled: int
    value: float
    interval: Interval | None
    judge: float | None
    correction: Correction | None

    @property
    def share(self) -> float:
        """Of all places, those that are filled."""
        return self.filled / (self.k * self.rows)


def precision_at(
    run: str | Run,
    labels: object,
    k: int,
    *,
    metric: str | None = None,
    label: str = "label",
    cut: float | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
) -> PrecisionAt:
    """The mean precision at k of a run, corrected by labels of chunks.

    labels: rows with id (of the run's row), chunk (its rank, from 1) and the label, drawn at random
    among the chunks, or of all of them; inclusion_probability where the chances differ. metric: one
    that judges each chunk, None = the run's. cut: from which label on a chunk is relevant (1 of 0
    and 1, 2 of 0 to 3). Raises SetupError E0205 for a run without such a metric, E0101 for a k
    below 1; DataError E0313 for labels that cannot be read, E0605 for such that cannot be used.
    """
    from ragassay.api import open_run

    if k < 1:
        raise SetupError("E0101", "k is 1 or more.", where="--at", why=str(k), fix="such as --at 5")
    with open_run(run, store=store) as opened:
        name = _metric_of(opened, metric)
        chunks: list[RunRow] = []
        rows = 0
        for row in opened:
            score = row.score(name)
            if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
                continue
            rows += 1
            cluster = row.sample.cluster or f"row {row.id}"
            for rank, relevant in _relevance(score, len(row.sample.contexts or ()), k):
                chunks.append(RunRow(_place(row.id, rank), relevant, cluster))
    if not rows:
        raise DataError(
            "E0605", "No row of the run has a ranking.", fix="evaluate rows with contexts"
        )
    if not chunks:
        return PrecisionAt(name, k, rows, 0, 0.0, None, 0.0, None)
    taken = _read(labels, label, cut, {chunk.id for chunk in chunks})
    found = corrected_metric(chunks, taken, metric=f"{name}: precision@{k}", seed=seed)
    return _scaled(name, k, rows, len(chunks), found)


def _scaled(name: str, k: int, rows: int, filled: int, found: Correction) -> PrecisionAt:
    """The rate of the chunks as precision at k."""
    share = filled / (k * rows)
    estimate = found.estimate
    interval = estimate.interval
    if interval is not None:
        low, high = share * interval.low, share * interval.high
        interval = Interval(low, high, interval.level, interval.method)
    judge = None if estimate.judge is None else share * estimate.judge
    value = share * (estimate.value or 0.0)
    return PrecisionAt(name, k, rows, filled, value, interval, judge, found)


def _metric_of(run: Run, metric: str | None) -> str:
    names = list(run.manifest.metrics)
    able = [name for name in names if name.partition("(")[0] in _METRICS]
    chosen = metric if metric is not None else next(iter(able), None)
    if chosen in able:
        assert chosen is not None
        return chosen
    raise SetupError(
        "E0205",
        f"The run {run.id} has no judged chunks"
        + (f" by {shorten(metric, 40)!r}.{nearest(metric, able)}" if metric else "."),
        where="--metric",
        why=f"its metrics are {', '.join(names)}",
        fix="evaluate with chunk_relevance, or name it: --metric chunk_relevance",
    )


def _relevance(score: Score, chunks: int, k: int) -> list[tuple[int, float | None]]:
    """(rank from 1, 1 or 0) of the first k chunks; None where the judge said nothing of one."""
    verdicts: dict[int, float] = {}
    for part in score.parts:
        if part.kind == "chunk" and part.context is not None and part.passed is not None:
            verdicts[part.context + 1] = float(part.passed)
    return [(rank, verdicts.get(rank)) for rank in range(1, min(chunks, k) + 1)]


def _place(row_id: str, rank: int) -> str:
    return f"{row_id}#{rank}"


def _read(labels: object, column: str, cut: float | None, places: set[str]) -> list[RowLabel]:
    """The labels of chunks; those below rank k are of no concern."""
    from ragassay.datasets import open_records
    from ragassay.trust.label_table import absent, number_of

    records = open_records(labels)
    values: dict[str, float] = {}
    chances: dict[str, float | None] = {}
    for line, row_id, row in records:
        cell = row.get(column)
        if absent(cell):
            continue
        value, rank = number_of(cell), number_of(row.get("chunk"))
        if value is None or rank is None or rank < 1 or rank != int(rank):
            raise DataError(
                "E0313",
                "A label of a chunk cannot be read.",
                where=records.where(line),
                why=f"chunk {shorten(row.get('chunk'), 30)}, {column} {shorten(cell, 30)}",
                fix="write id, chunk (the rank, from 1) and label (a number, or yes and no)",
            )
        place = _place(row_id, int(rank))
        if values.setdefault(place, value) != value:
            raise DataError(
                "E0314",
                f"The chunk {int(rank)} of {shorten(row_id, 40)!r} has two labels.",
                where=records.where(line),
                why=f"{values[place]:g} and {value:g}",
                fix="keep one label a chunk",
            )
        chances[place] = number_of(row.get("inclusion_probability"))
    return _as_rates(values, chances, cut, places)


def _as_rates(
    values: Mapping[str, float],
    chances: Mapping[str, float | None],
    cut: float | None,
    places: set[str],
) -> list[RowLabel]:
    if not values:
        raise DataError(
            "E0313",
            "No chunk has a label.",
            fix="write a file with the columns id, chunk and label",
        )
    if cut is None:
        # As for rows: 1 of 0 and 1, 2 of 0 to 3.
        cut = 1.0 if max(values.values()) <= 1 else 2.0
    taken = []
    for place, value in values.items():
        if place in places:
            taken.append(RowLabel(place, float(value >= cut), chances[place]))
    return taken
