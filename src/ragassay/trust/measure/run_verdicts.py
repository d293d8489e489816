"""The verdicts of a judge that was run, read from its run in the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragassay.core import (
    BadRow,
    DataError,
    Profile,
    RowResult,
    Score,
    SetupError,
    Status,
    Verdict,
    nearest,
    shorten,
)
from ragassay.core.counting import count
from ragassay.trust.alignment import Verdicts
from ragassay.trust.measure.run_table import labels_source

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.trust.label_table import FloatArray, LabelTable

_REASON_LENGTH = 90
_MOST_REASONS = 20  # servers may answer each row with an error of its own


def verdicts_of_run(table: LabelTable, judge: str, run: Run, metric: str) -> Verdicts:
    """What a run's judge says of the labelled rows, by id. judge: the name it is shown by.

    Raises SetupError E0205 for a metric that the run does not have, DataError E0315 where no
    labelled row is in the run.
    """
    manifest = run.manifest
    if metric not in manifest.metrics:
        raise SetupError(
            "E0205",
            f"The run {run.id} has no {metric}.{nearest(metric, manifest.metrics)}",
            where=f"--judge {judge}",
            why=f"its metrics are {', '.join(manifest.metrics)}",
            fix="name one of them: --metric NAME",
        )
    reading = _Reading(table, metric)
    for row in run.rows():
        reading.add(row)
    if not reading.in_run.any():
        raise DataError(
            "E0315",
            f"No labelled row is in the run {run.id}.",
            where=f"--judge {judge}",
            why=f"the run's {reading.others} rows have other ids",
            fix="benchmark the run on labels of the rows it was made from",
        )
    warnings: tuple[str, ...] = ()
    # Of labels that were imported for this very run, everybody knows that they are a part of it.
    if reading.others and table.source != labels_source(run.id):
        warnings = (
            f"left out, not among the labelled ones: {count(reading.others, 'row')} of {judge}",
        )
    return Verdicts(
        judge=judge,
        score=reading.score,
        # A metric without a pass mark gives scores alone: a cut has to say which ones pass.
        passes=reading.passes if reading.every_score_has_a_verdict else None,
        ratings=reading.ratings_of_all(),
        missing=reading.missing(),
        rationales=reading.rationales,
        fingerprints=manifest.judge.measured_as,
        warnings=warnings,
        confidence=_confidence(run, reading.request_keys, len(table)),
    )


def profile_of_run(table: LabelTable, run: Run) -> Profile:
    """What the labelled rows of a run are like; a later run is compared with it."""
    from ragassay.scoring import shift

    labelled = set(table.ids)
    samples = (row.sample for row in run.rows() if row.id in labelled)
    return shift.profile(shift.features(sample) for sample in samples if sample is not None)


class _Reading:
    """The scores of a run, put at the places of the labelled rows. NaN: no score."""

    def __init__(self, table: LabelTable, metric: str) -> None:
        rows = len(table)
        self._metric = metric
        self._places = {row_id: place for place, row_id in enumerate(table.ids)}
        self._reasons: Counter[str] = Counter()
        self.score = np.full(rows, np.nan)
        self.passes = np.zeros(rows, bool)
        self.ratings = np.full(rows, np.nan)
        self.in_run = np.zeros(rows, bool)
        self.request_keys: dict[int, tuple[str, ...]] = {}
        self.rationales: dict[str, str] = {}
        self.every_score_has_a_verdict = True
        self.others = 0

    def add(self, row: RowResult) -> None:
        place = self._places.get(row.id)
        if place is None:
            self.others += 1
            return
        self.in_run[place] = True
        score = row.score(self._metric)
        # An undecided row has a value, of which too little was judged to call it a verdict.
        if score is None or score.value is None or score.verdict is Verdict.UNDECIDED:
            self._reasons[_reason(score, row.bad)] += 1
            return
        self.score[place] = score.value
        self.passes[place] = score.verdict is Verdict.PASS
        if score.verdict is None:
            self.every_score_has_a_verdict = False
        self.ratings[place] = _rating(score)
        self.request_keys[place] = _request_keys(score)
        self.rationales[row.id] = rationale_of(score)

    def ratings_of_all(self) -> FloatArray | None:
        """The ratings on the rubric's scale, where each score has one."""
        # Ratings of some rows and scores of others would not be on one scale.
        judged = np.isfinite(self.score)
        if judged.any() and np.isfinite(self.ratings[judged]).all():
            return self.ratings
        return None

    def missing(self) -> dict[str, int]:
        """Reason -> labelled rows without a verdict, the most frequent reasons by name."""
        reasons = self._reasons.copy()
        if absent := int((~self.in_run).sum()):
            reasons["not in the run"] += absent
        named = dict(reasons.most_common(_MOST_REASONS))
        if rest := sum(reasons.values()) - sum(named.values()):
            named["other reasons"] = rest
        return named


def _reason(score: Score | None, bad: BadRow | None) -> str:
    if bad is not None:
        return f"the row cannot be read ({bad.code})"
    if score is None:
        return "no score"
    if score.status is Status.JUDGED:
        return "undecided: too little of it was judged"
    # Without what the judge wrote, which differs from row to row: equal causes are to add up.
    why = re.split("[\"'“‘{\\[]", score.reason, maxsplit=1)[0].rstrip(" :,(")
    status = score.status.value.replace("_", " ")
    return f"{status}: {shorten(why, _REASON_LENGTH)}" if why else status


def _rating(score: Score) -> float:
    """The rating on the rubric's own scale, where the score is made of just one; else NaN."""
    ratings = [part.rating for part in score.parts]
    if len(ratings) != 1:
        return float("nan")
    rating = ratings[0]
    if isinstance(rating, bool) or not isinstance(rating, int | float):
        return float("nan")
    return float(rating)


def _request_keys(score: Score) -> tuple[str, ...]:
    """The keys of what the judge was asked for this score."""
    # Parts that came of no request have no key; `_confidence` takes a row without any as sure.
    applicable = [part for part in score.parts if part.status is not Status.NOT_APPLICABLE]
    return tuple(part.key for part in applicable if part.key)


def rationale_of(score: Score) -> str:
    """Why the row has its score: the rationale of its lowest part where it has one."""
    valued = [part for part in score.parts if part.value is not None]
    if not valued:
        return score.rationale
    lowest = min(valued, key=lambda part: part.value or 0.0)
    if not lowest.rationale:
        return score.rationale
    if len(score.parts) == 1:
        return lowest.rationale
    return f"{score.rationale}; lowest: {lowest.rationale}"


def _confidence(
    run: Run, request_keys: Mapping[int, Sequence[str]], rows: int
) -> FloatArray | None:
    """How sure a cascade would take the judge to be of each row, from 0 to 1.

    As sure as of its least sure verdict: 0 where one is lost, 1 where a rule decided the row and
    nobody was asked. request_keys: place of a row -> keys. NaN for rows without a score; None for
    metrics that ask no judge.
    """
    keys: set[str] = set()
    for keys_of_row in request_keys.values():
        keys.update(keys_of_row)
    if not keys:
        return None
    confidence_of_key = _confidence_by_key(run, keys)
    if confidence_of_key is None:
        return None
    confidence = np.full(rows, np.nan)
    for place, keys_of_row in request_keys.items():
        confidence[place] = min((confidence_of_key[key] for key in keys_of_row), default=1.0)
    return confidence


def _confidence_by_key(run: Run, keys: Iterable[str]) -> dict[str, float] | None:
    """Key -> confidence in the judgment; None for an earlier run whose rubric files are gone."""
    from ragassay.judges.composed.cascade import confidence
    from ragassay.runs.options import restore
    from ragassay.runs.plan import rubric_registry

    try:
        registry = rubric_registry(restore(run.manifest, {}).rubrics)
    except SetupError:
        return None
    # A key without a judgment is one whose verdict was lost.
    confidence_of_key = dict.fromkeys(keys, 0.0)
    for key, judgment in run.judgments(keys).items():
        scale = registry.get(judgment.rubric.partition("@")[0]).scale
        if scale is not None:
            confidence_of_key[key] = confidence(judgment, scale) or 0.0
    return confidence_of_key
