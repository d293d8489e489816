"""Whether a run's judge can be trusted, in one step: from labels to a decision.

State of the labels, the judge's figures, the corrected rate, where the judge errs otherwise, what
it may be used for, and the command that comes next.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ragassay.api import open_run
from ragassay.core import CorrectedFigure, Figure, RagAssayError, RowResult
from ragassay.core.counting import count
from ragassay.runs.label_scales import scale_words_of
from ragassay.scoring.design_with_judge import plan_with_judge
from ragassay.scoring.error_groups import ErrorGroup, error_groups
from ragassay.trust.measure.run_labels import labelled_metric, labels_of_run
from ragassay.trust.measure.strength import JudgeStrength, judge_strength

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.arrays import BoolArray
    from ragassay.scoring.label_rounds import DrawnRows
    from ragassay.scoring.labellers import LabellerModel
    from ragassay.trust.alignment import Aligned

Path = str | os.PathLike[str]

SHOWN = ("precision", "recall", "specificity", "accuracy", "balanced_accuracy", "kappa")
"""The figures of the judge that a decision is made by."""
CLOSE = 0.05
"""A rate is known, and a judge right on the whole, to within so much."""
GOOD_ROW_BY_ROW = 0.8
"""The balanced accuracy that a judge surely has whose single verdicts are used."""
_MOST_SLICES = 12
_LEAST_TO_CORRECT = 50


@dataclass(frozen=True, slots=True)
class Use:
    """What the judge may be used for, or not; why, in words."""

    what: str
    usable: bool
    why: str


@dataclass(frozen=True, slots=True)
class RunTrust:
    """How far a run's judge can be trusted with one metric.

    judge: its URI. rows: of the run to which the metric applies. labels: rows with a label; people:
    who gave them; drawn: how these rows were drawn, in words. figures: of the judge, by `SHOWN`;
    corrected: the run's figure set right; groups: where the judge may err otherwise, tested, ()
    where there are too few labels. uses: the decision. more: labels that are still needed to know
    the rate to within 5 points, or of all rows that are left, 0 for none, None where not known;
    reaches: to within what they bring it. notes: what to beware of. next:
    the command that comes next. worth: where rows are weighted by their chances, how many rows of
    equal chance say as much. labellers: the errors of each person, where three or more labelled
    enough of the same rows. scale: of the labels, and from which one on a row passes, in words.
    """

    run: str
    metric: str
    judge: str
    rows: int
    labels: int
    people: int
    drawn: str
    figures: tuple[Figure, ...] = ()
    corrected: CorrectedFigure | None = None
    groups: tuple[ErrorGroup, ...] = ()
    uses: tuple[Use, ...] = ()
    more: int | None = None
    reaches: float = CLOSE
    notes: tuple[str, ...] = ()
    next: str = ""
    worth: float | None = field(default=None)
    labellers: LabellerModel | None = None
    scale: str = ""


def judge_trust(
    run: str | Run = "last",
    *,
    labels: object = None,
    metric: str | None = None,
    label: str = "label",
    draws: int = 2000,
    seed: int = 0,
    store: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunTrust:
    """How far a run's judge can be trusted, and what comes next.

    labels: a file of labels of its rows, which is imported first; None = those that were imported.
    metric: may be left out where the run has one with a pass mark. label: the file's column. Raises
    as `import_labels` and `benchmark`.
    """
    from ragassay.trust.measure.labelling import import_labels

    if labels is not None:
        taken = import_labels(run, labels, metric=metric, label=label, store=store)
        if tell is not None:
            tell(f"took in {count(len(taken.file.labels), 'label')} of {', '.join(taken.metrics)}")
    with open_run(run, store=store) as opened:
        name = labelled_metric(opened, metric, imported=True)
        if not labels_of_run(opened, name):
            return _without_labels(opened, name)
        return _with_labels(opened, name, draws, seed)


def _without_labels(run: Run, metric: str) -> RunTrust:
    rows = sum(1 for _ in _applicable(run, metric))
    return RunTrust(
        run.id,
        metric,
        run.manifest.judge.uri,
        rows,
        0,
        0,
        "no row is labelled",
        next=_sheet_command(run.id, metric, min(100, rows)),
    )


def _applicable(run: Run, metric: str) -> Iterator[RowResult]:
    from ragassay.core import Status

    for row in run:
        score = row.score(metric)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        yield row


def _sheet_command(run: str, metric: str, count: int) -> str:
    return f"ragassay label next {run} -m '{metric}' -n {count} -o sheet.csv"


def _with_labels(run: Run, metric: str, draws: int, seed: int) -> RunTrust:
    from ragassay.runs.corrected import corrected_of
    from ragassay.trust.comparison import compare
    from ragassay.trust.measure.context import measuring_context

    context = measuring_context(run, None, metric=metric, store=run.store_location)
    benchmark = compare(context.table, context.verdicts, metric=metric, draws=draws, seed=seed)
    judge = benchmark.judges[0]
    corrected = corrected_of(run.store, run.id, metric)
    rows = list(_applicable(run, metric))
    given = labels_of_run(run, metric)
    groups: tuple[ErrorGroup, ...] = ()
    if judge.n:
        groups = _groups(context.aligned()[0], context.table.ids, rows)
    figures = tuple(f for name in SHOWN if (f := judge.figure(name)) is not None)
    left = len(rows) - len(context.table)
    more, reaches = _more_labels(corrected, _strength(run, metric), context.table.drawn, left)
    return RunTrust(
        run=run.id,
        metric=metric,
        judge=run.manifest.judge.uri,
        rows=len(rows),
        labels=len(context.table),
        people=len({label.annotator for label in given}),
        drawn=_drawn_words(context.table.drawn, len(rows)),
        figures=figures,
        corrected=corrected,
        groups=groups,
        uses=_uses(judge.figure("balanced_accuracy"), corrected, groups),
        more=more,
        notes=(*benchmark.warnings, *judge.warnings),
        reaches=reaches,
        next=_next(run.id, metric, more, left, corrected),
        worth=judge.worth,
        labellers=context.labellers,
        scale=scale_words_of(given, f"labels of run {run.id}"),
    )


def _strength(run: Run, metric: str) -> JudgeStrength | None:
    """How much labelling the judge spares; None where the labels do not show it."""
    try:
        return judge_strength(run, metric=metric)
    except RagAssayError:
        return None


def _drawn_words(drawn: DrawnRows, rows: int) -> str:
    if not drawn.chance:
        return "the labels do not say how their rows were drawn: taken as drawn at random"
    if len(drawn.chance) >= rows:
        return "every row is labelled"
    if drawn.equal:
        words = "drawn with one chance for all rows"
    elif drawn.before:
        words = (
            f"{drawn.before} were labelled before the others were drawn, and stand for themselves;"
            " weighted by their chances"
        )
    else:
        words = "drawn with unequal chances, and weighted by them"
    if drawn.unknown:
        words += f"; {drawn.unknown} without a chance are left out beside them"
    if drawn.waiting:
        words += f"; {drawn.waiting} that were drawn have no label"
    return words


def _groups(
    judge: Aligned, ids: Sequence[str], rows: Sequence[RowResult]
) -> tuple[ErrorGroup, ...]:
    """Where the judge errs otherwise, of what is known of the labelled rows."""
    by_id = {row.id: row for row in rows}
    labelled = [by_id[ids[place]] for place in judge.at.tolist()]
    ratings = judge.ratings
    error = ratings.passes.astype(float) - ratings.truth.astype(float)
    cluster = ratings.cluster
    if cluster is None:
        cluster = np.arange(len(error))
    tried = [*_measure_groups(labelled), *_slice_groups(labelled)]
    return error_groups(error, tried, cluster, ratings.weight)


def _measure_groups(
    rows: Sequence[RowResult],
) -> Iterator[tuple[str, BoolArray, BoolArray]]:
    """Rows above the middle of a measure beside the others."""
    measures: dict[str, Callable[[RowResult], float | None]] = {
        "words in the response": _response_words,
        "words in the contexts": _context_words,
        "claims": _claims,
        "place of the evidence among the contexts": _evidence_place,
    }
    for name, measure in measures.items():
        values = np.array([_or_nan(measure(row)) for row in rows])
        known = np.isfinite(values)
        if not known.any():
            continue
        middle = float(np.median(values[known]))
        yield (
            f"more than {middle:g} {name}"
            if "place" not in name
            else (f"{name} behind {middle:g}"),
            known,
            np.nan_to_num(values) > middle,
        )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _response_words(row: RowResult) -> float | None:
    response = None if row.sample is None else row.sample.response
    return None if response is None else float(len(response.split()))


def _context_words(row: RowResult) -> float | None:
    contexts = None if row.sample is None else row.sample.contexts
    if contexts is None:
        return None
    return float(sum(len(context.text.split()) for context in contexts))


def _claims(row: RowResult) -> float | None:
    """How many claims the response has; None where no metric took it apart."""
    counts = []
    for score in row.scores:
        counts.append(sum(part.kind == "claim" for part in score.parts))
    most = max(counts, default=0)
    return float(most) if most else None


def _evidence_place(row: RowResult) -> float | None:
    """The place, from 1, of the last context that a claim's evidence stands in."""
    places = []
    for score in row.scores:
        for part in score.parts:
            places += [evidence.context for evidence in part.evidence if part.passed]
    return float(max(places) + 1) if places else None


def _slice_groups(
    rows: Sequence[RowResult],
) -> Iterator[tuple[str, BoolArray, BoolArray]]:
    """The rows of each value of a slice beside the others; of two values the first alone."""
    fields: dict[str, None] = {}
    for row in rows:
        if row.sample is not None:
            fields.update(dict.fromkeys(row.sample.slices))
    for name in fields:
        values = [None if row.sample is None else row.sample.slices.get(name) for row in rows]
        known = np.array([value is not None for value in values])
        present = sorted({value for value in values if value is not None})
        if not 2 <= len(present) <= _MOST_SLICES:
            continue
        for value in present[: 1 if len(present) == 2 else None]:
            yield f"{name} = {value}", known, np.array([each == value for each in values])


def _more_labels(
    corrected: CorrectedFigure | None, strength: JudgeStrength | None, drawn: DrawnRows, left: int
) -> tuple[int | None, float]:
    """Labels still needed until the corrected rate is known to within `CLOSE`, at most of all rows
    that are left; and to within what they bring it.

    What they have to be worth is what `ragassay plan-labels width --run` says; all that are left
    where even these would not do.
    """
    if corrected is None or corrected.interval is None or strength is None:
        return None, CLOSE
    half = (corrected.interval.high - corrected.interval.low) / 2
    if half <= CLOSE:
        return 0, CLOSE
    rows, worth = corrected.rows, float(corrected.labels)
    # Labels that do not say how they were drawn stand for themselves as soon as a sheet does.
    certain = corrected.labels
    so_far = 0.0
    if drawn.chance:
        certain, worth = drawn.before, drawn.worth
        so_far = _drawn_to_be_worth(worth, certain, rows)
    try:
        planned = plan_with_judge(
            "width",
            correlation=strength.correlation,
            rows=strength.rows,
            half_width=CLOSE,
            rate=strength.rate,
        )
        # The plan knows the formula alone: by the interval there is, one label at least is missing.
        more = max(1.0, _drawn_to_be_worth(planned.labels, certain, rows) - so_far)
    except ValueError:
        more = math.inf
    if more <= left:
        return math.ceil(more), CLOSE
    return left, half * math.sqrt(worth / (worth + left))


def _drawn_to_be_worth(worth: float, certain: int, rows: int) -> float:
    """How many rows drawn from those that are left are worth so many of one chance, beside labels
    that stand for themselves: m rows of weight (rows - certain) / m and `certain` of weight 1 are
    worth rows^2 / (certain + (rows - certain)^2 / m) by Kish (1965).
    """
    room = rows**2 / worth - certain
    return (rows - certain) ** 2 / room if room > 0 else math.inf


def _uses(
    balanced: Figure | None, corrected: CorrectedFigure | None, groups: Sequence[ErrorGroup]
) -> tuple[Use, ...]:
    """What the judge may be used for, by the ends of intervals: what is not shown is not usable."""
    uses = []
    if corrected is not None:
        uses.append(_use_corrected(corrected))
        uses.append(_use_alone(corrected))
    uses.append(_use_row_by_row(balanced))
    differ = [group.name for group in groups if group.p < 0.05]
    if differ:
        why = f"its errors differ with: {'; '.join(differ)}"
        uses.append(Use("comparing such rows with others, uncorrected", False, why))
    return tuple(uses)


def _use_corrected(corrected: CorrectedFigure) -> Use:
    what = f"the corrected {corrected.of}, and gates on it"
    if corrected.doubt or corrected.interval is None:
        return Use(what, False, corrected.doubt)
    half = (corrected.interval.high - corrected.interval.low) / 2
    known = f"known to within {half:.3f}"
    if corrected.waiting:
        known += f", if the {corrected.waiting} drawn without a label are like the others"
    return Use(what, True, known)


def _use_alone(corrected: CorrectedFigure) -> Use:
    what = f"the {corrected.of} as the judge says it"
    if corrected.doubt or corrected.interval is None or corrected.judge is None:
        return Use(what, False, "it is not known how far it is off")
    low = corrected.judge - corrected.interval.high
    high = corrected.judge - corrected.interval.low
    why = f"it is off by {low:+.3f} to {high:+.3f}"
    return Use(what, low >= -CLOSE and high <= CLOSE, why)


def _use_row_by_row(balanced: Figure | None) -> Use:
    what = "its verdict on a single row"
    if balanced is None or balanced.value is None or balanced.interval is None:
        return Use(what, False, "its balanced accuracy is not known")
    least = balanced.interval.low
    why = f"its balanced accuracy is at least {least:.2f}, and {GOOD_ROW_BY_ROW:g} is asked for"
    return Use(what, least >= GOOD_ROW_BY_ROW, why)


def _next(
    run: str, metric: str, more: int | None, left: int, corrected: CorrectedFigure | None
) -> str:
    """The command that comes next."""
    if corrected is None or corrected.value is None or corrected.labels < _LEAST_TO_CORRECT:
        if left > 0:
            return _sheet_command(run, metric, min(left, _LEAST_TO_CORRECT))
        return f"ragassay show {run}"
    if more:
        return _sheet_command(run, metric, more)
    return f"ragassay trust {run} -m '{metric}' --gate 'corrected({metric})>=0.8'"
