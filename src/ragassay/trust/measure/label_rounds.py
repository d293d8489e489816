"""Rounds of labelling in a store: rows chosen and handed out, and how far the labels have come.

What is labelled here are the labels of `ragassay label import`: every trust command finds them the
moment they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragassay.core import (
    Figure,
    HumanLabel,
    LabelAnswer,
    ReliabilityBin,
    RowResult,
    RowToLabel,
    Score,
    SetupError,
    Verdict,
)
from ragassay.runs.decisions import independent
from ragassay.runs.label_scales import BINARY, default_cut, scale_of_import, scale_of_labels
from ragassay.store.label_queue import wants_more

if TYPE_CHECKING:
    from ragassay.scoring.annotators import PeopleAgreement
    from ragassay.store import Store

JUDGE = "\0judge"
"""The judge as one who labels, beside people: no person can have this name."""
PEOPLE = "\0people"
FIRST, AGAIN = "\0first", "\0again"
"""A person's label of a row, and the one that they gave when they were handed it again."""
DOUBLE_EVERY = 7
"""Every seventh row is labelled by two people, so that their agreement is known: 14 %."""
REPEAT_EVERY = 10
"""Of so many rows a person gets one once more, at least five others later."""
HALF_WIDTH = 0.03
FIFTHS = 5
DRAWS = 2000
"""Of the bootstrap: as many as `ragassay label agreement` takes, so that both say the same."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value that a label may take, with what it means."""

    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class LabelTask:
    """What people are asked about each row, and what they may answer. note: what the metric
    measures, and what the judge is asked of the row's parts; "" where it is asked the same as
    people are, and for a metric that declares nothing.
    """

    metric: str
    question: str
    note: str
    points: tuple[Point, ...]
    cut: float

    @property
    def scale(self) -> tuple[float, ...]:
        """The values alone."""
        return tuple(point.value for point in self.points)


@dataclass(frozen=True, slots=True)
class Person:
    """How far one person has come."""

    name: str
    labels: int
    cannot_tell: int


@dataclass(frozen=True, slots=True)
class Dispute:
    """A row on which people and the judge differ. labels: (person, value, rationale) of each."""

    row_id: str
    index: int
    labels: tuple[tuple[str, float, str], ...]
    judge: float
    passes: bool
    judge_rationale: str


@dataclass(frozen=True, slots=True)
class Tie:
    """A row on which people are tied. labels: (person, value, rationale) of each."""

    row_id: str
    index: int
    labels: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """How far the labels of one metric of a run have come.

    chosen: rows that were chosen; finished: of these, those that want nobody more; labelled: rows
    with a label, imported ones too. among_people: None with fewer than two people on any row.
    with_judge: people's majority beside the judge, pass or fail, on `compared` rows: those that
    have both. needed: labels in all for the pass rate within 3 points, or as near as the rows
    allow, in words. disputes: rows on which judge and people differ, or people are
    tied. reliability: the share that people pass by the judge's score, in fifths of [0, 1].
    with_themselves: agreement of people with their own earlier labels, on `repeated` rows that they
    were given twice without being told. unequal: the rows were drawn with different chances, and
    these figures, which are of the labelled rows alone, are not those of the run.
    """

    metric: str
    chosen: int
    finished: int
    labelled: int
    people: tuple[Person, ...]
    among_people: PeopleAgreement | None
    with_judge: tuple[Figure, ...]
    compared: int
    needed: str
    disputes: tuple[Dispute, ...]
    ties: tuple[str, ...]
    reliability: tuple[ReliabilityBin, ...] = ()
    with_themselves: tuple[Figure, ...] = ()
    repeated: int = 0
    unequal: bool = False


def label_task(metric: str) -> LabelTask:
    """What people are asked for a metric: on its rubric's own scale where that rates the response
    as a whole, else whether the row passes.
    """
    from ragassay.judges import RubricRegistry

    registry = RubricRegistry.default()
    name = metric.partition("(")[0]
    question = f"Does the row as a whole pass on {metric}?"
    note = _measured(metric)
    if name in registry.ids():
        rubric = registry.get(name)
        scale = rubric.scale
        if rubric.item == "response":
            question, note = rubric.purpose, ""
        else:
            note = f"{note} The judge is asked for each {rubric.item}: {rubric.purpose}".strip()
        if scale is not None and rubric.item == "response":
            numbers = [p for p in scale.points if isinstance(p.rating, int)]
            if len(numbers) == len(scale.points) <= 10 and isinstance(scale.pass_mark, int):
                points = tuple(Point(float(p.rating), p.meaning) for p in numbers)
                return LabelTask(metric, question, note, points, float(scale.pass_mark))
    points = (Point(0.0, "fails"), Point(1.0, "passes"))
    return LabelTask(metric, question, note, points, 1.0)


def _measured(metric: str) -> str:
    """What a metric measures, in the sentence of its declaration; "" for one that has none."""
    from ragassay.metrics import declaration_of

    declared = declaration_of(metric)
    if declared is None:
        return ""
    lower = " Lower is better." if declared.higher_is_better is False else ""
    return f"{declared.title}{lower}"


def choose_to_label(
    store: Store,
    run_id: str,
    metric: str,
    n: int,
    *,
    method: str = "uniform",
    audit: float = 0.2,
    seed: int = 0,
) -> int:
    """Choose rows of a run for people to label and put them into its queue; how many are new.

    method, audit: see `trust.sampling.choose`. Rows that have a label or were chosen before are
    left out. Raises SetupError E0206 where no row is left, E0201 for a metric the run does not
    have.
    """
    from ragassay.trust import sampling

    if metric not in store.run(run_id).manifest.metrics:
        raise SetupError("E0201", f"The run has no metric {metric[:80]!r}.", where=f"run {run_id}")
    queue = store.to_label(run_id, metric)
    labels = store.labels(run_id, metric)
    taken = {row.row_id for row in queue} | {label.row_id for label in labels}
    rounds = [row.round for row in queue] + [label.round for label in labels]
    choice = sampling.choose(
        sampling.candidates(store.rows(run_id), metric),
        n,
        method=method,
        audit=audit,
        taken=taken,
        round=max(rounds, default=0) + 1,
        seed=seed,
    )
    if not choice.rows:
        raise SetupError(
            "E0206",
            "No row is left to label.",
            where=f"run {run_id}",
            why=f"{len(taken)} rows are chosen or labelled, and {metric} applies to no other",
            fix="label those that were chosen",
        )
    scale = label_task(metric).scale
    # Labels of two scales could not be joined when the work is done.
    scale_of_import((), labels, scale, f"the scale on which {metric} is labelled")
    chosen = []
    for place, row in enumerate(choice.rows):
        # In random order already, so each seventh row is a random one.
        wanted = 2 if place % DOUBLE_EVERY == 0 else 1
        how = (row.stream, row.inclusion_probability, row.round, row.pool, row.drawn)
        chosen.append(RowToLabel(row.id, place, wanted, scale, *how))
    return store.add_to_label(run_id, metric, chosen)


def label_progress(
    store: Store, run_id: str, metric: str, *, rows_in_all: int | None = None, seed: int = 0
) -> LabelProgress:
    """How far the labels of a metric have come. Only rows with a label are read.

    rows_in_all: the rows of the run to which the metric applies, None = as many as the run has.
    """
    if rows_in_all is None:
        rows_in_all = store.run(run_id).manifest.rows
    queue = store.to_label(run_id, metric)
    labels = store.labels(run_id, metric)
    answers = store.label_answers(run_id, metric)
    latest = _latest(answers)
    finished = 0
    for row in queue:
        values = [answer.value for answer in latest.get(row.row_id, {}).values()]
        finished += not wants_more(row.wanted, values)
    # Labels of a run's own scale: of imported ones it is the scale that they fit.
    cut = _cut(labels, metric)
    labelled = {label.row_id for label in labels}
    rows = {row_id: store.row(run_id, row_id) for row_id in sorted(labelled)}
    judged = _judged(rows, metric)
    twice = _twice(answers)
    return LabelProgress(
        metric=metric,
        chosen=len(queue),
        finished=finished,
        labelled=len(rows),
        people=_people(labels, latest),
        among_people=_among_people(labels, rows, seed),
        with_judge=_with_judge(labels, rows, judged, cut, seed),
        compared=len(_compared(labels, judged)),
        needed=_needed(labels, cut, rows_in_all),
        disputes=_disputes(labels, rows, judged, metric, cut),
        ties=_ties(labels),
        reliability=_reliability(labels, rows, metric, cut),
        with_themselves=_with_themselves(twice, rows, seed),
        repeated=len(twice),
        unequal=_unequal(labels, rows_in_all),
    )


def repeat_due(answers: Sequence[LabelAnswer]) -> str | None:
    """The row that a person is given once more now, None for none. answers: of this person, in the
    order in which they were given.
    """
    seen = {answer.row_id for answer in answers if answer.revealed}
    first = list(dict.fromkeys(answer.row_id for answer in answers if not answer.repeat))
    repeated = {answer.row_id for answer in answers if answer.repeat}
    place = len(repeated) * REPEAT_EVERY
    if len(first) < place + REPEAT_EVERY:
        return None
    # Of the first five of each ten: the other five at least lie between.
    blind = [row_id for row_id in first[place : place + 5] if row_id not in seen]
    return next((row_id for row_id in blind if row_id not in repeated), None)


def most_answers(rows: int) -> int:
    """How many answers a person gives at most about so many rows, those that come back included."""
    return rows + rows // REPEAT_EVERY


def tied_rows(store: Store, run_id: str, metric: str) -> list[Tie]:
    """The rows on which people are tied, with what each said."""
    labels = store.labels(run_id, metric)
    tied = []
    for row_id in _ties(labels):
        row = store.row(run_id, row_id)
        if row is not None:
            said = [label for label in labels if label.row_id == row_id]
            lines = tuple((label.annotator, label.value, label.rationale) for label in said)
            tied.append(Tie(row_id, row.index, lines))
    return tied


def _unequal(labels: Sequence[HumanLabel], rows: int) -> bool:
    """Whether rows of some kind were drawn more often than others."""
    from ragassay.core import DataError
    from ragassay.scoring.label_rounds import drawn_rows

    try:
        return not drawn_rows(labels, rows).equal
    except DataError:
        return True  # the labels of a round are missing


Rows = Mapping[str, RowResult | None]


def _latest(answers: Iterable[LabelAnswer]) -> dict[str, dict[str, LabelAnswer]]:
    latest: dict[str, dict[str, LabelAnswer]] = {}
    for answer in answers:
        if not answer.repeat:
            latest.setdefault(answer.row_id, {})[answer.annotator] = answer
    return latest


def _twice(answers: Iterable[LabelAnswer]) -> list[tuple[str, float, float]]:
    """(row, value, value when asked again) of what somebody was asked twice and could tell."""
    before: dict[tuple[str, str], float | None] = {}
    pairs = []
    for answer in answers:
        key = (answer.row_id, answer.annotator)
        if not answer.repeat:
            before[key] = answer.value
            continue
        first = before.get(key)
        if first is not None and answer.value is not None:
            pairs.append((answer.row_id, first, answer.value))
    return pairs


def _with_themselves(
    twice: Sequence[tuple[str, float, float]], rows: Rows, seed: int
) -> tuple[Figure, ...]:
    """Agreement of first and second answers, over clusters of rows."""
    from ragassay.scoring import annotators

    if not twice:
        return ()
    known = _clusters(rows)
    votes: list[HumanLabel] = []
    clusters: dict[str, str | None] = {}
    for number, (row_id, first, again) in enumerate(twice):
        # Two people may have been asked about one row twice: each pair is one of its own.
        own = f"{number} {row_id}"
        votes += [HumanLabel(own, "", FIRST, first), HumanLabel(own, "", AGAIN, again)]
        clusters[own] = known.get(row_id) or row_id
    agreement = annotators.measure(annotators.votes(votes, clusters), draws=DRAWS, seed=seed)
    return tuple(map(_of_labels, agreement.pairs[0].figures))


def _of_labels(figure: Figure) -> Figure:
    """The figure of two labels of a person: what it lacks is said of them, and of no judge."""
    sides = r"rows that (?:people|the judge) (?:pass|fail)(?:es|s)?\b"
    return replace(figure, reason=re.sub(sides, "rows on one side", figure.reason))


def _cut(labels: Sequence[HumanLabel], metric: str) -> float:
    """From which label on a row passes."""
    from ragassay.core import RagAssayError

    task = label_task(metric)
    are_of_task = {label.value for label in labels} <= set(task.scale)
    if are_of_task and not any(label.scale for label in labels):
        return task.cut
    try:
        scale = scale_of_labels(labels, (), "the labels")
        return task.cut if set(scale) == set(task.scale) else default_cut(scale)
    except RagAssayError:
        return task.cut if are_of_task else max(BINARY)


def _people(
    labels: Sequence[HumanLabel], latest: Mapping[str, Mapping[str, LabelAnswer]]
) -> tuple[Person, ...]:
    counts: dict[str, list[int]] = {}
    for label in labels:
        counts.setdefault(label.annotator, [0, 0])[0] += 1
    for answers in latest.values():
        for name, answer in answers.items():
            counts.setdefault(name, [0, 0])[1] += answer.value is None
    return tuple(Person(name, *numbers) for name, numbers in sorted(counts.items()))


def _judged(rows: Rows, metric: str) -> dict[str, bool]:
    """Row -> whether the judge passes it; rows without a verdict are left out."""
    judged = {}
    for row_id, row in rows.items():
        score = _score(row, metric)
        if score is not None and score.verdict in (Verdict.PASS, Verdict.FAIL):
            judged[row_id] = score.verdict is Verdict.PASS
    return judged


def _score(row: RowResult | None, metric: str) -> Score | None:
    """The row's score of a metric; labels may be of something that the run did not measure."""
    scores = row.scores if row is not None else ()
    return next((score for score in scores if score.metric == metric), None)


def _clusters(rows: Rows) -> dict[str, str | None]:
    clusters = {}
    for row_id, row in rows.items():
        clusters[row_id] = row.sample.cluster if row is not None and row.sample else None
    return clusters


def _among_people(labels: Sequence[HumanLabel], rows: Rows, seed: int) -> PeopleAgreement | None:
    from ragassay.scoring import annotators

    table = annotators.votes(independent(labels), _clusters(rows))
    if len(table.people) < 2:
        return None
    agreement = annotators.measure(table, draws=DRAWS, seed=seed)
    return agreement if agreement.shared else None


def _compared(labels: Sequence[HumanLabel], judged: Mapping[str, bool]) -> dict[str, float]:
    """Row -> people's majority, of those rows that have one and a verdict of the judge."""
    from ragassay.trust.consensus import consensus

    said = {row.row_id: row.value for row in consensus(labels)}
    return {row: value for row, value in said.items() if value is not None and row in judged}


def _with_judge(
    labels: Sequence[HumanLabel], rows: Rows, judged: Mapping[str, bool], cut: float, seed: int
) -> tuple[Figure, ...]:
    """Agreement of people's majority with the judge on pass or fail."""
    from ragassay.scoring import annotators

    votes = []
    for row_id, said in _compared(labels, judged).items():
        passes = (float(said >= cut), float(judged[row_id]))
        for name, value in zip((PEOPLE, JUDGE), passes, strict=True):
            votes.append(HumanLabel(row_id, "", name, value))
    if not votes:
        return ()
    table = annotators.votes(votes, _clusters(rows))
    agreement = annotators.measure(table, draws=DRAWS, seed=seed)
    # There is one pair: people and the judge, whose figures have the same by another name.
    others = [one for one in agreement.figures if one.name != "observed_agreement"]
    return (*agreement.pairs[0].figures, *others)


def _reliability(
    labels: Sequence[HumanLabel], rows: Rows, metric: str, cut: float
) -> tuple[ReliabilityBin, ...]:
    """What share of the rows people pass by the score that the judge gave; () for scores that are
    no shares.
    """
    import numpy as np

    from ragassay.scoring.agreement import reliability
    from ragassay.scoring.clusters import codes
    from ragassay.scoring.ratings import Ratings
    from ragassay.trust.consensus import consensus

    values, scores, passes, row_ids = [], [], [], []
    for joined in consensus(labels):
        row = rows.get(joined.row_id)
        score = _score(row, metric)
        if joined.value is None or score is None or score.value is None:
            continue
        values.append(joined.value)
        scores.append(score.value)
        passes.append(score.verdict is Verdict.PASS)
        row_ids.append(joined.row_id)
    unit = np.array(scores)
    if not scores or unit.min() < 0 or unit.max() > 1:
        return ()
    clusters = _clusters(rows)
    label = np.array(values)
    ratings = Ratings(
        label,
        unit,
        np.array(passes),
        label >= cut,
        unit=unit,
        cluster=codes(clusters[row_id] for row_id in row_ids),
    )
    return reliability(ratings, FIFTHS)


def _needed(labels: Sequence[HumanLabel], cut: float, rows: int) -> str:
    """How many labels bring the pass rate within 3 points, by what they say so far; of a run with
    fewer rows, how near the labels of all of them come.
    """
    from ragassay.scoring.design import plan
    from ragassay.trust.consensus import consensus

    values = [row.value for row in consensus(labels) if row.value is not None]
    passed = sum(value >= cut for value in values)
    # Laplace's rule: three labels that all pass do not show that all rows do.
    rate = (passed + 1) / (len(values) + 2)
    asked = plan("width", half_width=HALF_WIDTH, rate=rate)
    sentence, wanted, last = asked.sentence, asked.labels, ""
    if 0 < rows < wanted:
        wanted, sentence = rows, "The label of one row says nothing of others."
        if rows > 1:
            sentence = plan("width", labels=rows, rate=rate).sentence
        last = f" The run has no more rows: within {HALF_WIDTH:g} takes one of {asked.labels:,}."
    more = max(0, wanted - len(values))
    return f"{sentence} That is {more:,} more.{last}" if values else f"{sentence}{last}"


def _disputes(
    labels: Sequence[HumanLabel],
    rows: Rows,
    judged: Mapping[str, bool],
    metric: str,
    cut: float,
) -> tuple[Dispute, ...]:
    """Rows on which judge and people differ, those that the judge passes first: they are dearest,
    for nobody looks at them again.
    """
    by_row: dict[str, list[HumanLabel]] = {}
    for label in labels:
        by_row.setdefault(label.row_id, []).append(label)
    disputes = []
    for row_id, given in by_row.items():
        row = rows.get(row_id)
        score = _score(row, metric)
        if row is None or score is None or score.value is None or row_id not in judged:
            continue
        if all((label.value >= cut) == judged[row_id] for label in given):
            continue
        said = tuple((label.annotator, label.value, label.rationale) for label in given)
        disputes.append(
            Dispute(row_id, row.index, said, score.value, judged[row_id], score.rationale)
        )
    disputes.sort(key=lambda dispute: (not dispute.passes, -dispute.judge, dispute.row_id))
    return tuple(disputes)


def _ties(labels: Sequence[HumanLabel]) -> tuple[str, ...]:
    from ragassay.trust.consensus import consensus, ties

    return ties(consensus(labels))
