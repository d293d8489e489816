"""Judged rows for people to label: a random share of them, with the chance that each had.

The share is drawn by row with one chance for all, so that an estimate can trust the labels alone;
the rows stand in the queue of the run that judged them, where the web application and the sheets
find them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import RowToLabel
from ragassay.runs.run import Run
from ragassay.store import Store
from ragassay.store.watches import JUDGED, WatchRow
from ragassay.watch import sampling
from ragassay.watch.batches import row_id
from ragassay.watch.settings import Settings

_SCALE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Labelled:
    """How labelling stands for a metric, over all runs of the watch in the window. agree: of the
    labelled rows that the judge passed or failed, those where it says what people say. runs: those
    with rows that nobody labelled yet.
    """

    metric: str
    queued: int
    labelled: int
    passed: int
    agree: int
    compared: int
    runs: tuple[str, ...]


def queue(run: Run, rows: Sequence[WatchRow], settings: Settings) -> int:
    """Put the chosen rows of a batch into the queue of its run; how many."""
    if not settings.label_share:
        return 0
    added = 0
    # What the application says itself (tokens, errors ...) is no judgment to check.
    judged = [metric for metric in settings.metrics if not metric.startswith("app_")]
    for metric in judged:
        chosen = [row for row in rows if _is_chosen(row, metric, settings)]
        if chosen:
            entries = [
                RowToLabel(row_id(row), 0, 1, _SCALE, "audit", settings.label_share, 1)
                for row in chosen
            ]
            added += run.store.add_to_label(run.id, metric, entries)
    return added


def _is_chosen(row: WatchRow, metric: str, settings: Settings) -> bool:
    """Whether a row with a verdict is in the share; the same row for all metrics."""
    if row.state != JUDGED or metric not in row.figures.get("verdicts", {}):
        return False
    own = row.trace + row.number.to_bytes(8, "big")
    return sampling.place(own, settings.seed, "label") < settings.label_share


def standing(
    store: Store,
    runs: Sequence[str],
    verdicts: Mapping[str, Mapping[str, str]],
    metrics: Sequence[str],
) -> list[Labelled]:
    """How labelling stands. verdicts: row id -> metric -> what the judge said."""
    found = []
    for metric in metrics:
        queued = labelled = passed = agree = compared = 0
        waiting = []
        for run in runs:
            entries = store.to_label(run, metric)
            if not entries:
                continue
            values: dict[str, list[float]] = {}
            for label in store.labels(run, metric):
                values.setdefault(label.row_id, []).append(label.value)
            queued += len(entries)
            if any(entry.row_id not in values for entry in entries):
                waiting.append(run)
            for entry in entries:
                if entry.row_id not in values:
                    continue
                given = values[entry.row_id]
                good = sum(given) / len(given) >= 0.5
                labelled += 1
                passed += good
                said = verdicts.get(entry.row_id, {}).get(metric)
                if said in ("pass", "fail"):
                    compared += 1
                    agree += (said == "pass") == good
        if queued:
            found.append(
                Labelled(metric, queued, labelled, passed, agree, compared, tuple(waiting))
            )
    return found
