"""How far does a judge agree with people? What judges said is set beside the labels, row by row,
and measured.

A judge here is only its answers (`Verdicts`): whether they were recorded in the file, come from a
run in the store or were asked for a minute ago makes no difference to what is computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ragassay.core import (
    DataError,
    Disagreement,
    Figure,
    JudgeBenchmark,
    JudgeDifference,
    JudgeFigures,
    SetUp,
    SetupError,
    shorten,
)
from ragassay.scoring import agreement
from ragassay.scoring.ratings import GRADES
from ragassay.trust.label_table import FloatArray, IntArray, Labelled

BoolArray = NDArray[np.bool_]

TASKS: Mapping[str, str] = {
    "groundedness": "groundedness",
    "faithfulness": "faithfulness",
    "context_relevance": "context_relevance",
    "answer_relevance": "answer_relevance",
    "answer_correctness": "correctness",
    "correctness": "correctness",
    "answerability": "context_sufficiency(against=question)",
}
"""What a row's `task` asks -> the metric whose judge answers it."""

COMPARED = ("kappa", "balanced_accuracy", "precision", "recall")
COMPARED_GRADED = ("kappa_quadratic", "graded_kappa")
"""The figures that two judges are compared by; with many judges only kappa, for pairs grow as their
square.
"""

MANY_JUDGES = 6
FEW_CLUSTERS = 10
_TEXT = 600
_MANY_MISSING = 0.1
_SLIPS = 0.01


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one judge said of the n rows of a `Labelled`, in their order.

    score: n values, NaN where it said nothing, or (n, 2) where each value is a pair. passes: the
    judge's own pass or fail; None = from the cut on. ratings: the same on the rubric's scale, where
    it has one. missing: reason -> rows without a verdict, where the reasons are known. rationales:
    id -> why. cut: of this judge, before any default.
    """

    judge: str
    score: FloatArray
    passes: BoolArray | None = None
    ratings: FloatArray | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    rationales: Mapping[str, str] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    cut: float | None = None
    confidence: FloatArray | None = None


def recorded(labelled: Labelled, name: str) -> Verdicts:
    """The answers of a judge that stand in the rows."""
    return Verdicts(f"recorded:{name}", labelled.recorded[name])


def default_cut(scale: Sequence[float]) -> float:
    """From which label on a row passes: 1 of 0 and 1 (also with 0.5 between), 2 of 0 to 3, the
    least positive one of a scale around 0. Raises SetupError E0205 for any other scale.
    """
    points = sorted(scale)
    if set(points) <= {0.0, 0.5, 1.0}:
        return 1.0
    if set(points) <= {0.0, 1.0, 2.0, 3.0}:
        return 2.0
    if points[0] < 0 < points[-1]:
        return min(point for point in points if point > 0)
    shown = ", ".join(f"{point:g}" for point in points[:12]) + (" ..." if len(points) > 12 else "")
    raise SetupError(
        "E0205",
        "It is not said from which label on a row passes.",
        where="--cut",
        why=f"the labels are {shown}",
        fix=f"say it, such as --cut {points[len(points) // 2]:g}",
    )


def compare(
    labelled: Labelled,
    judges: Sequence[Verdicts],
    *,
    metric: str = "",
    cut: float | None = None,
    judge_cut: float | None = None,
    fp_cost: float = 1.0,
    fn_cost: float = 1.0,
    worst: int = 20,
    draws: int = 2000,
    seed: int = 0,
    created: str = "",
) -> JudgeBenchmark:
    """Measure judges against the labels, each over its own rows, and their differences over the
    rows that all judged.

    cut: a label of at least this passes (None: `default_cut`); judge_cut: a score of at least this
    does (None: the judge's own verdict; `cut` where judge and people use one scale; 1 for scores 0
    and 1; 0.5 for scores between). A pair of values is the winner in both orders where labels are 1
    and 2, and the scores of two responses where the label says how much better the second is.
    fp_cost, fn_cost: what passing a bad row and failing a good one costs.

    Raises SetupError E0205 where no cut is given and none can be told, DataError E0313 where that
    is for a few labels that lie off the scale of all others (lines named).
    """
    cut = label_cut(labelled) if cut is None else cut
    aligned = [align(labelled, judge, cut, judge_cut) for judge in judges]
    graded = any(one.ratings.grades is not None for one in aligned)
    shared_cuts = {one.cut for one in aligned}
    set_up = SetUp(
        label=labelled.label_field,
        scale=labelled.scale,
        cut=cut,
        metric=metric,
        judge_cut=shared_cuts.pop() if len(shared_cuts) == 1 else judge_cut,
        graded=graded,
        cluster=labelled.cluster_field,
        slice=labelled.slice_field,
        where=labelled.where,
        draws=draws,
        seed=seed,
    )
    costs = (fp_cost, fn_cost)
    figures = tuple(_measure(labelled, one, costs, worst, draws, seed) for one in aligned)
    differences, notes = _differences(aligned, draws, seed)
    warnings = [*labelled.notes, *_about_labels(labelled, cut), *notes]
    return JudgeBenchmark(
        source=labelled.source,
        source_hash=labelled.source_hash,
        set_up=set_up,
        rows=labelled.rows,
        labelled=len(labelled),
        judges=figures,
        differences=differences,
        warnings=tuple(warnings),
        created=created,
    )


def label_cut(labelled: Labelled) -> float:
    """From which label on people pass: the usual cut of the scale; labels that are rare and alone
    keep the others from a usual scale are taken for slips.
    """
    try:
        return default_cut(labelled.scale)
    except SetupError:
        values, counts = np.unique(labelled.label, return_counts=True)
        rare = values[counts <= max(1.0, _SLIPS * len(labelled))]
        rest = sorted(set(values.tolist()) - set(rare.tolist()))
        if not len(rare) or len(rest) < 2:
            raise
        default_cut(rest)
        lines = labelled.lines[np.isin(labelled.label, rare)].tolist()
        raise DataError(
            "E0313",
            f"{len(lines)} of {len(labelled)} labels are not on the scale of the others.",
            where="line " + ", ".join(map(str, lines[:5])) + (" ..." if len(lines) > 5 else ""),
            why=(
                f"{', '.join(f'{x:g}' for x in rare[:5])}, where the others are"
                f" {', '.join(f'{x:g}' for x in rest)}"
            ),
            fix="correct them, or say from which label on a row passes: --cut",
        ) from None


def with_texts(
    benchmark: JudgeBenchmark,
    rows: Mapping[str, Mapping[str, object]],
    rationales: Mapping[str, Mapping[str, str]] | None = None,
) -> JudgeBenchmark:
    """The benchmark with question, response and both rationales in its disagreements.

    rows: id -> the row as it is written. rationales: judge -> id -> why, for judges that were run;
    a recorded judge's stand in the row, under `judge_text`, `judge_rationales` or NAME_rationale.
    """
    judges = []
    for judge in benchmark.judges:
        known = (rationales or {}).get(judge.judge, {})
        name = judge.judge.removeprefix("recorded:")
        told = [
            (
                replace(
                    one,
                    question=_text(row.get("question")),
                    response=_text(row.get("response")),
                    human_rationale=_human(row),
                    judge_rationale=_text(known.get(one.id)) or _recorded_why(row, name),
                )
                if (row := rows.get(one.id)) is not None
                else one
            )
            for one in judge.disagreements
        ]
        judges.append(replace(judge, disagreements=tuple(told)))
    return replace(benchmark, judges=tuple(judges))


@dataclass(frozen=True, slots=True)
class Aligned:
    """One judge ready to be measured: `at` are the rows (indices into the labelled ones) of its
    ratings.
    """

    verdicts: Verdicts
    ratings: agreement.Ratings
    at: IntArray
    cut: float | None
    missing: Mapping[str, int]
    position: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()


def align(labelled: Labelled, judge: Verdicts, cut: float, judge_cut: float | None) -> Aligned:
    """One judge's verdicts beside the labels, over the rows that it judged; cut, judge_cut: as for
    `compare`.
    """
    pair = judge.score.ndim == 2
    if pair and set(labelled.scale) <= {1.0, 2.0}:
        return _orders(labelled, judge, cut)
    score, passes, warnings = judge.score, judge.passes, list(judge.warnings)
    if judge.ratings is not None and _one_scale(labelled.label, judge.ratings):
        score = judge.ratings
    own = judge_cut if judge_cut is not None else judge.cut
    if pair:
        both = np.where(np.isfinite(judge.score), judge.score, np.nan)
        score = both[:, 1] - both[:, 0]
        if not any(point < 0 for point in labelled.scale):
            raise SetupError(
                "E0205",
                f"What the pairs of {judge.judge} mean is not clear.",
                where=f"--label {labelled.label_field}",
                why=(
                    "labels of pairs are 1 and 2 (which one is better), or run from below 0 to"
                    " above it"
                ),
                fix="name a label of that kind",
            )
        if own is None:
            passes = score > 0
    at = np.flatnonzero(np.isfinite(score))
    said, label = score[at], labelled.label[at]
    graded = (
        _one_scale(label, said)
        and len(np.unique(label)) > 2
        and len(_points(label, said)) <= GRADES
    )
    if judge_cut is not None:
        passes = None
    if passes is None and own is None:
        own = _judge_cut(judge.judge, said, cut, graded, warnings)
    passed = said >= (own or 0.0) if passes is None else passes[at]
    missing = dict(judge.missing)
    if (left := len(labelled) - len(at) - sum(missing.values())) > 0:
        missing["no verdict recorded"] = missing.get("no verdict recorded", 0) + left
    ratings = _ratings(labelled, at, label, said, passed, cut, graded)
    return Aligned(
        judge, ratings, at, own if passes is None else None, missing, (), tuple(warnings)
    )


def _one_scale(label: FloatArray, score: FloatArray) -> bool:
    """Whether two sets of numbers are grades of one scale: on the labels' steps, and hardly beyond
    their ends.
    """
    said = np.unique(score[np.isfinite(score)])
    points = np.unique(label)
    if (
        len(points) < 3
        or not len(said)
        or set(said) <= {0.0, 1.0} < set(points.tolist()) | {0.0, 1.0}
    ):
        return False
    step = float(np.diff(points).min())
    places = (np.concatenate([said, points]) - points[0]) / step
    span = points[-1] - points[0]
    near = max(said[-1], points[-1]) - min(said[0], points[0]) <= span + step
    return bool(near and np.allclose(places, np.round(places), atol=1e-9))


def _judge_cut(name: str, said: FloatArray, cut: float, graded: bool, warnings: list[str]) -> float:
    values = np.unique(said)
    if graded or not len(values):
        return cut
    if set(values) <= {0.0, 1.0}:
        return 1.0
    if values[0] >= 0 and values[-1] <= 1:
        warnings.append(
            f"the scores of {name} lie between 0 and 1: it passes from 0.5 on, or say --judge-cut"
        )
        return 0.5
    raise SetupError(
        "E0205",
        f"It is not said from which score on {name} passes.",
        where="--judge-cut",
        why=f"its scores run from {values[0]:g} to {values[-1]:g}, not on the scale of the labels",
        fix=f"say it, such as --judge-cut {values[len(values) // 2]:g}",
    )


def _ratings(
    labelled: Labelled,
    at: IntArray,
    label: FloatArray,
    score: FloatArray,
    passes: BoolArray,
    cut: float,
    graded: bool,
) -> agreement.Ratings:
    unit = (
        score
        if len(score) and score.min() >= 0 and score.max() <= 1 and not set(score) <= {0.0, 1.0}
        else None
    )
    grades: tuple[IntArray, IntArray] | None = None
    points: tuple[float, ...] = ()
    if graded:
        points = _points(label, score)
        grades = (np.searchsorted(points, label - 1e-9), np.searchsorted(points, score - 1e-9))
    names: tuple[str, ...] = ()
    codes = None
    if labelled.slice is not None and len(at):
        present, codes = np.unique(labelled.slice[at], return_inverse=True)
        names = tuple(labelled.slice_names[i] for i in present)
        codes = codes.reshape(-1) if len(names) > 1 else None
        names = names if codes is not None else ()
    return agreement.Ratings(
        label=label,
        score=score,
        passes=passes,
        truth=label >= cut,
        unit=unit,
        grades=grades,
        points=points,
        cluster=np.unique(labelled.cluster[at], return_inverse=True)[1].reshape(-1),
        slice=codes,
        slice_names=names,
    )


def _points(label: FloatArray, score: FloatArray) -> tuple[float, ...]:
    """The grades that occur, with whole ones filled in where all are whole: a grade that nobody
    gave is still a step.
    """
    found = np.unique(np.concatenate([label, score]))
    if np.all(found == np.round(found)) and found[-1] - found[0] < GRADES:
        found = np.arange(found[0], found[-1] + 1)
    return tuple(float(point) for point in found)


def _orders(labelled: Labelled, judge: Verdicts, cut: float) -> Aligned:
    """Pairs judged in both orders: each order is a rating of its own, in the row's cluster."""
    seen = np.flatnonzero(~np.isnan(judge.score).any(1))
    said, label = judge.score[seen], labelled.label[seen]
    right = said == label[:, None]
    same = (said[:, 0] == said[:, 1]) & np.isfinite(said[:, 0])
    cluster = labelled.cluster[seen]
    position = tuple(
        _share(name, values, cluster)
        for name, values in (
            ("accuracy", right.mean(1)),
            ("accuracy_order1", right[:, 0] * 1.0),
            ("accuracy_order2", right[:, 1] * 1.0),
            ("consistent", same * 1.0),
        )
    )
    missing = dict(judge.missing)
    if len(labelled) > len(seen) + sum(missing.values()):
        missing["no verdict recorded"] = len(labelled) - len(seen) - sum(missing.values())
    warnings = list(judge.warnings)
    if lost := int(np.isinf(said).sum()):
        warnings.append(
            f"{lost} of {said.size} comparisons of {judge.judge} name no winner: by order they"
            " count as not right, in the pooled figures they are left out"
        )
    first = np.isfinite(said[:, 0])
    second = np.isfinite(said[:, 1])
    at = np.concatenate([seen[first], seen[second]])
    score = np.concatenate([said[first, 0], said[second, 1]])
    ratings = _ratings(labelled, at, labelled.label[at], score, score >= cut, cut, False)
    return Aligned(judge, ratings, at, cut, missing, position, tuple(warnings))


def _share(name: str, values: FloatArray, cluster: IntArray) -> Figure:
    """The mean of values in [0, 1], with an interval that respects clusters."""
    from ragassay.scoring import MeanAccumulator

    total = MeanAccumulator(0.0, 1.0)
    for value, code in zip(values.tolist(), cluster.tolist(), strict=True):
        total.add(value, str(code))
    result = total.result()
    few = f"only {result.clusters} clusters" if result.clusters < FEW_CLUSTERS else ""
    return Figure(
        name, result.mean, result.interval, result.n, few if result.n else "no pair was judged"
    )


def _measure(
    labelled: Labelled, one: Aligned, costs: tuple[float, float], worst: int, draws: int, seed: int
) -> JudgeFigures:
    r, judge = one.ratings, one.verdicts
    rows = len(np.unique(one.at))
    clusters = len(np.unique(labelled.cluster[one.at]))
    warnings = [*one.warnings, *_about_judge(labelled, one, rows, clusters)]
    if not len(r):
        absent = tuple(
            Figure(name, None, None, 0, "no row was judged")
            for name in ("kappa", "precision", "recall")
        )
        return JudgeFigures(
            judge.judge,
            0,
            0,
            one.missing,
            absent,
            fingerprints=judge.fingerprints,
            judge_cut=one.cut,
            warnings=tuple(warnings),
        )
    measured = agreement.figures(r, draws=draws, seed=seed)
    rows_of, columns_of, table = _confusion(r)
    return JudgeFigures(
        judge=judge.judge,
        n=rows,
        clusters=clusters,
        missing=one.missing,
        pooled=measured.pooled,
        macro=measured.macro,
        slices=measured.slices,
        confusion_labels=rows_of,
        confusion_scores=columns_of,
        confusion=table,
        cut_curve=agreement.cut_curve(r),
        reliability=agreement.reliability(r) if r.unit is not None else (),
        disagreements=_disagreements(labelled, one, costs, worst),
        position=one.position,
        fingerprints=judge.fingerprints,
        judge_cut=one.cut,
        warnings=tuple(warnings),
    )


def _confusion(
    r: agreement.Ratings,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Labels by rows; by columns the judge's grades where it uses the labels' scale, else fail and
    pass.
    """
    if r.grades is not None:
        names = tuple(f"{point:g}" for point in r.points)
        rows, columns, across = r.grades[0], r.grades[1], len(names)
        label_names = score_names = names
    else:
        values, rows = np.unique(r.label, return_inverse=True)
        label_names, score_names = tuple(f"{value:g}" for value in values), ("fail", "pass")
        rows, columns, across = rows.reshape(-1), r.passes.astype(np.int64), 2
    counts = np.bincount(rows * across + columns, minlength=len(label_names) * across)
    table = counts.reshape(len(label_names), across)
    return label_names, score_names, tuple(tuple(int(x) for x in line) for line in table)


def _disagreements(
    labelled: Labelled, one: Aligned, costs: tuple[float, float], worst: int
) -> tuple[Disagreement, ...]:
    r = one.ratings
    wrong = np.flatnonzero(r.passes != r.truth)
    low, high = min(labelled.scale), max(labelled.scale)
    spread = high - low or 1.0
    people = (r.label[wrong] - low) / spread
    if r.grades is not None or not len(r):
        judge = np.clip((r.score[wrong] - low) / spread, 0, 1)
    else:
        bottom, top = float(min(r.score.min(), 0.0)), float(max(r.score.max(), 1.0))
        judge = (r.score[wrong] - bottom) / (top - bottom)
    gap = np.abs(people - judge)
    cost = np.where(r.passes[wrong], costs[0], costs[1]) * gap
    order = np.lexsort((one.at[wrong], -cost))[: max(worst, 0)]
    found = []
    for place in order.tolist():
        i, row = int(wrong[place]), int(one.at[wrong[place]])
        part = labelled.slice_names[int(labelled.slice[row])] if labelled.slice is not None else ""
        found.append(
            Disagreement(
                labelled.ids[row], float(r.label[i]), float(r.score[i]), float(cost[place]), part
            )
        )
    return tuple(found)


def _differences(
    aligned: Sequence[Aligned], draws: int, seed: int
) -> tuple[tuple[JudgeDifference, ...], list[str]]:
    """Paired differences over the rows that all judges judged, and what to say of them."""
    names = [one.verdicts.judge for one in aligned]
    if len(aligned) < 2:
        return (), []
    if any(one.position for one in aligned):
        return (), [
            "judges of pairs are not compared with each other: their figures stand side by side"
        ]
    common = aligned[0].at
    for one in aligned[1:]:
        common = np.intersect1d(common, one.at)
    if not len(common):
        return (), ["no row was judged by all judges, so there are no differences to show"]
    notes = []
    if any(len(one.at) > len(common) for one in aligned):
        notes.append(
            f"differences are over the {len(common)} rows that all {len(aligned)} judges judged; "
            "each judge's own figures are over all of its rows"
        )
    parts = {
        name: one.ratings.rows(np.isin(one.at, common))
        for name, one in zip(names, aligned, strict=True)
    }
    graded = all(part.grades is not None for part in parts.values())
    if graded:
        points = sorted({point for part in parts.values() for point in part.points})
        parts = {name: _on(part, points) for name, part in parts.items()}
    figures = COMPARED + (COMPARED_GRADED if graded else ())
    if len(aligned) > MANY_JUDGES:
        figures = ("graded_kappa" if graded else "kappa",)
        notes.append(
            f"more than {MANY_JUDGES} judges are compared by kappa alone: p is corrected for every"
            " pair shown"
        )
    return agreement.differences(parts, names=figures, draws=draws, seed=seed), notes


def _on(r: agreement.Ratings, points: list[float]) -> agreement.Ratings:
    """The same ratings on a scale that holds the grades of all judges."""
    label, score = (np.searchsorted(points, values - 1e-9) for values in (r.label, r.score))
    return replace(r, grades=(label, score), points=tuple(points))


def _about_labels(labelled: Labelled, cut: float) -> list[str]:
    passes = int((labelled.label >= cut).sum())
    if passes in (0, len(labelled)):
        which = "passes" if passes else "fails"
        return [
            f"every labelled row {which} at the cut {cut:g}: only what one class can show is"
            " defined"
        ]
    return []


def _about_judge(labelled: Labelled, one: Aligned, rows: int, clusters: int) -> list[str]:
    found = []
    r, name = one.ratings, one.verdicts.judge
    if not rows:
        found.append(f"{name} has no verdict on any of the {len(labelled)} labelled rows")
    elif rows < (1 - _MANY_MISSING) * len(labelled):
        found.append(
            f"{name} has no verdict on {len(labelled) - rows} of {len(labelled)} labelled rows: "
            "its figures are of the others, which may be the easier ones"
        )
    if 0 < clusters < FEW_CLUSTERS:
        found.append(
            f"only {clusters} clusters: intervals of {name} are left out or rest on too few to be"
            " trusted"
        )
    if len(r) and r.passes.all() == r.passes.any():
        found.append(
            f"{name} {'passes' if r.passes[0] else 'fails'} every row: it tells nothing apart"
        )
    if len(r) and r.truth.all() == r.truth.any() and len(np.unique(labelled.label)) > 1:
        found.append(f"people {'pass' if r.truth[0] else 'fail'} every row that {name} judged")
    return found


def _text(value: object) -> str:
    return shorten(value, _TEXT) if isinstance(value, str) else ""


def _human(row: Mapping[str, object]) -> str:
    for name in ("human_rationale", "label_rationale", "explanation", "comment"):
        if found := _text(row.get(name)):
            return found
    # A row that holds judges may hold the judge's reasons under this name.
    if not row.get("judges") and (found := _text(row.get("rationale"))):
        return found
    return _text(row.get("label_raw"))


def _recorded_why(row: Mapping[str, object], name: str) -> str:
    for field_name in ("judge_text", "judge_rationales", "judge_rationale"):
        held = row.get(field_name)
        if isinstance(held, dict) and (found := _text(held.get(name))):
            return found
    return _text(row.get(f"{name}_rationale"))
