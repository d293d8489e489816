"""Agreement among people, and whether a run's judge may stand in for one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ragassay.api import open_run
from ragassay.core import HumanLabel, SetupError, Verdict
from ragassay.runs.decisions import independent
from ragassay.runs.label_scales import default_cut, scale_of_labels
from ragassay.trust.measure.run_labels import labelled_metric, labels_of_run
from ragassay.trust.option_checks import check, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.annotators import AltTest, PairAgreement, PeopleAgreement, Votes
    from ragassay.scoring.labellers import LabellerModel

Path = str | os.PathLike[str]
_EPSILONS = "0.2 for experts, 0.15 for trained people, 0.1 for paid ones"


@dataclass(frozen=True, slots=True)
class PeopleResult:
    """What several people say.

    people: their agreement. judge: whether the run's judge may stand in for one of them (None
    without a run). ties: ids on which people are tied. beside: two people, and the judge and a
    person, each pair on the rows that both judged, all by the same pass or fail. labellers: how
    often each person errs, by pass or fail, or why that cannot be said.
    """

    metric: str
    people: PeopleAgreement
    judge: AltTest | None
    ties: tuple[str, ...]
    beside: tuple[PairAgreement, ...] = ()
    labellers: LabellerModel | str = ""


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
) -> PeopleResult:
    """How far people agree with each other, and whether the run's judge may stand in for one of
    them.

    sources: label files, each with its people; none = the labels imported for the run. votes: a
    field that holds what several people said of a row, as a list or an object, instead of `label`.
    scale, cut: as for `estimate`; a judge with a pass mark is compared with people by pass and
    fail. epsilon: see `scoring.annotators.alt_test`. Raises SetupError E0206 where there are not
    two people on any row.
    """
    from ragassay.scoring import annotators
    from ragassay.trust.consensus import consensus, ties

    check_draws(draws, seed)
    check_cuts(cut, None)
    check("--epsilon", epsilon, 0, 0.999, _EPSILONS)
    if run is None and not sources:
        raise SetupError(
            "E0206",
            "Neither a run nor a label file is named.",
            fix="name a run, or files of labels",
        )
    people = _read_sources(sources, metric, label, votes, scale)
    # Labels of files alone have people and no judge.
    judge = _Judge(metric or "")
    if run is not None:
        with open_run(run, store=store) as opened:
            judge = _read_run(opened, metric, people)
    _check_one_metric(people, judge.metric)
    table = _votes(people, judge.metric)
    test = None
    beside: tuple[PairAgreement, ...] = ()
    if any(row in judge.scores for row in table.rows):
        points = scale_of_labels(people.labels, scale, "the labels")
        test = _alt_test(judge, table, points, cut, epsilon, draws, seed)
        beside = _beside(judge, table, points, cut, draws, seed)
    agreement = annotators.measure(table, draws=draws, seed=seed)
    if test is not None:
        test = _with_agreement_of_people(test, agreement)
    tied = ties(consensus(people.labels))
    labellers = _labellers(people, table, scale, cut)
    return PeopleResult(judge.metric, agreement, test, tied, beside, labellers)


def _labellers(
    people: _People, table: Votes, scale: Sequence[float], cut: float | None
) -> LabellerModel | str:
    """How often each person errs, by pass or fail; else why that cannot be said."""
    import numpy as np

    from ragassay.core import RagAssayError
    from ragassay.scoring.labellers import labeller_model

    try:
        points = scale_of_labels(people.labels, scale, "the labels")
        least = default_cut(points) if cut is None else cut
    except RagAssayError as error:
        return f"{error.what} {error.why}".strip()
    passed = np.where(np.isnan(table.values), np.nan, table.values >= least)
    return labeller_model(replace(table, values=passed))


@dataclass(slots=True)
class _People:
    """What people said. clusters: row id -> cluster, where it is known."""

    labels: list[HumanLabel] = field(default_factory=list)
    clusters: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Judge:
    """What the run's judge says, by row: the score, and whether it passes (None without a mark)."""

    metric: str
    scores: Mapping[str, float] = field(default_factory=dict)
    passes: Mapping[str, bool] = field(default_factory=dict)


def _read_sources(
    sources: Sequence[object],
    metric: str | None,
    label: str,
    votes: str | None,
    scale: Sequence[float],
) -> _People:
    from ragassay.trust.label_files import read_sheet, read_votes

    people = _People()
    for place, source in enumerate(sources, 1):
        if votes is not None:
            file = read_votes(source, votes, name=metric, scale=scale)
        else:
            person = _person(source, place)
            file = read_sheet(source, label=label, scale=scale, annotator=person, name=metric)
        people.labels += file.labels
        people.clusters |= file.clusters
    return people


def _person(source: object, place: int) -> str:
    """Who labelled, where the file does not say: its name without the ending."""
    if isinstance(source, str):
        return os.path.basename(source).partition(".")[0]
    return f"person {place}"


def _read_run(run: Run, metric: str | None, people: _People) -> _Judge:
    """The verdicts of a run. Its clusters, and its labels where no file has any, are added to
    `people`.
    """
    name = labelled_metric(run, metric)
    if not people.labels:
        people.labels = independent(labels_of_run(run, name))
    scores: dict[str, float] = {}
    passes: dict[str, bool] = {}
    for row in run:
        if row.sample is not None and row.sample.cluster is not None:
            people.clusters[row.id] = row.sample.cluster
        score = row.score(name)
        if score is None or score.value is None or score.verdict is Verdict.UNDECIDED:
            continue
        scores[row.id] = score.value
        if score.verdict is not None:
            passes[row.id] = score.verdict is Verdict.PASS
    return _Judge(name, scores, passes)


def _votes(people: _People, metric: str) -> Votes:
    """All labels as votes on the metric. Raises SetupError E0206 for fewer than two people."""
    from ragassay.scoring import annotators

    # Files may call what they label by other names than the run's metric does.
    labels = [replace(label, name=metric) for label in people.labels]
    votes = annotators.votes(labels, people.clusters)
    if len(votes.people) < 2:
        raise SetupError(
            "E0206",
            "Agreement takes two people or more.",
            why=f"the labels are of {len(votes.people)}",
            fix="give a file for each person, or fill in the column `annotator`",
        )
    return votes


def _check_one_metric(people: _People, metric: str) -> None:
    """Raise SetupError E0206 where the files label several things, and none is named."""
    names = sorted({label.name for label in people.labels})
    if not metric and len(names) > 1:
        raise SetupError(
            "E0206",
            "The files label several things.",
            why=", ".join(names[:10]),
            fix="name one: --metric",
        )


def _alt_test(
    judge: _Judge,
    table: Votes,
    scale: Sequence[float],
    cut: float | None,
    epsilon: float,
    draws: int,
    seed: int,
) -> AltTest:
    """Whether the judge may stand in for one of the people.

    A judge with a pass mark is compared by pass and fail, else by scores from 0 to 1.
    """
    import numpy as np

    from ragassay.scoring import annotators

    if judge.passes:
        least = default_cut(scale) if cut is None else cut
        # A comparison with NaN is false: a vote that is missing would become a fail.
        values = np.where(np.isnan(table.values), np.nan, table.values >= least)
    else:
        low, high = min(scale), max(scale)
        values = (table.values - low) / (high - low)
    scores = []
    for row in table.rows:
        passed = judge.passes.get(row)
        score = judge.scores.get(row, np.nan) if passed is None else float(passed)
        scores.append(score)
    return annotators.alt_test(
        np.array(scores),
        replace(table, values=values),
        epsilon=epsilon,
        score="accuracy" if judge.passes else "rmse",
        draws=draws,
        seed=seed,
    )


def _beside(
    judge: _Judge,
    table: Votes,
    scale: Sequence[float],
    cut: float | None,
    draws: int,
    seed: int,
) -> tuple[PairAgreement, ...]:
    """Each two people, and the judge with each of them, by pass or fail; () without a pass mark."""
    import numpy as np

    from ragassay.scoring import annotators

    if not judge.passes:
        return ()
    least = default_cut(scale) if cut is None else cut
    people = np.where(np.isnan(table.values), np.nan, table.values >= least)
    verdicts = [float(judge.passes[row]) if row in judge.passes else np.nan for row in table.rows]
    joined = replace(
        table,
        people=(*table.people, annotators.JUDGE),
        values=np.column_stack([people, np.array(verdicts)]),
    )
    names = ("accuracy", "kappa")
    return annotators.measure(joined, draws=draws, seed=seed, pair_figures=names).pairs


def _with_agreement_of_people(test: AltTest, people: PeopleAgreement) -> AltTest:
    """The test without its verdict where people are not shown to agree beyond chance."""
    # An interval of alpha above 0 is what shows it; a figure without one shows nothing.
    for figure in people.figures:
        if figure.name == "alpha" and figure.value is not None and figure.interval is not None:
            if figure.interval.low > 0:
                return test
            break
    why = "people are not shown to agree beyond chance: to be as good as one of them says nothing"
    return replace(test, may_replace=None, warnings=(*test.warnings, why))
