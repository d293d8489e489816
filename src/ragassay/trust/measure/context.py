"""The context of a measurement: labels of people, and what each judge says of the same rows.

Benchmark, panel, cascade and calibration start alike: options are checked, labels are read, and
judges are read (recorded in the rows, in another file, in a run of the store) or asked now. A judge
that is asked is run with `ragassay.evaluate` into the store and read back from there: a second
measurement finds every answer in the cache and asks nothing, and one that was stopped goes on where
it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import BadRow, DataError, Profile, Sample, SetupError, nearest, shorten
from ragassay.trust.measure.run_table import RunLabels, labels_of_named_run
from ragassay.trust.option_checks import check_cuts
from ragassay.trust.rivals import Rival, rivals_of
from ragassay.trust.setups import BuiltSetUp

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.labellers import LabellerModel
    from ragassay.trust.alignment import Aligned, Verdicts
    from ragassay.trust.label_table import LabelTable
    from ragassay.trust.measure.capped_runs import CappedRuns

_RECORDED = "recorded:"
_RUN = "run:"
_FITTED = (
    "its map was fitted on these very labels, so the figures are too good; its certificate has"
    " those of other rows"
)
_EVERY_RECORDED = _RECORDED + "*"
# Kinds of judges that are made of two, whose names a comma may separate.
_OF_TWO = ("cascade:", "checked:")


@dataclass(frozen=True, slots=True)
class LabelSource:
    """A source of labels, which is read more than once. mapping, format: as for `read_labels`."""

    rows: object
    mapping: Mapping[str, str] | None = None
    format: str | None = None

    def samples(self, ids: Iterable[str]) -> Iterator[Sample]:
        """The rows with these ids, each once, in the order of the source."""
        from ragassay.datasets import open_rows

        remaining = set(ids)
        for row in open_rows(self.rows, mapping=self.mapping, format=self.format):
            if not isinstance(row, BadRow) and row.id in remaining:
                remaining.discard(row.id)
                yield row

    def records(self, ids: Iterable[str]) -> dict[str, Mapping[str, object]]:
        """The rows with these ids as they are written, by id."""
        from ragassay.datasets import open_records

        row_ids = set(ids)
        records: dict[str, Mapping[str, object]] = {}
        if not row_ids:
            return records
        for _, row_id, row in open_records(self.rows, mapping=self.mapping, format=self.format):
            if row_id in row_ids:
                records[row_id] = row
                # The source may go on for gigabytes.
                if len(records) == len(row_ids):
                    break
        return records


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """A judge whose answers are a run in the store.

    uri: of the judge. rubrics: rubric id -> "id@version". profile: what the labelled rows are like.
    """

    run: str
    uri: str
    rubrics: Mapping[str, str]
    profile: Profile


@dataclass(frozen=True, slots=True)
class MeasuringContext:
    """Labels, and the verdicts of each judge on their rows.

    metric: "" where all judges are recorded ones. judge_runs: judge -> its run, for judges that
    were asked. cut, judge_cut: of the options, None for the usual ones. labellers: of a run, the
    errors of the people whose labels were joined.
    """

    source: LabelSource
    table: LabelTable
    verdicts: tuple[Verdicts, ...]
    metric: str
    judge_runs: Mapping[str, JudgeRun] = field(default_factory=dict)
    cut: float | None = None
    judge_cut: float | None = None
    store: str | os.PathLike[str] | None = None
    labellers: LabellerModel | None = None

    @property
    def label_cut(self) -> float:
        """From which label on a row passes. Raises as `trust.alignment.label_cut`."""
        from ragassay.trust.alignment import label_cut

        return label_cut(self.table) if self.cut is None else self.cut

    def uri(self, judge: str) -> str:
        """The URI behind a judge's name, "" for a recorded one."""
        judge_run = self.judge_runs.get(judge)
        return "" if judge_run is None else judge_run.uri

    def aligned(self) -> list[Aligned]:
        """Each judge beside the labels, for measurements that take one verdict a row.

        Raises SetupError E0205 for pairs judged in both orders, DataError E0315 for a judge without
        a verdict on these rows.
        """
        from ragassay.trust.alignment import align

        label_cut = self.label_cut
        aligned = [
            align(self.table, verdicts, label_cut, self.judge_cut) for verdicts in self.verdicts
        ]
        for judge in aligned:
            name = judge.verdicts.judge
            if judge.position:
                raise SetupError(
                    "E0205",
                    f"{name} judged pairs in both orders.",
                    where="--judge",
                    why="each pair has two verdicts here",
                    fix="benchmark it: ragassay benchmark",
                )
            if not len(judge.at):
                raise DataError(
                    "E0315", f"{name} has no verdict on these rows.", fix="name another judge"
                )
        return aligned

    def only_judge(self) -> Aligned:
        """The judge beside the labels where there is one. Raises SetupError E0205 for several."""
        aligned = self.aligned()
        if len(aligned) != 1:
            raise SetupError(
                "E0205",
                "One judge is needed here.",
                where="--judge",
                why=", ".join(judge.verdicts.judge for judge in aligned[:10]),
                fix="name one of them",
            )
        return aligned[0]


def measuring_context(
    labels: object,
    judge: str | Sequence[str] | None,
    *,
    default_judge: str = "",
    needs_equal: str = "",
    cut: float | None = None,
    judge_cut: float | None = None,
    judge_cuts: Mapping[str, float] | None = None,
    metric: str | None = None,
    label: str = "label",
    scale: Sequence[float] = (),
    slice: str | None = None,
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    store: str | os.PathLike[str] | None = None,
    rivals: Sequence[str] = (),
    **options: Any,
) -> MeasuringContext:
    """Read the labels, and read or ask what the judges say of their rows.

    The arguments are those of `run_benchmark`; labels may also be a run, or name one, whose
    imported labels are meant, or a set-up that was built. default_judge: of a file where none is
    named; that of a run is its own. needs_equal: the command, where it cannot weight rows: unequal
    chances are then refused with DataError E1202, before any judge is asked. Cuts are checked
    before anything is read, and the options of `evaluate` before anything is asked.
    """
    from ragassay.trust.measure.capped_runs import CappedRuns

    check_cuts(cut, judge_cut)
    given = _imported_or_built(labels, metric, store, cut)
    if given is not None:
        metric, cut, default_judge = _given(given, metric, cut, default_judge)
        labels = given.rows
        label, mapping, format = "label", None, None
    asked_rivals = rivals_of(rivals, given.name if isinstance(given, BuiltSetUp) else "")
    names = judges_of(judge or default_judge)
    labels = list(labels) if isinstance(labels, Iterator) else labels  # it is read more than once
    source = LabelSource(labels, mapping, format)
    table = _read_table(
        source,
        given,
        label=label,
        judges=_recorded_in_rows(names),
        slice=slice,
        cluster=cluster,
        where=where,
        scale=scale,
    )
    _check_equal_chances(table, needs_equal)
    metric_name = _metric_of(names, metric, table)
    reader = _VerdictReader(source, table, metric_name, CappedRuns(options, store), store)
    reader.read_all(names, asked_rivals)
    judges, runs = _with_cuts(reader.verdicts, judge_cuts or {}), reader.judge_runs
    labellers = given.joined.model if isinstance(given, RunLabels) else None
    return MeasuringContext(
        source, table, judges, metric_name, runs, cut, judge_cut, store, labellers
    )


def _imported_or_built(
    labels: object,
    metric: str | None,
    store: str | os.PathLike[str] | None,
    cut: float | None,
) -> RunLabels | BuiltSetUp | None:
    """The labels of a run or of a set-up that was built; None for a file."""
    if isinstance(labels, BuiltSetUp):
        return labels
    return labels_of_named_run(labels, metric, store, cut)


def _given(
    given: RunLabels | BuiltSetUp, metric: str | None, cut: float | None, judge: str
) -> tuple[str | None, float | None, str]:
    """Metric, cut and usual judge, where a run or a set-up says them."""
    if isinstance(given, RunLabels):
        # Its verdicts are there already.
        return given.metric, given.cut, f"{_RUN}{given.run}"
    return metric or given.standard.metric, given.standard.cut if cut is None else cut, judge


def _read_table(
    source: LabelSource, given: RunLabels | BuiltSetUp | None, **reading: Any
) -> LabelTable:
    """The table of the labels. given: the run that they were imported for, or the set-up that they
    were built by; None for a file.
    """
    from ragassay.trust.label_table import read_labels

    labels = source.rows
    reading = {**reading, "mapping": source.mapping, "format": source.format}
    if given is None:
        return read_labels(labels, **reading)
    if isinstance(given, RunLabels):
        table = read_labels(labels, drawn=given.drawn, **reading)
    else:
        table = replace(read_labels(labels, **reading), source_hash=given.content_hash)
    return replace(table, source=given.source, notes=(*given.notes, *table.notes))


def _metric_of(names: Sequence[str], metric: str | None, table: LabelTable) -> str:
    # Nobody is asked for a metric by recorded judges: it may be left out, whatever the rows' task.
    if all(name.startswith(_RECORDED) for name in names):
        return metric or ""
    return _metric_to_ask(metric, table)


def _with_cuts(by_judge: Mapping[str, Verdicts], cuts: Mapping[str, float]) -> tuple[Verdicts, ...]:
    """The verdicts, with a cut of its own for each judge that has one.

    Raises SetupError E0205 for a cut of a judge that is not there, E0101 for one that is not
    finite.
    """
    for name, cut in cuts.items():
        check_cuts(None, cut)
        if name not in by_judge:
            raise SetupError(
                "E0205",
                f"No judge is called {shorten(name, 60)!r}.{nearest(name, by_judge)}",
                where="--judge-cut",
                fix=f"name one of {', '.join(by_judge)}",
            )
    verdicts = []
    for name, of_judge in by_judge.items():
        # Its own verdict gives way to the cut.
        verdicts.append(
            replace(of_judge, cut=cuts[name], passes=None) if name in cuts else of_judge
        )
    return tuple(verdicts)


def _check_equal_chances(table: LabelTable, command: str) -> None:
    """Raise DataError E1202 for rows that stand for different numbers of rows."""
    if not command or table.weight is None:
        return
    raise DataError(
        "E1202",
        "The labelled rows were drawn with unequal chances.",
        where=table.source,
        why=f"{command} takes rows that all had one chance, and cannot weight others",
        fix=(
            "draw a sheet with one chance for all: ragassay label next; ragassay benchmark and"
            " ragassay estimate weight these rows"
        ),
    )


class _VerdictReader:
    """What the judges say, read one after the other; a judge named twice counts once."""

    def __init__(
        self,
        source: LabelSource,
        table: LabelTable,
        metric: str,
        capped_runs: CappedRuns,
        store: str | os.PathLike[str] | None,
    ) -> None:
        self._source = source
        self._table = table
        self._metric = metric
        self._capped_runs = capped_runs
        self._store = store
        self.verdicts: dict[str, Verdicts] = {}
        self.judge_runs: dict[str, JudgeRun] = {}

    def read_all(self, names: Sequence[str], rivals: Sequence[Rival]) -> None:
        """Read or ask each judge, and ask its model as each rival."""
        for name in names:
            self.read(name)
            for rival in rivals:
                self.read_rival(name, rival)

    def read(self, name: str) -> None:
        """Read or ask the judge of this name, or every recorded one."""
        from ragassay.trust.alignment import recorded
        from ragassay.trust.measure.recorded_files import verdicts_of_file

        if name == _EVERY_RECORDED:
            for judge in self._table.recorded:
                self._add(recorded(self._table, judge))
        elif _is_file(name):
            path, column = _file_and_column(name)
            self._add(verdicts_of_file(self._table, path, column))
        elif name.startswith(_RECORDED):
            self._add(recorded(self._table, name.removeprefix(_RECORDED)))
        else:
            self._ask(name)

    def read_rival(self, name: str, rival: Rival) -> None:
        """Ask the model of this judge with a rival's rubric; it is shown as "JUDGE as RIVAL".

        Passed over for judges that read no rubric: recorded ones, runs, and the offline judge.
        """
        from ragassay.trust.measure.run_verdicts import verdicts_of_run

        if name == "offline" or name.startswith((_RECORDED, _RUN, "local:")):
            return
        rows = self._source.samples(self._table.ids)
        title = f"benchmark of {Path(self._table.source).name}, {rival.name}"
        # Its rubric alone: the user's own may have the same id.
        with self._capped_runs.run(
            rows, rival.metric, title, judge=name, rubrics=[rival.file]
        ) as run:
            self._add(verdicts_of_run(self._table, f"{name} as {rival.name}", run, rival.metric))

    def _add(self, verdicts: Verdicts) -> None:
        self.verdicts[verdicts.judge] = verdicts

    def _ask(self, name: str) -> None:
        from ragassay.trust.comparison import PAIRWISE
        from ragassay.trust.measure.run_verdicts import profile_of_run, verdicts_of_run

        if self._metric == PAIRWISE:
            self._ask_pairs(name)
            return
        with self._run_of(name) as run:
            manifest = run.manifest
            verdicts = verdicts_of_run(self._table, name, run, self._metric)
            if self._is_fitted_on_these(run):
                # No certificate: the judge has one, of rows that its map was not fitted on.
                self._add(replace(verdicts, warnings=(*verdicts.warnings, _FITTED)))
                return
            self._add(verdicts)
            profile = profile_of_run(self._table, run)
            self.judge_runs[name] = JudgeRun(
                run.id, manifest.judge.uri, manifest.judge.rubrics, profile
            )

    def _ask_pairs(self, name: str) -> None:
        """Ask which of two responses is better, in both orders.

        No certificate: it is found by rows of one response.
        """
        from ragassay.trust.measure.pair_judging import (
            check_judge_of_pairs,
            pair_preference,
            pairs_of,
            verdicts_of_pairs,
        )

        check_judge_of_pairs(name)
        ids = self._table.ids
        pairs = pairs_of(self._source.samples(ids), self._source.records(ids))
        shown: list[Sample] = []
        for pair in pairs:
            shown += pair.shown()
        title = f"benchmark of {Path(self._table.source).name}, pairs in both orders"
        with self._capped_runs.run(shown, pair_preference, title, judge=name) as run:
            self._add(verdicts_of_pairs(self._table, name, run))

    def _is_fitted_on_these(self, run: Run) -> bool:
        """Whether the run's judge is calibrated on these very labels."""
        from ragassay.runs.calibration import map_of
        from ragassay.runs.options import restore

        score_map = map_of(restore(run.manifest, {}))
        return score_map is not None and score_map.data_hash == self._table.labels_hash

    def _run_of(self, name: str) -> Run:
        """The run with this judge's answers: one of the store, or a new one over labelled rows."""
        from ragassay import api

        if name.startswith(_RUN):
            return api.open_run(name.removeprefix(_RUN), store=self._store)
        title = f"benchmark of {Path(self._table.source).name}"
        # A run that names its file can be resumed from it; rows in memory cannot.
        if self._every_row_is_labelled():
            return self._capped_runs.run(
                self._source.rows,
                self._metric,
                title,
                judge=name,
                mapping=self._source.mapping,
                format=self._source.format,
            )
        rows = self._source.samples(self._table.ids)
        return self._capped_runs.run(rows, self._metric, title, judge=name)

    def _every_row_is_labelled(self) -> bool:
        """Whether the whole file can be judged; else nothing is asked about the other rows."""
        if not isinstance(self._source.rows, str | os.PathLike) or self._table.where:
            return False
        return len(self._table) == self._table.rows


def judges_of(judge: str | Sequence[str]) -> tuple[str, ...]:
    """The judges that are named, in order, each once.

    "recorded:a,b,offline" is recorded:a, recorded:b and offline; the comma of "cascade:a,b" stands
    between its two members. Raises SetupError E0205 where none is named.
    """
    texts = [judge] if isinstance(judge, str) else judge
    names: list[str] = []
    for text in texts:
        # Of one text only: a judge that is named by an option of its own stands for itself.
        is_recorded = False
        for part in text.split(","):
            name = part.strip()
            if not name:
                continue
            if names and _lacks_second_member(names[-1]):
                names[-1] += f",{name}"
                continue
            if name.startswith(_RECORDED):
                is_recorded = True
            elif is_recorded and not _is_judge_of_its_own(name):
                name = _RECORDED + name
            names.append(name)
    if not names:
        raise SetupError(
            "E0205", "No judge is named.", where="--judge", fix="name one, such as --judge offline"
        )
    return tuple(dict.fromkeys(names))


def _lacks_second_member(name: str) -> bool:
    """Whether a judge of two has its first member only; ">", "," and "@" stand behind the first."""
    return name.startswith(_OF_TWO) and not {">", ",", "@"} & set(name)


def _is_judge_of_its_own(name: str) -> bool:
    """Whether a name behind recorded ones is none of them."""
    from ragassay.models.connect import schemes

    hosted = tuple(f"{scheme}:" for scheme in schemes())
    return name == "offline" or name.startswith((_RUN, *hosted))


def _recorded_in_rows(names: Sequence[str]) -> list[str]:
    """The recorded judges whose verdicts stand in the labelled rows themselves."""
    in_rows = []
    for name in names:
        if name.startswith(_RECORDED) and not _is_file(name):
            in_rows.append(name.removeprefix(_RECORDED))
    return in_rows


def _is_file(name: str) -> bool:
    """Whether a recorded judge is a column of another file: recorded:FILE#COLUMN."""
    if not name.startswith(_RECORDED) or "#" not in name:
        return False
    # A key of the rows' `judges` may hold a "#" as well: it is a file where there is one.
    path, _ = _file_and_column(name)
    return Path(path).is_file()


def _file_and_column(name: str) -> tuple[str, str]:
    # The last "#": paths hold one more often than the names of columns do.
    path, _, column = name.removeprefix(_RECORDED).rpartition("#")
    return path, column


def _metric_to_ask(metric: str | None, table: LabelTable) -> str:
    """The printed name of the metric that judges are asked for, by default of the rows' task."""
    from ragassay.metrics import catalogue, parse
    from ragassay.trust.comparison import TASKS

    if metric:
        # A name of the catalogue is written out in full; any other is a judge of the user's own.
        name = metric.partition("(")[0].partition("@")[0].strip()
        return str(parse(metric)) if name in catalogue() else metric
    # Rows of several tasks need several metrics, and a benchmark has one.
    tasks = list(table.tasks)
    if len(tasks) == 1 and tasks[0] in TASKS:
        return TASKS[tasks[0]]
    names = ", ".join(map(repr, tasks[:5]))
    why = f"the rows' task is {names}" if tasks else "no `task` field"
    raise SetupError(
        "E0205",
        "It is not said which metric the judge is asked for.",
        where="--metric",
        why=why,
        fix="name it: --metric " + ", --metric ".join(sorted(set(TASKS.values()))),
    )
