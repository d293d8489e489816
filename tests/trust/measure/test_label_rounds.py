"""Rounds of labelling in the store: what is asked, how far it has come, who agrees with whom."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ragassay.core import (
    Context,
    Counts,
    Diagnosis,
    HumanLabel,
    LabelAnswer,
    RowResult,
    Sample,
    Score,
    SetupError,
    Status,
    Verdict,
)
from ragassay.metrics import catalogue
from ragassay.store import Store
from ragassay.trust.measure import estimate
from ragassay.trust.measure.label_rounds import choose_to_label, label_progress, label_task

RUN, NAME = "run-1", "groundedness"


def judged_row(index: int, value: float) -> RowResult:
    verdict = Verdict.PASS if value >= 0.9 else Verdict.FAIL
    score = Score(
        NAME, Status.JUDGED, value, "", verdict, 0.9, Counts.of([Status.JUDGED]), rationale="so"
    )
    sample = Sample(f"r{index}", f"q{index}", (Context("c"),), "a")
    return RowResult(index, sample, (score,), Diagnosis(verdict))


@pytest.fixture
def store(tmp_path, make_manifest):
    rng = np.random.default_rng(1)
    with Store.open(tmp_path / "runs.db") as opened:
        opened.create_run(make_manifest(RUN, rows=60))
        rows = [judged_row(n, float(rng.choice([0.2, 0.5, 1.0]))) for n in range(60)]
        opened.put_rows(RUN, rows)
        yield opened


def label(store: Store, row, who: str, value: float | None) -> None:
    store.put_answer(RUN, NAME, LabelAnswer(row.row_id, who, value), row)


def test_every_seventh_chosen_row_is_for_two_and_each_has_its_chance(store: Store) -> None:
    assert choose_to_label(store, RUN, NAME, 21, method="active") == 21
    rows = store.to_label(RUN, NAME)
    assert [row.wanted for row in rows] == [2 if n % 7 == 0 else 1 for n in range(21)]
    assert all(0 < (row.inclusion_probability or 0) <= 1 for row in rows)
    assert {row.stream for row in rows} == {"audit", "active"}
    # The next round takes others, and knows that it is the second.
    assert choose_to_label(store, RUN, NAME, 10) == 10
    later = store.to_label(RUN, NAME)[21:]
    assert {row.round for row in later} == {2}
    # Where nothing else is said rows are drawn alike.
    assert {row.stream for row in later} == {"audit"}
    assert not {row.row_id for row in later} & {row.row_id for row in rows}


def test_no_row_is_left_when_all_are_chosen(store: Store) -> None:
    choose_to_label(store, RUN, NAME, 60)
    with pytest.raises(SetupError) as refused:
        choose_to_label(store, RUN, NAME, 1)
    assert refused.value.code == "E0206"
    with pytest.raises(SetupError) as refused:
        choose_to_label(store, RUN, "nothing", 1)
    assert refused.value.code == "E0201"


def test_agreement_is_that_of_an_independent_computation(store: Store) -> None:
    """Two people label all rows by chance: kappa as scikit-learn computes it."""
    rng = np.random.default_rng(2)
    choose_to_label(store, RUN, NAME, 60, method="uniform")
    said: dict[str, list[float]] = {"Ann": [], "Bob": []}
    judged = []
    for row in store.to_label(RUN, NAME):
        for who, values in said.items():
            values.append(float(rng.integers(2)))
            label(store, row, who, values[-1])
        result = store.row(RUN, row.row_id)
        assert result is not None
        judged.append(float(result.diagnosis.verdict is Verdict.PASS))
    progress = label_progress(store, RUN, NAME)
    assert [(p.name, p.labels, p.cannot_tell) for p in progress.people] == [
        ("Ann", 60, 0),
        ("Bob", 60, 0),
    ]
    people = progress.among_people
    assert people is not None
    (pair,) = people.pairs
    kappa = next(f.value for f in pair.figures if f.name == "kappa")
    assert kappa == pytest.approx(cohen_kappa_score(said["Ann"], said["Bob"]), abs=1e-12)
    # Ties have no majority, so they are left out beside the judge.
    agreed = [n for n in range(60) if said["Ann"][n] == said["Bob"][n]]
    beside = next(f for f in progress.with_judge if f.name == "kappa")
    expected = cohen_kappa_score([said["Ann"][n] for n in agreed], [judged[n] for n in agreed])
    assert beside.value == pytest.approx(expected, abs=1e-12)
    assert len(progress.ties) == 60 - len(agreed)


def test_where_judge_and_people_differ_what_the_judge_passes_comes_first(store: Store) -> None:
    choose_to_label(store, RUN, NAME, 60, method="uniform")
    for row in store.to_label(RUN, NAME):
        result = store.row(RUN, row.row_id)
        assert result is not None
        passes = result.diagnosis.verdict is Verdict.PASS
        label(store, row, "Ann", float(not passes))
    progress = label_progress(store, RUN, NAME)
    assert len(progress.disputes) == 60
    order = [dispute.passes for dispute in progress.disputes]
    assert order == sorted(order, reverse=True)
    first = progress.disputes[0]
    assert (first.judge, first.judge_rationale, first.labels) == (1.0, "so", (("Ann", 0.0, ""),))
    # A row for two people is done when both have said the same.
    assert (progress.labelled, progress.finished) == (60, 60 - 9)


def test_who_cannot_tell_counts_apart(store: Store) -> None:
    choose_to_label(store, RUN, NAME, 5)
    for row in store.to_label(RUN, NAME)[:3]:
        label(store, row, "Ann", None)
    progress = label_progress(store, RUN, NAME)
    assert [(p.labels, p.cannot_tell) for p in progress.people] == [(0, 3)]
    assert (progress.labelled, progress.with_judge, progress.among_people) == (0, (), None)


def test_labels_serve_the_estimate_of_the_pass_rate_at_once(store: Store) -> None:
    choose_to_label(store, RUN, NAME, 40, method="uniform")
    for row in store.to_label(RUN, NAME):
        label(store, row, "Ann", 1.0)
    corrected = estimate(RUN, metric=NAME, store=store.location)
    assert corrected.estimate.value == pytest.approx(1.0)


def test_a_rubric_that_rates_the_response_is_labelled_on_its_own_scale() -> None:
    task = label_task("answer_relevance")
    assert task.scale == (0.0, 1.0, 2.0, 3.0)
    assert task.cut == 2.0
    assert task.question == "How far does the response answer the question that was asked?"
    assert all(point.meaning for point in task.points)


def test_one_that_rates_parts_is_labelled_by_pass_or_fail_of_the_row() -> None:
    task = label_task("groundedness")
    assert task.scale == (0.0, 1.0)
    assert task.question == "Does the row as a whole pass on groundedness?"
    assert task.note == (
        "How far the contexts support the claims of the response. The judge is asked for each"
        " claim: Do the retrieved passages support this claim, and which of them do?"
    )
    own = label_task("my_own_judge")
    assert (own.scale, own.note) == ((0.0, 1.0), "")


def test_people_are_told_what_each_metric_measures() -> None:
    assert label_task("faithfulness").note == (
        "Share of the response's claims that the contexts support."
    )
    assert label_task("pii").note == (
        "Whether the response discloses personal data. Lower is better."
    )
    for name in catalogue():
        task = label_task(name)
        # Either the rubric's own question about the response, or the sentence of the metric.
        told = task.note or task.question
        assert told != f"Does the row as a whole pass on {name}?", name


def test_the_share_that_people_pass_is_told_by_the_judges_score(store: Store) -> None:
    """People pass what the judge gives 1.0, half of what it gives 0.5, and nothing of 0.2."""
    choose_to_label(store, RUN, NAME, 60, method="uniform")
    seen = 0
    expected: dict[float, list[float]] = {}
    for row in store.to_label(RUN, NAME):
        result = store.row(RUN, row.row_id)
        assert result is not None
        value = result.scores[0].value
        assert value is not None
        seen += value == 0.5
        passes = value == 1.0 or (value == 0.5 and seen % 2 == 0)
        label(store, row, "Ann", float(passes))
        expected.setdefault(value, []).append(float(passes))
    bins = label_progress(store, RUN, NAME).reliability
    assert [b.mean_score for b in bins] == [pytest.approx(value) for value in (0.2, 0.5, 1.0)]
    assert [b.n for b in bins] == [len(expected[value]) for value in (0.2, 0.5, 1.0)]
    assert [b.observed for b in bins] == [
        pytest.approx(sum(expected[value]) / len(expected[value])) for value in (0.2, 0.5, 1.0)
    ]
    assert all(b.interval is not None for b in bins)


def test_labels_of_what_the_run_did_not_measure_are_counted_alone(store: Store) -> None:
    store.put_labels(RUN, [HumanLabel("r1", "tone", "Ann", 1.0)])
    progress = label_progress(store, RUN, "tone")
    assert (progress.labelled, progress.compared, progress.disputes) == (1, 0, ())
