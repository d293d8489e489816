"""Which rows should people label, what do they say, and what is a run's metric really? Runs and
label files in, values out.

chosen = ragassay.trust.measure.labelling.next_rows("last", 100, output="sheet.csv")     # people fill in the
sheet ragassay.trust.measure.labelling.import_labels("last", "sheet.csv")
ragassay.trust.measure.labelling.estimate("last").estimate.value
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ragassay.api import open_run
from ragassay.core import (
    BadRow,
    DataError,
    HumanLabel,
    NothingToDo,
    RowResult,
    SetupError,
    Status,
    Verdict,
    nearest,
    shorten,
)
from ragassay.trust.measure.capped_runs import Series
from ragassay.trust.option_checks import FEWEST_DRAWS, check, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.annotators import AltTest, PeopleAgreement
    from ragassay.trust.correction import Correction, RowLabel, RunRow
    from ragassay.trust.label_files import LabelFile
    from ragassay.trust.sampling import Choice

Path = str | os.PathLike[str]
Tell = Callable[[str], None]
BINARY = (0.0, 1.0)
# Options of a run that say who judges and how, and so hold for further rows as well.
_JUDGING = (
    "judge",
    "base_url",
    "api_key_env",
    "rubrics",
    "claims",
    "single_calls",
    "controls",
    "temperature",
    "no_network",
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a label file. kept: labels that are new or changed in the store. metrics: what
    they are of.
    """

    run: str
    file: LabelFile
    kept: int
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Together:
    """What several people say: their agreement; whether the run's judge may stand in for one of
    them (None without a run); ids on which they are tied.
    """

    metric: str
    people: PeopleAgreement
    judge: AltTest | None
    ties: tuple[str, ...]


def next_rows(
    run: str | Run = "last",
    n: int = 100,
    *,
    output: Path,
    metric: str | None = None,
    method: str = "active",
    audit: float = 0.2,
    slice: str | None = None,
    per_cluster: int | None = None,
    show_judge: bool = False,
    exclude: Sequence[Path] = (),
    scale: Sequence[float] = BINARY,
    seed: int = 0,
    store: Path | None = None,
) -> Choice:
    """Choose n rows of a run for people to label, and write them as a sheet (CSV or JSONL by the
    ending of `output`).

    metric: what is to be labelled; may be left out where the run has one metric with a pass mark.
    method, audit, per_cluster: see `trust.sampling.choose`. show_judge: show what the judge said,
    which pulls people its way. Rows with a label in the store are left out, and those of the sheets
    in `exclude`. Raises SetupError, DataError.
    """
    from ragassay.trust import sampling
    from ragassay.trust.label_files import write_sheet

    check_draws(FEWEST_DRAWS, seed)
    if os.path.lexists(output):
        raise SetupError(
            "E0107",
            "The sheet is there already, and may hold labels.",
            where=str(output),
            fix="name another file, or delete that one",
        )
    with open_run(run, store=store) as opened:
        name = _metric(opened, metric)
        _check_slice(opened, slice)
        labels = _stored(opened, name)
        taken, last = (
            {label.row_id for label in labels},
            max((label.round for label in labels), default=0),
        )
        for path in exclude:
            ids, rounds = _of_sheet(path)
            taken, last = taken | ids, max(last, rounds)
        choice = sampling.choose(
            sampling.candidates(opened, name, slice=slice),
            n,
            method=method,
            audit=audit,
            taken=taken,
            round=last + 1,
            per_cluster=per_cluster,
            seed=seed,
        )
        if not choice.rows:
            raise SetupError(
                "E0206",
                "No row is left to label.",
                where=f"run {opened.id}",
                why=f"{len(taken)} rows are labelled or in sheets, and {name} applies to no other",
                fix="label rows of another run, or go on with: ragassay estimate",
            )
        chosen = {row.id for row in choice.rows}
        rows = [row for row in opened if row.id in chosen]
        said = {row.id: _said(row, name) for row in rows} if show_judge else None
        write_sheet(
            choice.rows,
            (row.sample for row in rows if row.sample is not None),
            output,
            name=name,
            scale=scale,
            judge=said,
        )
        clusters = {row.sample.cluster or (row.id,) for row in rows if row.sample is not None}
        return replace(choice, run=opened.id, clusters=len(clusters))


def import_labels(
    run: str | Run,
    source: object,
    *,
    metric: str | None = None,
    label: str = "label",
    annotator: str = "",
    scale: Sequence[float] = (),
    replace_old: bool = False,
    store: Path | None = None,
) -> Imported:
    """Read labels of a run's rows from a file and keep them in the store beside the run.

    metric: what was labelled, where the file does not say. label: the column. annotator: who
    labelled, where the file does not say. scale: the values that a label may take, () = as the
    sheet says, else 0 and 1, or 0 to 3, by the labels themselves. replace_old: another value of the
    same person replaces the one in the store, which else is an error. Raises DataError E0313 to
    E0315, SetupError.
    """
    from ragassay.trust.label_files import read_sheet

    with open_run(run, store=store) as opened:
        known = {row.id for row in opened}
        read = read_sheet(source, label=label, annotator=annotator, scale=scale, known=known)
        if not read.labels:
            raise NothingToDo(
                "E0313",
                "No row is labelled yet.",
                where=str(source),
                why=f"{read.unlabelled} rows without a label",
                fix=f"fill in the column {label!r}, or name another: --label",
            )
        _scale_of(read.labels, scale, str(source))
        names = opened.manifest.metrics
        wanted = None if metric is None else _metric(opened, metric)
        loose = sorted({one.name for one in read.labels if one.name not in names})
        if wanted is None and loose:  # the file does not say what it labels
            wanted = _metric(opened, None)
        labels = (
            [replace(one, name=wanted) for one in read.labels]
            if wanted is not None
            else list(read.labels)
        )
        kept = opened._store.put_labels(opened.id, labels, replace=replace_old)
        return Imported(opened.id, read, kept, tuple(sorted({one.name for one in labels})))


def estimate(
    run: str | Run = "last",
    *,
    labels: object = None,
    metric: str | None = None,
    label: str = "label",
    of: Literal["pass", "mean"] | None = None,
    scale: Sequence[float] = (),
    cut: float | None = None,
    by: str | None = None,
    beside: str | Run | None = None,
    seed: int = 0,
    store: Path | None = None,
    tell: Tell | None = None,
) -> Correction:
    """A metric of a run, corrected by the labels of a few of its rows: prediction-powered
    inference.

    labels: a file; None = those that were imported. of: "pass" sets the labels against pass or
    fail, "mean" against the score from 0 to 1; None = "pass" where the metric has a pass mark.
    scale: the values a label may take, () = 0 and 1, or 0 to 3, as the labels are; for "mean" its
    ends count as 0 and 1. cut: a label of at least this passes, None = the usual one (1 of 0 and 1,
    2 of 0 to 3). by: a slice field to estimate by as well. beside: another run of the same rows,
    whose judge's scores (not its verdicts) help as well, with a weight of their own. Labels of
    which none is of this run are a calibration set: its rows are judged by the run's judge (which
    may cost calls; `tell` says so) and used only where they are like the run's. Raises DataError
    E0605 where labels cannot stand for the run, and others.
    """
    from ragassay.trust.correction import estimate as corrected
    from ragassay.trust.label_files import read_sheet

    check_cuts(cut, None)
    check_draws(FEWEST_DRAWS, seed)
    with open_run(run, store=store) as opened:
        name = _metric(opened, metric)
        _check_slice(opened, by)
        if labels is None:
            given: Sequence[HumanLabel] = _stored(opened, name)
            if not given:
                raise SetupError(
                    "E0206",
                    f"No label of {name} was imported for this run.",
                    where=f"run {opened.id}",
                    fix=(
                        f"ragassay label next {opened.id} -o sheet.csv, and after labelling: "
                        f"ragassay label import {opened.id} sheet.csv; or give --labels FILE"
                    ),
                )
        else:
            given = read_sheet(
                labels, name=name, label=label, scale=scale, between=of == "mean"
            ).labels
        kind = of or _kind(opened, name)
        points = _scale_of(
            given, scale, "the labels in the store" if labels is None else str(labels), kind
        )
        rows = list(_rows(opened, name, kind))
        inside = {row.id for row in rows}
        foreign: dict[str, RunRow] = {}
        if labels is not None and not any(one.row_id in inside for one in given):
            wanted = {one.row_id for one in given}
            foreign = {
                row.id: row
                for row in _judged(labels, opened, name, kind, store, tell)
                if row.id in wanted
            }
        if beside is not None:
            if foreign:
                raise SetupError(
                    "E0206",
                    "A second run has no scores of a calibration set.",
                    where="--beside",
                    why="none of the labels is of this run",
                    fix="leave --beside out",
                )
            rows = _with_second(rows, beside, name, store)
        return corrected(
            rows,
            _labels(_read_as(given, kind, points, cut), foreign, len(rows)),
            metric=f"{name} ({kind} rate)" if kind == "pass" else name,
            by=by,
            seed=seed,
        )


def people_agreement(
    run: str | Run | None = None,
    sources: Sequence[object] = (),
    *,
    metric: str | None = None,
    label: str = "label",
    votes: str | None = None,
    scale: Sequence[float] = (),
    cut: float | None = None,
    epsilon: float = 0.2,
    draws: int = 2000,
    seed: int = 0,
    store: Path | None = None,
) -> Together:
    """How far people agree with each other, and whether the run's judge may stand in for one of
    them.

    sources: label files, each with its people; none = the labels imported for the run. votes: a
    field that holds what several people said of a row, as a list or an object, instead of `label`.
    scale, cut: as for `estimate`; a judge with a pass mark is compared with people by pass and
    fail. epsilon: see `scoring.annotators.alt_test`. Raises SetupError E0206 where there are not
    two people on any row.
    """
    import numpy as np

    from ragassay.scoring import annotators
    from ragassay.trust.comparison import default_cut
    from ragassay.trust.label_files import consensus, read_sheet, read_votes, ties

    check_draws(draws, seed)
    check_cuts(cut, None)
    check(
        "--epsilon",
        epsilon,
        0,
        0.999,
        "0.2 for experts, 0.15 for trained people, 0.1 for paid ones",
    )
    if run is None and not sources:
        raise SetupError(
            "E0206",
            "Neither a run nor a label file is named.",
            fix="name a run, or files of labels",
        )
    labels: list[HumanLabel] = []
    clusters: dict[str, str | None] = {}
    for place, source in enumerate(sources, 1):
        read = (
            read_sheet(
                source, label=label, scale=scale, annotator=_person(source, place), name=metric
            )
            if votes is None
            else read_votes(source, votes, name=metric, scale=scale)
        )
        labels += read.labels
        clusters |= read.clusters
    judged: dict[str, tuple[float, bool | None]] = {}
    name = metric or ""
    if run is not None:
        with open_run(run, store=store) as opened:
            name = _metric(opened, metric)
            labels = labels or list(_stored(opened, name))
            for row in opened:
                score = row.score(name)
                if row.sample is not None and row.sample.cluster is not None:
                    clusters[row.id] = row.sample.cluster
                if (
                    score is not None
                    and score.value is not None
                    and score.verdict is not Verdict.UNDECIDED
                ):
                    judged[row.id] = (
                        score.value,
                        None if score.verdict is None else score.verdict is Verdict.PASS,
                    )
    names = sorted({one.name for one in labels})
    if not name and len(names) > 1:
        raise SetupError(
            "E0206",
            "The files label several things.",
            why=", ".join(names[:10]),
            fix="name one: --metric",
        )
    given = annotators.votes([replace(one, name=name) for one in labels], clusters)
    if len(given.people) < 2:
        raise SetupError(
            "E0206",
            "Agreement takes two people or more.",
            why=f"the labels are of {len(given.people)}",
            fix="give a file for each person, or fill in the column `annotator`",
        )
    test = None
    if any(row in judged for row in given.rows):
        points = _scale_of(labels, scale, "the labels")
        low, high = min(points), max(points)
        binary = any(passes is not None for _, passes in judged.values())
        if binary:  # people's labels become what the judge says: pass or fail
            least = default_cut(points) if cut is None else cut
            compared = replace(
                given, values=np.where(np.isnan(given.values), np.nan, given.values >= least)
            )
        else:
            compared = replace(given, values=(given.values - low) / (high - low))
        said = [judged.get(row, (math.nan, None)) for row in given.rows]
        test = annotators.alt_test(
            np.array([float(value if passes is None else passes) for value, passes in said]),
            compared,
            epsilon=epsilon,
            score="accuracy" if binary else "rmse",
            draws=draws,
            seed=seed,
        )
    people = annotators.measure(given, draws=draws, seed=seed)
    alpha = next((one for one in people.figures if one.name == "alpha"), None)
    if test is not None and (
        alpha is None or alpha.value is None or alpha.interval is None or alpha.interval.low <= 0
    ):
        why = (
            "people are not shown to agree beyond chance: to be as good as one of them says nothing"
        )
        test = replace(test, may_replace=None, warnings=(*test.warnings, why))
    return Together(name, people, test, ties(consensus(labels)))


def _person(source: object, place: int) -> str:
    """Who labelled, where the file does not say: its name without the ending."""
    return (
        os.path.basename(source).partition(".")[0] if isinstance(source, str) else f"person {place}"
    )


# -- what a run and its labels hold


def _metric(run: Run, wanted: str | None) -> str:
    """The printed name of the metric that is meant."""
    names = run.manifest.metrics
    if wanted is not None:
        if wanted in names:
            return wanted
        plain = [name for name in names if name.partition("(")[0] == wanted]
        if len(plain) == 1:
            return plain[0]
        raise SetupError(
            "E0201",
            f"The run has no metric {wanted!r}.{nearest(wanted, names)}",
            where="--metric",
            why=f"run {run.id} has {', '.join(names)}",
            fix="name one of them",
        )
    marked = [m.metric for m in run.summary.metrics if m.pass_mark is not None and m.asked]
    if len(marked) != 1:
        raise SetupError(
            "E0206",
            "It is not said which metric people label.",
            where="--metric",
            why=f"run {run.id} has {', '.join(marked or names)}",
            fix=f"for example --metric {(marked or names)[0]}",
        )
    return marked[0]


def _check_slice(run: Run, wanted: str | None) -> None:
    """Raise SetupError E0206 for a slice field that no row of the run has."""
    if wanted is None:
        return
    fields: dict[str, None] = {}
    for row in run:
        if row.sample is not None:
            if wanted in row.sample.slices:
                return
            fields.update(dict.fromkeys(row.sample.slices))
    raise SetupError(
        "E0206",
        f"No row of the run has the slice {shorten(wanted, 40)!r}.{nearest(wanted, fields)}",
        where="--slice",
        why=(
            f"its slices are {', '.join(list(fields)[:20])}"
            if fields
            else "its rows have no slices"
        ),
        fix="name one of them; slices are chosen with `ragassay evaluate --slice FIELD`",
    )


def _stored(run: Run, metric: str) -> tuple[HumanLabel, ...]:
    return run._store.labels(run.id, metric)


def _of_sheet(path: Path) -> tuple[set[str], int]:
    """The ids of a sheet, labelled or not, and its last round."""
    from ragassay.datasets import open_records

    ids, last = set(), 0
    for _, row_id, row in open_records(path):
        ids.add(row_id)
        cell = str(row.get("round") or "0")
        last = max(last, int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 6 else 0)
    return ids, last


def _said(row: RowResult, metric: str) -> str:
    score = row.score(metric)
    if score is None or score.value is None:
        return "no verdict"
    return f"{score.verdict or ''} {score.value:.2f} {score.rationale}".strip()


def _kind(run: Run, metric: str) -> Literal["pass", "mean"]:
    return (
        "pass"
        if any(m.metric == metric and m.passed + m.failed for m in run.summary.metrics)
        else "mean"
    )


def _scale_of(
    labels: Sequence[HumanLabel], scale: Sequence[float], where: str, kind: str = "pass"
) -> tuple[float, ...]:
    """The values that labels may take: those that are given, else 0 and 1, or 0 to 3, whichever the
    labels are.
    """
    if scale:
        if len(set(scale)) < 2:
            raise SetupError(
                "E0101",
                "A scale has two values or more.",
                where="--scale",
                why=str(scale),
                fix="such as 0,1",
            )
        return tuple(sorted(scale))
    found = sorted({one.value for one in labels})
    if kind == "mean" and all(0 <= value <= 1 for value in found):
        return BINARY
    for usual in ((0.0, 0.5, 1.0), (0.0, 1.0, 2.0, 3.0)):
        if set(found) <= set(usual):
            return usual
    shown = ", ".join(f"{value:g}" for value in found[:8]) + (" ..." if len(found) > 8 else "")
    raise DataError(
        "E0313",
        "It is not said on which scale the labels are.",
        where=where,
        why=f"they are {shown}",
        fix=(
            "correct what is a slip, or name all values a label may take, such as --scale 1,2,3,4,5"
        ),
    )


def _read_as(
    labels: Sequence[HumanLabel], kind: str, scale: Sequence[float], cut: float | None
) -> list[HumanLabel]:
    """Labels as 0 or 1 by the cut, or spread from 0 to 1 over the scale."""
    from ragassay.trust.comparison import default_cut

    if kind == "pass":
        least = default_cut(scale) if cut is None else cut
        return [replace(one, value=float(one.value >= least)) for one in labels]
    low, high = min(scale), max(scale)
    return [replace(one, value=(one.value - low) / (high - low)) for one in labels]


def _rows(run: Run, metric: str, kind: str) -> Iterator[RunRow]:
    """The rows to which the metric applies, with what tells whether labelled ones are like the
    others.
    """
    from ragassay.scoring import shift
    from ragassay.trust.correction import RunRow

    for row in run:
        score = row.score(metric)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        value = score.value
        if kind == "pass":
            value = (
                {Verdict.PASS: 1.0, Verdict.FAIL: 0.0}.get(score.verdict)
                if score.verdict is not None
                else None
            )
        yield RunRow(
            row.id,
            value,
            row.sample.cluster,
            row.sample.slices,
            shift.features(row.sample),
            shift.terms(row.sample),
        )


def _with_second(
    rows: Sequence[RunRow], beside: str | Run, metric: str, store: Path | None
) -> list[RunRow]:
    """The rows with what another run's judge says of them."""
    with open_run(beside, store=store) as other:
        said = {row.id: row.value for row in _rows(other, _metric(other, metric), "mean")}
        if not any(said.get(row.id) is not None for row in rows):
            raise SetupError(
                "E0206",
                "The second run has no score of any of these rows.",
                where=f"run {other.id}",
                fix="name a run over the same rows, with their ids",
            )
    return [replace(row, second=said.get(row.id)) for row in rows]


def _judged(
    labels: object, run: Run, metric: str, kind: str, store: Path | None, tell: Tell | None
) -> list[RunRow]:
    """The rows of a calibration set under the run's judge."""
    from ragassay.datasets import open_rows

    try:
        if not any(
            not isinstance(row, BadRow) and (row.question or row.response)
            for row in open_rows(labels)
        ):
            return []
    except SetupError as error:
        if error.code != "E0307":
            raise
        return []  # ids and labels alone: there is nothing to judge
    kept = run.manifest.options
    if tell is not None:
        tell(
            f"none of the labels is of run {run.id}: their rows are judged by"
            f" {run.manifest.judge.uri} first"
        )
    options: dict[str, Any] = {name: kept[name] for name in _JUDGING if kept.get(name) is not None}
    series = Series(options | {"tell": tell}, store)
    with series.run(labels, metric, f"calibration set for {run.id}") as judged:
        return list(_rows(judged, metric, kind))


def _labels(
    given: Sequence[HumanLabel], foreign: dict[str, RunRow], population: int
) -> list[RowLabel]:
    """Labels from 0 to 1, with one inclusion probability a row for all rounds together."""
    from ragassay.trust.correction import RowLabel
    from ragassay.trust.sampling import combined

    known = {one.row_id: (max(1, one.round), one.inclusion_probability) for one in given}
    drawn = {row: (round_, chance) for row, (round_, chance) in known.items() if chance is not None}
    chances: dict[str, float] = {}
    if drawn and len(drawn) <= population:
        chances = dict(zip(drawn, combined(list(drawn.values()), population), strict=True))
    return [
        RowLabel(one.row_id, one.value, chances.get(one.row_id), foreign.get(one.row_id))
        for one in given
    ]


__all__ = ["Imported", "Together", "estimate", "import_labels", "next_rows", "people_agreement"]
