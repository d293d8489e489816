"""The comparison of judges with people: every figure, over the rows that each judge judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragassay.core import (
    Disagreement,
    Figure,
    JudgeBenchmark,
    JudgeDifference,
    JudgeFigures,
    SetUp,
    shorten,
)
from ragassay.core.counting import count
from ragassay.scoring import agreement
from ragassay.trust.alignment import FEW_CLUSTERS, Aligned, Verdicts, align, label_cut
from ragassay.trust.label_table import FloatArray, LabelTable

PAIRWISE = "pair_preference"
"""The metric, and the rubric, by which a judge says which of two responses is better."""
TASKS: Mapping[str, str] = {
    "groundedness": "groundedness",
    "faithfulness": "faithfulness",
    "context_relevance": "context_relevance",
    "answer_relevance": "answer_relevance",
    "answer_correctness": "correctness",
    "correctness": "correctness",
    "answerability": "context_sufficiency(against=question)",
    "pairwise": PAIRWISE,
}
"""What a row's `task` asks -> the metric whose judge answers it."""

COMPARED = ("kappa", "balanced_accuracy", "precision", "recall")
COMPARED_GRADED = ("kappa_quadratic", "graded_kappa")
"""The figures that two judges are compared by; with many judges only kappa, for pairs grow as their
square.
"""

MANY_JUDGES = 6
_TEXT_LENGTH = 600  # a report shows a screen of disagreements, not documents
_MANY_MISSING = 0.1


def compare(
    table: LabelTable,
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
    cut = label_cut(table) if cut is None else cut
    aligned = [align(table, verdicts, cut, judge_cut) for verdicts in judges]
    judge_cuts = {judge.cut for judge in aligned}
    # The set-up has room for one: where judges differ, only a cut given for all can stand there.
    common_cut = judge_cuts.pop() if len(judge_cuts) == 1 else judge_cut
    set_up = SetUp(
        label=table.label_field,
        scale=table.scale,
        cut=cut,
        metric=metric,
        judge_cut=common_cut,
        graded=any(judge.ratings.grades is not None for judge in aligned),
        cluster=table.cluster_field,
        slice=table.slice_field,
        where=table.where,
        draws=draws,
        seed=seed,
    )
    figures = []
    for judge in aligned:
        disagreements = _disagreements(table, judge, (fp_cost, fn_cost), worst)
        figures.append(_figures(table, judge, disagreements, draws, seed))
    differences, notes = _differences(aligned, draws, seed)
    return JudgeBenchmark(
        source=table.source,
        source_hash=table.source_hash,
        set_up=set_up,
        rows=table.rows,
        labelled=len(table),
        judges=tuple(figures),
        differences=differences,
        warnings=(*table.notes, *_label_warnings(table, cut), *notes),
        created=created,
    )


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
        rationale_of_row = (rationales or {}).get(judge.judge, {})
        recorded_name = judge.judge.removeprefix("recorded:")
        disagreements = []
        for disagreement in judge.disagreements:
            row = rows.get(disagreement.id)
            if row is not None:
                rationale = _text(rationale_of_row.get(disagreement.id))
                rationale = rationale or _recorded_rationale(row, recorded_name)
                disagreement = _with_texts_of(disagreement, row, rationale)
            disagreements.append(disagreement)
        judges.append(replace(judge, disagreements=tuple(disagreements)))
    return replace(benchmark, judges=tuple(judges))


def _with_texts_of(
    disagreement: Disagreement, row: Mapping[str, object], rationale: str
) -> Disagreement:
    return replace(
        disagreement,
        question=_text(row.get("question")),
        response=_text(row.get("response")),
        human_rationale=_human_rationale(row),
        judge_rationale=rationale,
    )


def _figures(
    table: LabelTable,
    judge: Aligned,
    disagreements: tuple[Disagreement, ...],
    draws: int,
    seed: int,
) -> JudgeFigures:
    """Every figure of one judge, over the rows that it judged."""
    ratings = judge.ratings
    # A pair that was judged in both orders is two ratings of one row.
    rows = len(np.unique(judge.at))
    clusters = len(np.unique(table.cluster[judge.at]))
    warnings = (
        *judge.warnings,
        *_judge_warnings(table, judge, rows, clusters),
        *_size_warnings(judge),
    )
    if not len(ratings):
        return _no_figures(judge, warnings)
    measured = agreement.figures(ratings, draws=draws, seed=seed)
    confusion_labels, confusion_scores, confusion = _confusion(ratings)
    return JudgeFigures(
        judge=judge.verdicts.judge,
        n=rows,
        clusters=clusters,
        missing=judge.missing,
        pooled=measured.pooled,
        macro=measured.macro,
        slices=measured.slices,
        confusion_labels=confusion_labels,
        confusion_scores=confusion_scores,
        confusion=confusion,
        cut_curve=agreement.cut_curve(ratings),
        reliability=agreement.reliability(ratings) if ratings.unit is not None else (),
        disagreements=disagreements,
        position=judge.position,
        fingerprints=judge.verdicts.fingerprints,
        judge_cut=judge.cut,
        warnings=warnings,
        worth=None if ratings.weight is None else ratings.worth,
    )


def _no_figures(judge: Aligned, warnings: tuple[str, ...]) -> JudgeFigures:
    """What is said of a judge that judged no row."""
    names = ("kappa", "precision", "recall")
    return JudgeFigures(
        judge.verdicts.judge,
        0,
        0,
        judge.missing,
        tuple(Figure(name, None, None, 0, "no row was judged") for name in names),
        fingerprints=judge.verdicts.fingerprints,
        judge_cut=judge.cut,
        warnings=warnings,
    )


def _confusion(
    ratings: agreement.Ratings,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """The names of the rows, the names of the columns, and the counts.

    Rows are labels; columns are the judge's grades where it uses the labels' scale, else fail and
    pass.
    """
    label_names: tuple[str, ...]
    score_names: tuple[str, ...]
    if ratings.grades is not None:
        label_names = tuple(f"{point:g}" for point in ratings.points)
        score_names = label_names
        rows, columns = ratings.grades
    else:
        values, codes = np.unique(ratings.label, return_inverse=True)
        label_names = tuple(f"{value:g}" for value in values)
        score_names = ("fail", "pass")
        rows = codes.reshape(-1)
        columns = ratings.passes.astype(np.int64)
    width = len(score_names)
    # Each cell of the table is one number, so that a single pass counts all of them.
    counts = np.bincount(rows * width + columns, minlength=len(label_names) * width)
    table = counts.reshape(len(label_names), width)
    return label_names, score_names, tuple(tuple(line) for line in table.tolist())


def _disagreements(
    table: LabelTable, judge: Aligned, costs: tuple[float, float], worst: int
) -> tuple[Disagreement, ...]:
    """The `worst` rows on which judge and people differ, the most expensive first.

    costs: of a wrong pass and of a wrong fail.
    """
    ratings = judge.ratings
    wrong = np.flatnonzero(ratings.passes != ratings.truth)
    gap = np.abs(_people_in_unit(table, ratings)[wrong] - _judge_in_unit(table, ratings)[wrong])
    cost = np.where(ratings.passes[wrong], costs[0], costs[1]) * gap
    # Rows of equal cost keep the order of the source: the same source gives the same list.
    order = np.lexsort((judge.at[wrong], -cost))[: max(worst, 0)]
    disagreements = []
    for place in order.tolist():
        rating = int(wrong[place])
        row = int(judge.at[rating])
        slice_name = ""
        if table.slice is not None:
            slice_name = table.slice_names[int(table.slice[row])]
        disagreements.append(
            Disagreement(
                table.ids[row],
                float(ratings.label[rating]),
                float(ratings.score[rating]),
                float(cost[place]),
                slice_name,
            )
        )
    return tuple(disagreements)


def _people_in_unit(table: LabelTable, ratings: agreement.Ratings) -> FloatArray:
    """The labels from 0 to 1, over the labels' scale."""
    low, high = min(table.scale), max(table.scale)
    # Labels that are all alike have no width to divide by.
    unit: FloatArray = (ratings.label - low) / (high - low or 1.0)
    return unit


def _judge_in_unit(table: LabelTable, ratings: agreement.Ratings) -> FloatArray:
    """The judge's scores from 0 to 1: over the labels' scale where it uses that, else its own."""
    unit: FloatArray
    if ratings.grades is not None or not len(ratings):
        low, high = min(table.scale), max(table.scale)
        unit = np.clip((ratings.score - low) / (high - low or 1.0), 0, 1)
        return unit
    # A judge's own scale is not known beyond the scores that it gave: at least it is 0 to 1.
    bottom = float(min(ratings.score.min(), 0.0))
    top = float(max(ratings.score.max(), 1.0))
    unit = (ratings.score - bottom) / (top - bottom)
    return unit


def _differences(
    aligned: Sequence[Aligned], draws: int, seed: int
) -> tuple[tuple[JudgeDifference, ...], list[str]]:
    """Paired differences over the rows that all judges judged, and notes on them."""
    if len(aligned) < 2:
        return (), []
    if any(judge.position for judge in aligned):
        return (), [
            "judges of pairs are not compared with each other: their figures stand side by side"
        ]
    # A paired difference needs every judge on a row: fewer rows than the figures are over.
    common = aligned[0].at
    for judge in aligned[1:]:
        common = np.intersect1d(common, judge.at)
    if not len(common):
        return (), ["no row was judged by all judges, so there are no differences to show"]
    notes = []
    if any(len(judge.at) > len(common) for judge in aligned):
        notes.append(
            f"differences are over the {len(common)} rows that all {len(aligned)} judges judged; "
            "each judge's own figures are over all of its rows"
        )
    shared = {
        judge.verdicts.judge: judge.ratings.rows(np.isin(judge.at, common)) for judge in aligned
    }
    graded = all(ratings.grades is not None for ratings in shared.values())
    # Each judge's grades are places on its own list of grades, and lists may differ.
    if graded:
        shared = _on_one_scale(shared)
    figures = COMPARED + (COMPARED_GRADED if graded else ())
    if len(aligned) > MANY_JUDGES:
        figures = ("graded_kappa" if graded else "kappa",)
        notes.append(
            f"more than {MANY_JUDGES} judges are compared by kappa alone: p is corrected for every"
            " pair shown"
        )
    return agreement.differences(shared, names=figures, draws=draws, seed=seed), notes


def _on_one_scale(by_judge: Mapping[str, agreement.Ratings]) -> dict[str, agreement.Ratings]:
    """The same ratings on a scale that holds the grades of all judges."""
    grades: set[float] = set()
    for ratings in by_judge.values():
        grades.update(ratings.points)
    points = sorted(grades)
    rescaled = {}
    for judge, ratings in by_judge.items():
        # A grade that a rounding error moved up still meets its own point.
        label = np.searchsorted(points, ratings.label - 1e-9)
        score = np.searchsorted(points, ratings.score - 1e-9)
        rescaled[judge] = replace(ratings, grades=(label, score), points=tuple(points))
    return rescaled


def _label_warnings(table: LabelTable, cut: float) -> list[str]:
    passes = int((table.label >= cut).sum())
    if passes not in (0, len(table)):
        return []
    which = "passes" if passes else "fails"
    return [
        f"every labelled row {which} at the cut {cut:g}: only what one class can show is defined"
    ]


def _size_warnings(judge: Aligned) -> list[str]:
    """Whether errors go with the size of the cluster, for which the intervals are not made."""
    from ragassay.scoring.cluster_sizes import error_by_cluster_size

    ratings = judge.ratings
    wrong = ratings.passes != ratings.truth
    group = error_by_cluster_size(wrong, ratings.cluster, ratings.weight)
    if group is None:
        return []
    return [
        f"{judge.verdicts.judge} errs on {group.error:.0%} of the {group.name}, and on"
        f" {group.other_error:.0%} of the others (p {group.p:.2g}): large clusters weigh more in"
        " every figure, whose interval may be too narrow; compare one row a cluster"
    ]


def _judge_warnings(table: LabelTable, judge: Aligned, rows: int, clusters: int) -> list[str]:
    warnings = []
    ratings = judge.ratings
    name = judge.verdicts.judge
    # Labels whose chance is not known are left out beside others: no verdict is missing there.
    labelled = len(table) if table.weight is None else int(np.isfinite(table.weight).sum())
    if not rows:
        warnings.append(f"{name} has no verdict on any of the {labelled} labelled rows")
    elif rows < (1 - _MANY_MISSING) * labelled:
        warnings.append(
            f"{name} has no verdict on {labelled - rows} of {labelled} labelled rows: "
            "its figures are of the others, which may be the easier ones"
        )
    if 0 < clusters < FEW_CLUSTERS:
        warnings.append(
            f"only {count(clusters, 'cluster')}: intervals of {name} are left out or rest on too"
            " few to be trusted"
        )
    if not len(ratings):
        return warnings
    # All and any differ as soon as there are both passes and fails.
    if ratings.passes.all() == ratings.passes.any():
        verb = "passes" if ratings.passes[0] else "fails"
        warnings.append(f"{name} {verb} every row: it tells nothing apart")
    if ratings.truth.all() == ratings.truth.any() and len(np.unique(table.label)) > 1:
        verb = "pass" if ratings.truth[0] else "fail"
        warnings.append(f"people {verb} every row that {name} judged")
    return warnings


def _text(value: object) -> str:
    return shorten(value, _TEXT_LENGTH) if isinstance(value, str) else ""


def _human_rationale(row: Mapping[str, object]) -> str:
    """Why people labelled the row so, from the first field that says it."""
    names = ["human_rationale", "label_rationale", "explanation", "comment"]
    # A row that holds judges may hold the judge's reasons under this name.
    if not row.get("judges"):
        names.append("rationale")
    names.append("label_raw")
    for name in names:
        if text := _text(row.get(name)):
            return text
    return ""


def _recorded_rationale(row: Mapping[str, object], name: str) -> str:
    """Why a recorded judge judged the row so."""
    # Files of others have names of their own for it.
    for field_name in ("judge_text", "judge_rationales", "judge_rationale"):
        by_judge = row.get(field_name)
        text = _text(by_judge.get(name)) if isinstance(by_judge, dict) else ""
        if text:
            return text
    return _text(row.get(f"{name}_rationale"))
