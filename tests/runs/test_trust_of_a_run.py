"""A certificate covers one judge only, and is not said of rows that are unlike its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import (
    Counts,
    DataError,
    JudgeInfo,
    Manifest,
    RowResult,
    Score,
    Status,
)
from ragassay.runs.trust import known_certificates, matching, packaged, trust_of
from ragassay.store import Store
from ragassay.store.certificate_file import from_json, sealed, to_json
from ragassay.trust.certificate_issue import issue
from support.certificates import benchmark, certificate, judge, profile, sample


def test_only_a_certificate_of_this_very_rubric_model_and_parameters_covers_a_judge() -> None:
    c = certificate(prints={"groundedness": "f1", "answer_relevance": "f2"})
    run = {"groundedness": "f1", "answer_relevance": "f2", "context_relevance": "f3"}
    assert matching([c], "groundedness", run) == (c,)
    assert matching([c], "faithfulness", run) == ()
    assert matching([c], "groundedness(claims=llm)", run) == ()
    assert matching([c], "groundedness", {**run, "answer_relevance": "other"}) == ()
    assert matching([c], "groundedness", {"groundedness": "f1"}) == ()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


def run_of(
    store: Store,
    rows: int = 200,
    *,
    words: int = 20,
    metrics: tuple[str, ...] = ("groundedness",),
    run_id: str = "r",
    contexts: int = 1,
) -> str:
    info = JudgeInfo("offline", {"groundedness": "groundedness@2"}, {"groundedness": "f1"}, "")
    store.create_run(
        Manifest(run_id, "2026-11-21T00:00:00Z", "0.1", "memory", "h", rows, {}, metrics, info)
    )
    results = []
    for i in range(rows):
        scores = tuple(Score(metric, Status.JUDGED, 1.0, counts=Counts(1, 1)) for metric in metrics)
        results.append(RowResult(i, sample(i, words, contexts), scores))
    store.put_rows(run_id, results)
    return run_id


def test_on_rows_like_those_measured_the_figures_are_said(store: Store) -> None:
    (line,) = trust_of(store, run_of(store), [certificate()])
    assert line.measured
    assert (
        line.sentence
        == "kappa 0.52 [0.47, 0.57], balanced accuracy 0.78 [0.75, 0.81] on 3,412 labels (begin)"
    )
    assert (line.kappa, line.labels, line.dataset, line.others) == (0.52, 3412, "begin", 0)


def test_on_rows_unlike_those_measured_it_is_said_that_they_are_and_where(store: Store) -> None:
    """Responses of 80 words, where those measured have 20."""
    (line,) = trust_of(store, run_of(store, words=80), [certificate()])
    assert not line.measured
    assert line.feature == "response_words"
    assert line.sentence.startswith("unmeasured on data like yours: responses here are ")
    assert "times as long (median 8" in line.sentence
    assert line.sentence.endswith(
        "Elsewhere, on 3,412 labels (begin): kappa 0.52 [0.47, 0.57], balanced accuracy 0.78 [0.75,"
        " 0.81]"
    )


def test_what_the_metric_does_not_read_makes_no_rows_unlike(store: Store) -> None:
    """Answer relevance reads no contexts: eight instead of one change nothing; groundedness reads
    them.
    """
    run_of(store, contexts=8, metrics=("answer_relevance", "groundedness"))
    both = [certificate(metric=metric) for metric in ("answer_relevance", "groundedness")]
    measured = {line.metric: line.measured for line in trust_of(store, "r", both)}
    assert measured == {"answer_relevance": True, "groundedness": False}


def test_a_judge_without_a_certificate_is_unmeasured_and_it_is_said_why(store: Store) -> None:
    run_of(store)
    (none,) = trust_of(store, "r", [certificate(metric="answer_relevance")])
    assert (
        none.sentence
        == "unmeasured on data like yours: no certificate of this judge for this metric"
    )
    (other,) = trust_of(store, "r", [certificate(prints={"groundedness": "of another model"})])
    assert "are of another rubric, model or parameters" in other.sentence
    assert (none.measured, other.measured, none.kappa, other.kappa) == (False, False, None, None)


def test_of_several_certificates_the_one_of_the_likest_rows_is_shown_and_the_others_are_counted(
    store: Store,
) -> None:
    several = [
        certificate(60, dataset="long", n=9000),
        certificate(20, dataset="like"),
        certificate(5, dataset="short"),
    ]
    (line,) = trust_of(store, run_of(store), several)
    assert (line.dataset, line.others, line.measured) == ("like", 2, True)
    (far,) = trust_of(store, run_of(store, words=300, run_id="far"), several)
    assert (far.measured, far.others) == (False, 2)


def test_rows_too_few_to_show_a_shift_are_not_called_alike(store: Store) -> None:
    (line,) = trust_of(store, run_of(store, 5), [certificate()])
    assert not line.measured
    assert line.sentence.startswith(
        "unmeasured on data like yours: too few rows here to tell whether they are like those"
        " measured. Elsewhere, on"
    )
    (none,) = trust_of(store, run_of(store, 0, run_id="empty"), [certificate()])
    assert not none.measured


def test_figures_that_no_judge_gives_need_no_certificate(store: Store) -> None:
    run_of(store, 3, metrics=("groundedness", "token_recall", "ndcg_at_k(k=5)", "latency"))
    assert [line.metric for line in trust_of(store, "r", [certificate()])] == ["groundedness"]


def test_constructed_labels_are_named_as_such(store: Store) -> None:
    one = judge()
    c = issue(
        benchmark(one),
        one,
        rubrics={},
        profile=profile(),
        version="0.1",
        kind="constructed",
        dataset="shuffled",
    )
    (line,) = trust_of(store, run_of(store), [c])
    assert "3,412 labels (shuffled, constructed)" in line.sentence
    assert line.kind == "constructed"


def test_certificates_of_the_store_stand_beside_those_of_the_package_each_once(
    store: Store,
) -> None:
    mine = certificate()
    store.put_certificate(mine)
    store.put_certificate(packaged()[0])
    every = known_certificates(store)
    assert mine in every
    assert len(every) == len(packaged()) + 1


def test_a_certificate_of_the_store_whose_content_does_not_give_its_id_is_refused(
    store: Store,
) -> None:
    store.put_certificate(replace(certificate(), n=1_000_000))
    with pytest.raises(DataError, match="E0317"):
        known_certificates(store)


def test_figures_of_weighted_rows_say_so_and_what_their_labels_are_worth(store: Store) -> None:
    weighted = replace(certificate(), design="weighted", worth=73.4)
    (line,) = trust_of(store, run_of(store), [weighted])
    assert line.sentence.endswith("on 3,412 labels (begin, weighted, worth 73)")
    assert from_json(to_json(sealed(weighted))).worth == 73.4
