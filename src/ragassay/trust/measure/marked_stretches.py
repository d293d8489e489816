"""Benchmarks by stretches: what people marked as unsupported in responses, and what a judge does.

A judge marks the claims of a response that groundedness fails; a recorded one has its stretches in
a field of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import DataError, Figure, NothingToDo, Score, SetupError, Status, shorten
from ragassay.scoring.stretch_agreement import MarkedRow, Stretch, stretch_figures
from ragassay.trust.measure.capped_runs import CappedRuns
from ragassay.trust.measure.context import judges_of
from ragassay.trust.option_checks import check_draws

if TYPE_CHECKING:
    from ragassay.datasets import Records

_METRIC = "groundedness"
_RECORDED = "recorded:"
_CLUSTERS = ("cluster", "cluster_id", "group", "group_id")
_MISTAKES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class StretchFigures:
    """One judge beside people. rows: compared; missing: without a verdict of this judge; unjudged:
    claims of the rows compared that it gave no verdict on, whose text is left out.
    """

    judge: str
    rows: int
    missing: int
    unjudged: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class StretchBenchmark:
    """Judges beside stretches that people marked.

    source: of the rows; field: with the stretches; rows: that have the field; marked: of these,
    with a stretch; stretches: of people.
    """

    source: str
    field: str
    metric: str
    rows: int
    marked: int
    stretches: int
    clusters: int
    judges: tuple[StretchFigures, ...]


@dataclass(frozen=True, slots=True)
class _People:
    """What people marked, by the row's id."""

    source: str
    stretches: Mapping[str, tuple[Stretch, ...]]
    clusters: Mapping[str, str]
    recorded: Mapping[str, Mapping[str, _Marks]]


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a judge marked in one response, and where it gave no verdict."""

    marked: tuple[Stretch, ...]
    unjudged: tuple[Stretch, ...] = ()


def benchmark_stretches(
    rows: object,
    judge: str | Sequence[str] = "offline",
    *,
    field: str = "spans",
    metric: str | None = None,
    cluster: str | None = None,
    draws: int = 2000,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> StretchBenchmark:
    """Precision, recall and F1 of the stretches that judges mark as unsupported.

    rows: with response, contexts and `field`, a list of objects with start and end, in characters
    of the response, end exclusive ([] where people marked nothing; rows without the field are left
    out). judge: URIs, or recorded:FIELD for stretches of a judge in another field. metric: None =
    groundedness; its failed claims are what a judge marks. cluster: as for `run_benchmark`.
    options: of `ragassay.evaluate`. Raises DataError E0313 for stretches that cannot be read or lie
    outside the response, NothingToDo E0309 without any row that has the field, SetupError E0205 for
    another metric, and as `evaluate`.
    """
    from ragassay.datasets import open_records

    check_draws(draws, seed)
    name = metric or _METRIC
    if name.partition("(")[0] != _METRIC:
        raise SetupError(
            "E0205",
            f"{shorten(name, 40)} marks no stretches.",
            where="--metric",
            fix="groundedness does: its claims stand at known places of the response",
        )
    reading = {key: options[key] for key in ("mapping", "format") if key in options}
    names = judges_of(judge)
    fields = [each.removeprefix(_RECORDED) for each in names if each.startswith(_RECORDED)]
    people = _read(open_records(rows, **reading), field, fields, cluster)
    runs = CappedRuns(options, store)
    measured = []
    for each in names:
        if each.startswith(_RECORDED):
            marked = people.recorded[each.removeprefix(_RECORDED)]
        else:
            marked = _asked(runs, rows, name, each, people)
        measured.append(_measured(each, people, marked, draws, seed))
    return StretchBenchmark(
        source=people.source,
        field=field,
        metric=name,
        rows=len(people.stretches),
        marked=sum(bool(found) for found in people.stretches.values()),
        stretches=sum(len(found) for found in people.stretches.values()),
        clusters=len(set(people.clusters.values())),
        judges=tuple(measured),
    )


def _measured(
    judge: str,
    people: _People,
    marked: Mapping[str, _Marks],
    draws: int,
    seed: int,
) -> StretchFigures:
    rows = []
    unjudged = 0
    for row_id, stretches in people.stretches.items():
        if row_id in marked:
            marks = marked[row_id]
            cluster = people.clusters[row_id]
            rows.append(MarkedRow(stretches, marks.marked, cluster, marks.unjudged))
            unjudged += len(marks.unjudged)
    if not rows:
        raise DataError("E0315", f"{judge} has no verdict on these rows.", fix="name another judge")
    figures = stretch_figures(rows, draws=draws, seed=seed)
    return StretchFigures(judge, len(rows), len(people.stretches) - len(rows), unjudged, figures)


def _asked(
    runs: CappedRuns, rows: object, metric: str, judge: str, people: _People
) -> dict[str, _Marks]:
    """What a judge marks in each row: the claims that it fails."""
    title = f"benchmark of {Path(people.source).name} by stretches"
    marked: dict[str, _Marks] = {}
    with runs.run(rows, metric, title, judge=judge) as run:
        for row in run:
            score = row.score(metric)
            marks = None if score is None else _marks(score)
            if row.id in people.stretches and marks is not None:
                marked[row.id] = marks
    return marked


def _marks(score: Score) -> _Marks | None:
    """The claims that failed, and those without a verdict; None where none has one.

    A response without claims is one in which nothing is marked.
    """
    marked: list[Stretch] = []
    unjudged: list[Stretch] = []
    judged = 0
    for part in score.parts:
        if part.kind != "claim" or part.start is None or part.end is None:
            continue
        if part.passed is None and part.status is not Status.NOT_APPLICABLE:
            unjudged.append((part.start, part.end))
            continue
        judged += 1
        if part.passed is False:
            marked.append((part.start, part.end))
    is_lost = bool(unjudged) or score.status not in (Status.JUDGED, Status.NOT_APPLICABLE)
    return None if is_lost and not judged else _Marks(tuple(marked), tuple(unjudged))


def _read(records: Records, field: str, recorded: Sequence[str], cluster: str | None) -> _People:
    stretches: dict[str, tuple[Stretch, ...]] = {}
    clusters: dict[str, str] = {}
    others: dict[str, dict[str, _Marks]] = {name: {} for name in recorded}
    mistakes: list[str] = []
    count = 0
    for line, row_id, row in records:
        if row.get(field) is None:
            continue
        count += 1
        response = row.get("response")
        length = len(response) if isinstance(response, str) else 0
        found = _stretches(row[field], length)
        if found is None:
            mistakes.append(f"{records.where(line)} has {shorten(row[field], 60)}")
            continue
        stretches[row_id] = found
        names = (cluster,) if cluster else _CLUSTERS
        key = next((str(row[name]) for name in names if row.get(name) is not None), None)
        clusters[row_id] = f"row {row_id}" if key is None else f"cluster {key}"
        for name in recorded:
            of_judge = _stretches(row.get(name), length)
            if of_judge is not None:
                others[name][row_id] = _Marks(of_judge)
    if mistakes:
        raise DataError(
            "E0313",
            f"{len(mistakes)} of {count} rows have stretches that cannot be read.",
            where="; ".join(mistakes[:_MISTAKES_SHOWN]),
            why="a stretch has start and end, in characters, inside the response",
            fix='write [{"start": 0, "end": 12}], and [] where nothing is marked',
        )
    if not stretches:
        raise NothingToDo(
            "E0309",
            f"No row has stretches in {field!r}.",
            where=records.source,
            fix="name the field that people's marks are in: --spans FIELD",
        )
    return _People(records.source, stretches, clusters, others)


def _stretches(cell: object, length: int) -> tuple[Stretch, ...] | None:
    """The stretches of a cell; None where it is no list of them, or one lies outside."""
    if not isinstance(cell, list):
        return None
    found: list[Stretch] = []
    for entry in cell:
        if not isinstance(entry, dict):
            return None
        start, end = entry.get("start"), entry.get("end")
        if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= length:
            return None
        found.append((start, end))
    return tuple(found)
