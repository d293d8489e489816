"""How good is a judge, measured against people? Labels in, a JudgeBenchmark out; live judges are
asked on the way.

A judge that has to be asked is run with `api.evaluate` into the store and read back from there: a
second benchmark finds every answer in the cache and asks nothing, and a benchmark that was stopped
goes on where it was.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    BadRow,
    Certificate,
    DataError,
    JudgeBenchmark,
    JudgeFigures,
    Profile,
    Sample,
    Score,
    SetupError,
    Status,
    Verdict,
    nearest,
    shorten,
)
from ragassay.trust.option_checks import check_costs, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.trust.comparison import Verdicts
    from ragassay.trust.label_table import Labelled
    from ragassay.trust.measure.capped_runs import Series

_RECORDED, _RUN = "recorded:", "run:"
_OF_TWO = ("cascade:", "checked:")
_REASON = 90
_MOST_REASONS = 20
_ID = 4
NOT_APPLICABLE = "not applicable"
MOST_LOST = 0.05
"""Share of lost verdicts up to which a benchmark still makes a certificate."""


@dataclass(frozen=True, slots=True)
class Benchmarked:
    """A benchmark, and what else is known of the judges that were asked, which a certificate needs.

    rubrics: judge -> rubric id -> "id@version". runs: judge -> id of its run in the store.
    profiles: judge -> what the labelled rows are like. kind: "human", or "constructed" or "human
    and constructed" where labels were made and not given. certificates: what was put into the store
    of it.
    """

    benchmark: JudgeBenchmark
    rubrics: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, str]
    profiles: Mapping[str, Profile]
    kind: str = "human"
    certificates: tuple[Certificate, ...] = ()


def benchmark(
    labels: object, judge: str | Sequence[str] = "offline", **options: Any
) -> JudgeBenchmark:
    """Any judges against human labels: every figure, pooled and as the mean over slices, with
    clustered intervals.

    The arguments are those of `run_benchmark`, which also says what was run.
    """
    return run_benchmark(labels, judge, **options).benchmark


def run_benchmark(
    labels: object,
    judge: str | Sequence[str] = "offline",
    *,
    metric: str | None = None,
    label: str = "label",
    cut: float | None = None,
    judge_cut: float | None = None,
    scale: Sequence[float] = (),
    slice: str | None = None,
    cluster: str | None = None,
    where: Sequence[str] = (),
    fp_cost: float = 1.0,
    fn_cost: float = 1.0,
    worst: int = 20,
    draws: int = 2000,
    seed: int = 0,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    store: str | os.PathLike[str] | None = None,
    certificate: bool = True,
    **options: Any,
) -> Benchmarked:
    """Set judges beside the human labels of a source.

    labels: anything that holds rows, with a label (see `trust.read_labels` for label,
    scale, slice, cluster, where, mapping, format). judge: one or several, as a list or separated by
    commas: "offline" or any other judge's URI (asked now, on the labelled rows only);
    "recorded:NAME" (a key of the rows' `judges`, or a column; names after a comma are recorded ones
    too; "recorded:*" = all; "recorded:FILE#COLUMN" = of another file, by id); "run:ID" (the scores
    of a run in the store, by id). metric: what is asked, by default what the rows' `task` says.
    cut, judge_cut, fp_cost, fn_cost, worst, draws, seed: see `trust.compare`.
    certificate: keep what was measured of every judge that was asked in the store, where runs of
    that judge find it. options: of `ragassay.evaluate` (rubrics, base_url, max_cost, no_network
    ...), for judges that are asked.

    Raises SetupError (E0205 where judge, metric or cut is missing), DataError (E0313 to E0315), and
    what `evaluate` raises; BudgetExhausted E0604 or KeyboardInterrupt where a judge was stopped
    before the last row: nothing is measured on half of the rows, and the same call goes on where it
    was. Caps are for all judges together. A row whose verdict was lost is counted under the judge's
    `missing`, never scored.
    """
    from ragassay.trust.comparison import compare

    check_draws(draws, seed)
    check_cuts(cut, judge_cut)
    check_costs(fp_cost, fn_cost)
    held = gather(
        labels,
        judge,
        metric=metric,
        label=label,
        scale=scale,
        slice=slice,
        cluster=cluster,
        where=where,
        mapping=mapping,
        format=format,
        store=store,
        **options,
    )
    found = compare(
        held.labelled,
        held.verdicts,
        metric=held.metric,
        cut=cut,
        judge_cut=judge_cut,
        fp_cost=fp_cost,
        fn_cost=fn_cost,
        worst=worst,
        draws=draws,
        seed=seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    found = _told(
        found, held.labels, mapping, format, {one.judge: one.rationales for one in held.verdicts}
    )
    made_up = held.labelled.constructed
    kind = (
        "human"
        if not made_up
        else "constructed"
        if made_up >= len(held.labelled)
        else "human and constructed"
    )
    made = Benchmarked(found, held.rubrics, held.runs, held.profiles, kind)
    return (
        replace(made, certificates=_certified(made, held.uris, store))
        if certificate and held.profiles
        else made
    )


@dataclass(frozen=True, slots=True)
class Gathered:
    """Labels, and what each judge said of their rows. labels: the source, to be read again. metric:
    "" for recorded judges. uris: judge -> the URI behind it; the rest as in `Benchmarked`.
    """

    labels: object
    labelled: Labelled
    verdicts: tuple[Verdicts, ...]
    metric: str
    rubrics: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, str]
    profiles: Mapping[str, Profile]
    uris: Mapping[str, str]


def gather(
    labels: object,
    judge: str | Sequence[str],
    *,
    metric: str | None = None,
    label: str = "label",
    scale: Sequence[float] = (),
    slice: str | None = None,
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Gathered:
    """Read the labels, and read or ask what the judges say of them; the arguments are those of
    `run_benchmark`.
    """
    from ragassay.trust.comparison import recorded
    from ragassay.trust.label_table import read_labels
    from ragassay.trust.measure.capped_runs import Series

    names = judges_of(judge)
    if not isinstance(labels, str | os.PathLike) and isinstance(labels, Iterator):
        labels = list(labels)  # it is read more than once
    own = [
        name.removeprefix(_RECORDED)
        for name in names
        if name.startswith(_RECORDED) and not _is_file(name)
    ]
    labelled = read_labels(
        labels,
        label=label,
        judges=own,
        slice=slice,
        cluster=cluster,
        where=where,
        mapping=mapping,
        format=format,
        scale=scale,
    )
    series = Series(options, store)
    asked = [name for name in names if not name.startswith(_RECORDED)]
    chosen = _metric(metric, labelled) if asked else metric or ""
    verdicts: list[Verdicts] = []
    rubrics: dict[str, Mapping[str, str]] = {}
    runs: dict[str, str] = {}
    profiles: dict[str, Profile] = {}
    uris: dict[str, str] = {}
    for name in names:
        if name == _RECORDED + "*":
            verdicts += [recorded(labelled, found) for found in labelled.recorded]
        elif name.startswith(_RECORDED):
            verdicts.append(
                _from_file(labelled, name)
                if _is_file(name)
                else recorded(labelled, name.removeprefix(_RECORDED))
            )
        else:
            with _open(name, labels, labelled, chosen, series, mapping, format, store) as run:
                rubrics[name], runs[name], uris[name] = (
                    run.manifest.judge.rubrics,
                    run.id,
                    run.manifest.judge.uri,
                )
                verdicts.append(_from_run(labelled, name, run, chosen))
                profiles[name] = _profile(labelled, run)
    kept = {one.judge: one for one in verdicts}
    return Gathered(labels, labelled, tuple(kept.values()), chosen, rubrics, runs, profiles, uris)


def _certified(
    made: Benchmarked, uris: Mapping[str, str], store: str | os.PathLike[str] | None
) -> tuple[Certificate, ...]:
    """The certificates of the judges that were asked, put into the store; none of a judge that lost
    many verdicts, for the rows that it lost need not be like the others.
    """
    from ragassay.api import open_store
    from ragassay.trust.certificate_issue import issue
    from ragassay.version import __version__

    def whole(judge: JudgeFigures) -> bool:
        lost = sum(
            n for reason, n in judge.missing.items() if not reason.startswith(NOT_APPLICABLE)
        )
        return bool(judge.n) and lost <= MOST_LOST * (judge.n + lost)

    issued = tuple(
        issue(
            made.benchmark,
            replace(judge, judge=uris[judge.judge]),
            rubrics=made.rubrics[judge.judge],
            profile=made.profiles[judge.judge],
            kind=made.kind,
            version=__version__,
        )
        for judge in made.benchmark.judges
        if judge.judge in made.profiles and whole(judge)
    )
    kept = open_store(store)
    try:
        for one in issued:
            kept.put_certificate(one)
    finally:
        kept.close()
    return issued


def judges_of(judge: str | Sequence[str]) -> tuple[str, ...]:
    """The judges that are named, in order: "recorded:a,b,offline" is recorded:a, recorded:b and
    offline; the comma of "cascade:a,b" stands between its two members.
    """
    found: list[str] = []
    for text in [judge] if isinstance(judge, str) else judge:
        is_recorded = False
        for piece in (part.strip() for part in text.split(",")):
            if not piece:
                continue
            if found and found[-1].startswith(_OF_TWO) and not {">", ",", "@"} & set(found[-1]):
                found[-1] += f",{piece}"
                continue
            if piece.startswith(_RECORDED):
                is_recorded = True
            elif is_recorded and piece != "offline" and not piece.startswith((_RUN, "openai:")):
                piece = _RECORDED + piece
            found.append(piece)
    if not found:
        raise SetupError(
            "E0205", "No judge is named.", where="--judge", fix="name one, such as --judge offline"
        )
    return tuple(dict.fromkeys(found))


def _metric(metric: str | None, labelled: Labelled) -> str:
    from ragassay.metrics import catalogue, parse
    from ragassay.trust.comparison import TASKS

    if (
        metric
    ):  # a name of the catalogue is written out in full; any other is a judge of the user's own
        name = metric.partition("(")[0].partition("@")[0].strip()
        return str(parse(metric)) if name in catalogue() else metric
    tasks = [task for task in labelled.tasks if task in TASKS]
    if len(labelled.tasks) == 1 and tasks:
        return TASKS[tasks[0]]
    why = (
        f"the rows' task is {', '.join(map(repr, list(labelled.tasks)[:5]))}"
        if labelled.tasks
        else "no `task` field"
    )
    raise SetupError(
        "E0205",
        "It is not said which metric the judge is asked for.",
        where="--metric",
        why=why,
        fix="name it: --metric " + ", --metric ".join(sorted(set(TASKS.values()))),
    )


def _open(
    name: str,
    labels: object,
    labelled: Labelled,
    metric: str,
    series: Series,
    mapping: Mapping[str, str] | None,
    format: str | None,
    store: str | os.PathLike[str] | None,
) -> Run:
    """The run with this judge's answers: one of the store, or a new one over the labelled rows."""
    from ragassay import api

    if name.startswith(_RUN):
        return api.open_run(name.removeprefix(_RUN), store=store)
    what = Path(labelled.source).name
    every = (
        len(labelled) == labelled.rows
        and not labelled.where
        and isinstance(labels, str | os.PathLike)
    )
    rows = labels if every else _samples(labels, labelled, mapping, format)
    said = {"mapping": mapping, "format": format} if every else {}
    return series.run(rows, metric, f"benchmark of {what}", judge=name, **said)


def _samples(
    labels: object, labelled: Labelled, mapping: Mapping[str, str] | None, format: str | None
) -> Iterator[Sample]:
    """The rows that have a label and pass the filters; nothing is asked about others."""
    from ragassay.datasets import open_rows

    wanted = set(labelled.ids)
    for row in open_rows(labels, mapping=mapping, format=format):
        if not isinstance(row, BadRow) and row.id in wanted:
            wanted.discard(row.id)
            yield row


def _from_run(labelled: Labelled, name: str, run: Run, metric: str) -> Verdicts:
    """The verdicts of a run's scores, by id."""
    import numpy as np

    from ragassay.trust.comparison import Verdicts

    manifest = run.manifest
    if metric not in manifest.metrics:
        raise SetupError(
            "E0205",
            f"The run {run.id} has no {metric}.{nearest(metric, manifest.metrics)}",
            where=f"--judge {name}",
            why=f"its metrics are {', '.join(manifest.metrics)}",
            fix="name one of them: --metric NAME",
        )
    place = {row_id: i for i, row_id in enumerate(labelled.ids)}
    n = len(labelled)
    score, ratings = np.full(n, np.nan), np.full(n, np.nan)
    asked: dict[int, tuple[str, ...]] = {}
    passes, given = np.zeros(n, bool), np.zeros(n, bool)
    reasons: Counter[str] = Counter()
    rationales: dict[str, str] = {}
    others = verdictless = 0
    for row in run.rows():
        at = place.get(row.id)
        if at is None:
            others += 1
            continue
        given[at] = True
        found = row.score(metric)
        if found is None or found.value is None or found.verdict is Verdict.UNDECIDED:
            reasons[_reason(found, row.bad)] += 1
            continue
        score[at], passes[at] = found.value, found.verdict is Verdict.PASS
        verdictless += found.verdict is None
        ratings[at] = _rating(found)
        asked[at] = tuple(
            part.key
            for part in found.parts
            if part.key and part.status is not Status.NOT_APPLICABLE
        )
        rationales[row.id] = _rationale(found)
    if not given.any():
        raise DataError(
            "E0315",
            f"No labelled row is in the run {run.id}.",
            where=f"--judge {name}",
            why=f"the run's {others} rows have other ids",
            fix="benchmark the run on labels of the rows it was made from",
        )
    if left := int(n - given.sum()):
        reasons["not in the run"] += left
    warnings = (
        [f"{others} rows of {name} are not among the labelled ones and are left out"]
        if others
        else []
    )
    common = dict(reasons.most_common(_MOST_REASONS))
    if rest := sum(reasons.values()) - sum(common.values()):
        common["other reasons"] = rest
    judged = np.isfinite(score)
    return Verdicts(
        judge=name,
        score=score,
        passes=None if verdictless else passes,
        ratings=ratings if judged.any() and np.isfinite(ratings[judged]).all() else None,
        missing=common,
        rationales=rationales,
        fingerprints=manifest.judge.fingerprints,
        warnings=tuple(warnings),
        confidence=_confidence(run, asked, n),
    )


def _profile(labelled: Labelled, run: Run) -> Profile:
    """What the labelled rows of a run are like; a later run is held against it."""
    from ragassay.scoring import shift

    wanted = set(labelled.ids)
    return shift.profile(
        shift.features(row.sample)
        for row in run.rows()
        if row.sample is not None and row.id in wanted
    )


def _reason(score: Score | None, bad: BadRow | None) -> str:
    if bad is not None:
        return f"the row cannot be read ({bad.code})"
    if score is None:
        return "no score"
    if score.status is Status.JUDGED:
        return "undecided: too little of it was judged"
    # Without what the judge wrote, which differs from row to row: equal causes are to add up.
    why = re.split("[\"'“‘{\\[]", score.reason, maxsplit=1)[0].rstrip(" :,(")
    words = score.status.value.replace("_", " ")
    return f"{words}: {shorten(why, _REASON)}" if why else words


def _rating(score: Score) -> float:
    """The rating on the rubric's own scale, where the score is made of just one."""
    rated = [part.rating for part in score.parts]
    if len(rated) == 1 and isinstance(rated[0], int | float) and not isinstance(rated[0], bool):
        return float(rated[0])
    return float("nan")


def _confidence(run: Run, asked: Mapping[int, Sequence[str]], n: int) -> Any:
    """How sure a cascade would take the judge to be of each of n rows: as of its least sure
    verdict, 0 where one is lost, 1 where a rule decided the row and nobody was asked. asked: row ->
    keys. None for metrics that ask no judge.
    """
    import numpy as np

    from ragassay.judges.composed.cascade import confidence
    from ragassay.runs.options import restore
    from ragassay.runs.plan import rubric_registry

    keys = {key for each in asked.values() for key in each}
    if not keys:
        return None
    try:
        registry = rubric_registry(restore(run.manifest, {}).rubrics)
    except SetupError:  # of an earlier run, whose rubric files are gone
        return None
    known = run.judgments(keys)
    by_key = dict.fromkeys(keys, 0.0)
    for key, judgment in known.items():
        scale = registry.get(judgment.rubric.partition("@")[0]).scale
        if scale is not None:
            by_key[key] = confidence(judgment, scale) or 0.0
    sure = np.full(n, np.nan)
    for at, each in asked.items():
        sure[at] = min((by_key[key] for key in each), default=1.0)
    return sure


def _rationale(score: Score) -> str:
    worst = min(
        (part for part in score.parts if part.value is not None),
        key=lambda part: part.value or 0.0,
        default=None,
    )
    if worst is not None and worst.rationale:
        return (
            worst.rationale
            if len(score.parts) == 1
            else f"{score.rationale}; lowest: {worst.rationale}"
        )
    return score.rationale


def _is_file(name: str) -> bool:
    path, mark, _ = name.removeprefix(_RECORDED).rpartition("#")
    return bool(mark) and Path(path).is_file()


def _from_file(labelled: Labelled, name: str) -> Verdicts:
    """The values of a column of another file, matched by id."""
    import numpy as np

    from ragassay.datasets import open_records, walk_path
    from ragassay.trust.comparison import Verdicts
    from ragassay.trust.label_table import absent, number_of

    path, _, column = name.removeprefix(_RECORDED).rpartition("#")
    place = {row_id: i for i, row_id in enumerate(labelled.ids)}
    score, given = np.full(len(labelled), np.nan), np.zeros(len(labelled), bool)
    others = unreadable = rows = 0
    columns: dict[str, None] = {}
    records = open_records(path)
    for line, row_id, row in records:
        rows += 1
        columns.update(dict.fromkeys(list(row)[:1000]))
        at = place.get(row_id)
        if at is None:
            others += 1
            continue
        judges = row.get("judges")
        held = walk_path(judges, column) if isinstance(judges, dict) else None
        written = walk_path(row, column) if held is None else held
        value = None if absent(written) else number_of(written)
        unreadable += value is None and not absent(written)
        if given[at] and value is not None and score[at] != value:
            raise DataError(
                "E0306",
                f"The row {shorten(row_id, 40)!r} has two verdicts in {Path(path).name}.",
                where=records.where(line),
                fix="keep one verdict a row",
            )
        given[at] = True
        score[at] = np.nan if value is None else value
    if not given.any():
        raise DataError(
            "E0315",
            f"No id of {Path(path).name} is among the labelled rows.",
            where=f"--judge {name}",
            why=(
                f"{rows} rows there, {len(labelled)} labelled ones; the first label is of"
                f" {shorten(labelled.ids[0], 40)!r}"
            ),
            fix="give both files the same ids",
        )
    if not np.isfinite(score).any():
        raise SetupError(
            "E0205",
            f"{Path(path).name} holds no verdicts in"
            f" {shorten(column, 40)!r}.{nearest(column, columns)}",
            where=f"--judge {name}",
            why="columns: " + ", ".join(shorten(c, 40) for c in list(columns)[:20]),
            fix="name the column with the verdicts: recorded:FILE#COLUMN",
        )
    missing = (
        {f"no row of this id in {Path(path).name}": int((~given).sum())} if not given.all() else {}
    )
    warnings = (
        [f"{others} rows of {Path(path).name} are not among the labelled ones"] if others else []
    )
    if unreadable:
        warnings.append(
            f"{unreadable} values of {column} in {Path(path).name} are no verdicts and are left out"
        )
    return Verdicts(
        f"{_RECORDED}{Path(path).name}#{column}", score, missing=missing, warnings=tuple(warnings)
    )


def _told(
    found: JudgeBenchmark,
    labels: object,
    mapping: Mapping[str, str] | None,
    format: str | None,
    rationales: Mapping[str, Mapping[str, str]],
) -> JudgeBenchmark:
    """The texts of the rows with the most expensive disagreements, in a second pass over the
    source.
    """
    from ragassay.datasets import open_records
    from ragassay.trust.comparison import with_texts

    wanted = {one.id for judge in found.judges for one in judge.disagreements}
    if not wanted:
        return found
    rows: dict[str, Mapping[str, object]] = {}
    for _, row_id, row in open_records(labels, mapping=mapping, format=format):
        if row_id in wanted:
            rows[row_id] = row
            if len(rows) == len(wanted):
                break
    return with_texts(found, rows, rationales)


def certificates(
    which: str | None = None,
    *,
    judge: str | None = None,
    metric: str | None = None,
    output: str | os.PathLike[str] | None = None,
    take: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
) -> tuple[Certificate, ...]:
    """The certificates that are known: of the package, and of the benchmarks in the store, newest
    first.

    which: id of one, or the first 4 or more of its digits. judge, metric: only those of a judge's
    URI, of a metric. output: write them to a file that `take` reads back, into another store for
    example. Raises SetupError E0205 for an id that none or several have, DataError E0317 for a file
    or store whose certificates are not as they were issued.
    """
    from ragassay.api import open_store
    from ragassay.runs.trust import known_certificates
    from ragassay.store.certificate_file import dumps, loads

    kept = open_store(store)
    try:
        if take is not None:
            try:
                read = loads(Path(take).read_bytes(), str(take))
            except OSError as error:
                raise DataError(
                    "E0102",
                    "The file of certificates cannot be read.",
                    where=str(take),
                    why=error.strerror or "",
                    fix="name a file that --output wrote",
                ) from None
            for one in read:
                kept.put_certificate(one)
        found = known_certificates(kept)
    finally:
        kept.close()
    names = tuple(dict.fromkeys(one.metric for one in found))
    if metric is not None and metric not in names:
        whole = [name for name in names if name.partition("(")[0] == metric]
        names = tuple(whole)
    elif metric is not None:
        names = (metric,)
    found = tuple(
        one for one in found if (judge is None or one.judge == judge) and one.metric in names
    )
    if which is not None:
        found = tuple(
            one for one in found if len(which) >= _ID and one.id.startswith(which.lower())
        )
        if len(found) != 1:
            raise SetupError(
                "E0205",
                f"{'No' if not found else 'More than one'} certificate has the id"
                f" {shorten(which, 40)!r}.",
                where="ragassay certificates",
                fix="`ragassay certificates` lists the ids",
            )
    if output is not None:
        try:
            Path(output).write_bytes(dumps(found))
        except OSError as error:
            raise SetupError(
                "E0107",
                "The output file cannot be written.",
                where=str(output),
                why=str(error),
                fix="name a file in a folder that exists",
            ) from None
    return found


__all__ = ["Benchmarked", "benchmark", "certificates", "judges_of", "run_benchmark"]
