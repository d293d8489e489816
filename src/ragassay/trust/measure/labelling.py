"""Labels of a run's rows: rows chosen for people to label, and their labels kept beside the run.

chosen = ragassay.next_rows("last", 100, output="sheet.csv")   # people fill in the sheet
ragassay.import_labels("last", "sheet.csv")
ragassay.estimate("last").estimate.value
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ragassay.api import open_run
from ragassay.core import HumanLabel, NothingToDo, RowResult, RowToLabel, SetupError, shorten
from ragassay.runs.decisions import is_decision
from ragassay.runs.label_scales import BINARY, scale_of_import, scale_of_labels
from ragassay.scoring.label_rounds import check_chances
from ragassay.trust.measure.run_labels import (
    check_slice,
    check_texts,
    labelled_metric,
    labels_of_run,
    store_labels,
)
from ragassay.trust.option_checks import FEWEST_DRAWS, check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.trust.label_files import LabelFile
    from ragassay.trust.sampling import Choice

Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class LabelImport:
    """The result of an import. kept: labels that are new or changed in the store. metrics: what
    they are of. scales: metric -> the values that its labels may take, () where too few labels show
    it.
    """

    run: str
    file: LabelFile
    kept: int
    metrics: tuple[str, ...]
    scales: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def next_rows(
    run: str | Run = "last",
    n: int = 100,
    *,
    output: Path,
    metric: str | None = None,
    method: str = "uniform",
    audit: float = 0.2,
    slice: str | None = None,
    per_cluster: int | None = None,
    show_judge: bool = False,
    exclude: Sequence[Path] = (),
    scale: Sequence[float] = (),
    seed: int = 0,
    store: Path | None = None,
) -> Choice:
    """Choose n rows of a run for people to label, and write them as a sheet (CSV or JSONL by the
    ending of `output`).

    metric: what is to be labelled; may be left out where the run has one metric with a pass mark.
    method, audit, per_cluster: see `trust.choose`. show_judge: show what the judge said, which
    pulls people its way. Rows with a label in the store are left out, and those of the sheets in
    `exclude`. scale: the values a label may take, () = those of the labels that are there, else 0
    and 1. Raises SetupError, DataError.
    """
    from ragassay.trust import sampling

    check_draws(FEWEST_DRAWS, seed)  # for the seed: nothing is resampled here
    # Never overwritten: hours of somebody's work may be in it.
    _check_new(output)
    with open_run(run, store=store) as opened:
        name = labelled_metric(opened, metric)
        check_slice(opened, slice)
        taken, last_round = _taken(opened, name, exclude)
        choice = sampling.choose(
            sampling.candidates(opened, name, slice=slice),
            n,
            method=method,
            audit=audit,
            taken=taken,
            round=last_round + 1,
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
        points = tuple(scale) or _scale_so_far(opened, name)
        clusters = _write_rows(opened, choice, output, name, points, show_judge)
        return replace(choice, run=opened.id, clusters=clusters, scale=points)


def _scale_so_far(run: Run, metric: str) -> tuple[float, ...]:
    """The scale of the labels that a run has; 0 and 1 where it has none, or one with 0.5 too."""
    labels = labels_of_run(run, metric)
    points = scale_of_labels(labels, (), f"labels of run {run.id}") if labels else BINARY
    has_middle = any(label.value == 0.5 or 0.5 in label.scale for label in labels)
    return points if has_middle or set(points) != {0.0, 0.5, 1.0} else BINARY


def _check_new(output: Path) -> None:
    """Raise SetupError E0107 for a sheet that is there already."""
    if os.path.lexists(output):
        raise SetupError(
            "E0107",
            "The sheet is there already, and may hold labels.",
            where=str(output),
            fix="name another file (-o), or delete that one",
        )


def _taken(run: Run, metric: str, sheets: Sequence[Path]) -> tuple[set[str], int]:
    """The rows that are labelled or in a sheet, and the last round of choosing."""
    labels = labels_of_run(run, metric)
    taken = {label.row_id for label in labels}
    last_round = max((label.round for label in labels), default=0)
    for sheet in sheets:
        ids, last_of_sheet = _rows_of_sheet(sheet)
        taken |= ids
        last_round = max(last_round, last_of_sheet)
    return taken, last_round


def _rows_of_sheet(path: Path) -> tuple[set[str], int]:
    """The ids of a sheet, labelled or not, and its last round.

    Rows without a label count: somebody may be labelling them right now.
    """
    from ragassay.datasets import open_records

    ids = set()
    last_round = 0
    for _, row_id, row in open_records(path):
        ids.add(row_id)
        cell = str(row.get("round") or "0")
        # Anything else is no round of ours: the sheet may be a file of somebody else's.
        if cell.isascii() and cell.isdigit() and len(cell) < 6:
            last_round = max(last_round, int(cell))
    return ids, last_round


def _write_rows(
    run: Run,
    choice: Choice,
    output: Path,
    metric: str,
    scale: Sequence[float],
    show_judge: bool,
) -> int:
    """Write the chosen rows as a sheet; how many clusters they are of."""
    from ragassay.trust.label_sheets import write_sheet

    chosen = {row.id for row in choice.rows}
    rows = [row for row in run if row.id in chosen]
    samples = [row.sample for row in rows if row.sample is not None]
    judge = {row.id: _judgment_text(row, metric) for row in rows} if show_judge else None
    write_sheet(choice.rows, samples, output, name=metric, scale=scale, judge=judge)
    return len({sample.cluster or (sample.id,) for sample in samples})


def _judgment_text(row: RowResult, metric: str) -> str:
    """What the judge said of a row, for the people who label it."""
    score = row.score(metric)
    if score is None or score.value is None:
        return "no verdict"
    return f"{score.verdict or ''} {score.value:.2f} {score.rationale}".strip()


def import_labels(
    run: str | Run,
    source: object,
    *,
    metric: str | None = None,
    label: str = "label",
    annotator: str = "",
    scale: Sequence[float] = (),
    replace_old: bool = False,
    decisions: bool = True,
    store: Path | None = None,
) -> LabelImport:
    """Read labels of a run's rows from a file and keep them in the store beside the run.

    metric: what was labelled, where the file does not say. label: the column. annotator: who
    labelled, where the file does not say. scale: the values that a label may take, () = as the
    sheet says, else 0 and 1, or 0 to 3, by the labels themselves. replace_old: another value of the
    same person replaces the one in the store, which else is an error. decisions: whether labels
    may be those of somebody who decided between others. Raises DataError E0313 to E0315,
    SetupError.
    """
    from ragassay.store.access import now_utc
    from ragassay.trust.label_files import read_sheet

    with open_run(run, store=store) as opened:
        known = {row.id for row in opened}
        file = read_sheet(source, label=label, annotator=annotator, scale=scale, known=known)
        if not file.labels:
            raise NothingToDo(
                "E0313",
                "No row is labelled yet.",
                where=str(source),
                why=f"{file.unlabelled} rows without a label",
                fix=f"fill in the column {label!r}, or name another: --label",
            )
        _check_names(file.labels, decisions)
        check_texts(opened, file)
        check_chances(file.labels, len(known))
        named = _named(opened, file.labels, metric, label)
        created = now_utc()
        labels = [
            replace(drawn, created=drawn.created or created) for drawn in _as_drawn(opened, named)
        ]
        metrics = tuple(sorted({label.name for label in labels}))
        scales = {name: _scale_of(opened, name, labels, scale, file.source) for name in metrics}
        labels = [replace(label, scale=scales[label.name]) for label in labels]
        changed = store_labels(opened, labels, replace_old=replace_old)
        return LabelImport(opened.id, file, changed, metrics, scales)


def _scale_of(
    run: Run, metric: str, labels: Sequence[HumanLabel], scale: Sequence[float], source: str
) -> tuple[float, ...]:
    """The scale of a metric's labels that are imported. Raises as `scale_of_import`: found now, not
    when an estimate is made of them.
    """
    new = [label for label in labels if label.name == metric]
    places = {(label.row_id, label.annotator) for label in new}
    before = labels_of_run(run, metric)
    kept = [label for label in before if (label.row_id, label.annotator) not in places]
    return scale_of_import(new, kept, scale, source)


def _check_names(labels: Sequence[HumanLabel], decisions: bool) -> None:
    """Raise SetupError E0101 for a name that no person has."""
    for name in {label.annotator for label in labels}:
        is_refused = is_decision(name) and not decisions
        if is_refused or any(unicodedata.category(sign) == "Cc" for sign in name):
            raise SetupError(
                "E0101",
                "Nobody who labels can have that name.",
                where="annotator",
                why=shorten(repr(name), 60),
                fix="give the name of the person who labelled the rows",
            )


def _as_drawn(run: Run, labels: Iterable[HumanLabel]) -> Iterator[HumanLabel]:
    """The labels; those that do not say how their row was drawn, as the queue or an earlier label
    of the row says it.
    """
    known: dict[str, dict[str, HumanLabel | RowToLabel]] = {}
    for label in labels:
        if label.name not in known:
            known[label.name] = {}
            for row in run.store.to_label(run.id, label.name):
                known[label.name][row.row_id] = row
            for other in labels_of_run(run, label.name):
                if other.inclusion_probability is not None:
                    known[label.name][other.row_id] = other
        drawn = known[label.name].get(label.row_id)
        if drawn is None or label.inclusion_probability is not None:
            yield label
        else:
            yield replace(
                label,
                inclusion_probability=drawn.inclusion_probability,
                stream=drawn.stream,
                round=drawn.round,
                pool=drawn.pool,
                drawn=drawn.drawn,
            )


def _named(
    run: Run, labels: Sequence[HumanLabel], metric: str | None, column: str
) -> list[HumanLabel]:
    """The labels under the metric that they are of: the one that is named, else the file's.

    Where the file does not say what it labels, it is the run's one metric with a pass mark. column:
    of the labels, which is their name where the file does not say. Raises SetupError E0201 for a
    metric that the run does not have.
    """
    if metric is not None:
        name = labelled_metric(run, metric)
        return [replace(label, name=name) for label in labels]
    names = {}
    for name in {label.name for label in labels}:
        if name in run.manifest.metrics:
            names[name] = name
        elif name == column:
            names[name] = labelled_metric(run, None)
        else:
            names[name] = _metric_of_sheet(run, name)
    return [replace(label, name=names[label.name]) for label in labels]


def _metric_of_sheet(run: Run, name: str) -> str:
    """The metric of the run that a sheet names. Raises SetupError E0201 for one of another run."""
    try:
        return labelled_metric(run, name)
    except SetupError as error:
        raise SetupError(
            "E0201",
            f"The sheet labels {shorten(name, 60)!r}, which the run does not measure.",
            where="the column `metric` of the sheet",
            why=f"run {run.id} has {', '.join(run.manifest.metrics)}",
            fix=(
                "import it into the run that it was written from; where its labels are of a metric"
                " of this run, name that one with -m"
            ),
        ) from error
