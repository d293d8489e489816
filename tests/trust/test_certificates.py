"""A certificate shows that it was not changed, covers one judge only, and is not said of rows that
are unlike its own.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import (
    Certificate,
    Context,
    Counts,
    DataError,
    Figure,
    Interval,
    JudgeBenchmark,
    JudgeFigures,
    JudgeInfo,
    Manifest,
    Profile,
    RowResult,
    Sample,
    Score,
    SetUp,
    SetupError,
    Status,
)
from ragassay.runs.trust import known_certificates, matching, packaged, trust_of
from ragassay.scoring import shift
from ragassay.store import Store
from ragassay.store.certificate_file import dumps, from_json, loads, to_json
from ragassay.trust.certificate_issue import issue
from support.examples import examples

WORDS = (
    "the",
    "limit",
    "of",
    "the",
    "service",
    "is",
    "twenty",
    "requests",
    "a",
    "minute",
    "and",
    "it",
    "was",
    "raised",
    "in",
    "may",
    "after",
    "a",
    "long",
    "talk",
)


def sample(i: int, words: int = 20, contexts: int = 1, seed: int = 0) -> Sample:
    chance = random.Random(seed * 10_000 + i)
    said = [chance.choice(WORDS) for _ in range(max(1, words + chance.randint(-3, 3)))]
    given_ = tuple(
        Context(" ".join(chance.choice(WORDS) for _ in range(40))) for _ in range(contexts)
    )
    return Sample(
        f"row-{i}",
        "What is the limit of the service?",
        given_,
        " ".join(said) + ".",
        reference="twenty",
    )


def profile(words: int = 20, n: int = 300, contexts: int = 1) -> Profile:
    return shift.profile(shift.features(sample(i, words, contexts, seed=1)) for i in range(n))


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "cluster bootstrap t, Fisher z")


def judge(
    kappa: float = 0.52, name: str = "offline", prints: dict[str, str] | None = None, n: int = 3412
) -> JudgeFigures:
    figures = (
        Figure("kappa", kappa, interval(kappa - 0.05, kappa + 0.05), n),
        Figure("balanced_accuracy", 0.78, interval(0.75, 0.81), n),
        Figure("auc", None, None, n, "one class only"),
    )
    prints = {"groundedness": "f1"} if prints is None else prints
    return JudgeFigures(name, n, 200, {"no claim": 3}, figures, fingerprints=prints, judge_cut=None)


def benchmark(
    of: JudgeFigures, metric: str = "groundedness", source: str = "/data/begin.jsonl"
) -> JudgeBenchmark:
    set_up = SetUp("label", (0.0, 1.0), 1.0, metric, cluster="group", where=("split=test",))
    return JudgeBenchmark(
        source, "ab" * 16, set_up, 3500, 3415, (of,), created="2026-11-21T00:00:00+00:00"
    )


def certificate(
    words: int = 20, *, metric: str = "groundedness", dataset: str = "begin", **more: Any
) -> Certificate:
    one = judge(**more)
    return issue(
        benchmark(one, metric),
        one,
        rubrics={"groundedness": "groundedness@2"},
        profile=profile(words),
        version="0.1.0",
        dataset=dataset,
    )


# ── the value


def test_a_certificate_holds_what_was_measured_and_what_it_is_bound_to() -> None:
    c = certificate()
    assert (c.judge, c.metric, c.dataset, c.data_hash, c.n, c.clusters) == (
        "offline",
        "groundedness",
        "begin",
        "ab" * 16,
        3412,
        200,
    )
    assert c.fingerprints == {"groundedness": "f1"}
    assert c.rubrics == {"groundedness": "groundedness@2"}
    assert c.set_up.where == ("split=test",)
    assert c.missing == {"no claim": 3}
    kappa = c.figure("kappa")
    assert kappa is not None
    assert (kappa.value, kappa.interval) == (0.52, interval(0.52 - 0.05, 0.52 + 0.05))


def test_without_a_name_the_data_are_called_by_their_file() -> None:
    one = judge()
    c = issue(benchmark(one), one, rubrics={}, profile=profile(n=5), version="0.1.0")
    assert c.dataset == "begin.jsonl"


def test_the_same_measurement_made_at_another_time_has_the_same_id() -> None:
    one = judge()
    first = benchmark(one)
    later = replace(first, created="2027-01-01T00:00:00+00:00")
    ids = {
        issue(b, one, rubrics={}, profile=profile(n=9), version="0.1.0").id for b in (first, later)
    }
    assert len(ids) == 1


def test_recorded_answers_get_no_certificate_for_rubric_and_model_are_not_known() -> None:
    one = judge(name="recorded:gpt-4", prints={})
    with pytest.raises(SetupError, match="E0205") as error:
        issue(benchmark(one), one, rubrics={}, profile=profile(n=5), version="0.1.0")
    assert "rubric, model and parameters are not known" in str(error.value)


def test_the_profile_holds_only_what_the_metric_reads() -> None:
    """Groundedness reads response and contexts, answer relevance question and response."""
    grounded = set(certificate().profile.quantiles)
    assert {"response_words", "context_words", "contexts", "response_in_contexts"} <= grounded
    assert not any(
        name.startswith(("question", "reference")) or name.endswith("in_question")
        for name in grounded
    )
    relevant = set(certificate(metric="answer_relevance").profile.quantiles)
    assert {"question_words", "response_in_question"} <= relevant
    assert not any("context" in name or name.startswith("reference") for name in relevant)
    own = set(certificate(metric="my_own_judge").profile.quantiles)
    assert {"question_words", "reference_words", "contexts"} <= own


# ── its file


def test_a_file_of_certificates_reads_back_the_same_whatever_their_order() -> None:
    several = [
        certificate(),
        certificate(30, dataset="wice"),
        certificate(metric="answer_relevance"),
    ]
    data = dumps(several)
    assert dumps(reversed(several)) == data
    assert sorted(loads(data), key=lambda c: c.id) == sorted(several, key=lambda c: c.id)


def leaves(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from leaves(value, (*path, name))
    elif isinstance(plain, list | tuple):
        for i, value in enumerate(plain):
            yield from leaves(value, (*path, i))
    else:
        yield path


PLAIN = json.loads(json.dumps(to_json(certificate())))
LEAVES = [path for path in leaves(PLAIN) if path != ("created",)]


def change(plain: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(plain)
    at = changed
    for step in path[:-1]:
        at = at[step]
    old = at[path[-1]]
    at[path[-1]] = (
        (not old)
        if isinstance(old, bool)
        else old + 1
        if isinstance(old, int | float)
        else f"{old}x"
    )
    return changed


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(LEAVES))
def test_a_change_of_any_single_value_is_found_out(path: tuple[Any, ...]) -> None:
    assert from_json(PLAIN).id == PLAIN["id"]
    with pytest.raises(DataError, match="E0317"):
        from_json(change(PLAIN, path))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"schema":2,"certificates":[]}',
        b'{"schema":1,"certificates":{}}',
        b'{"schema":1,"certificates":[1]}',
        b'{"schema":1,"certificates":[{"schema":1,"kind_of":"certificate"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_file_of_certificates_is_refused_with_what_is_wrong(data: bytes) -> None:
    with pytest.raises(DataError, match="E0317"):
        loads(data, "certificates.json")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", True, 10**400])
def test_a_figure_that_is_no_finite_number_is_refused(value: object) -> None:
    plain = copy.deepcopy(PLAIN)
    plain["pooled"][0]["value"] = value
    with pytest.raises(DataError, match="E0317"):
        from_json(plain)


def test_a_word_where_true_or_false_belongs_is_refused() -> None:
    plain = copy.deepcopy(PLAIN)
    plain["set_up"]["graded"] = "no"
    with pytest.raises(DataError, match="E0317"):
        from_json(plain)


def test_a_number_written_without_its_decimals_is_still_the_same_certificate() -> None:
    """JSON written by other programs says 1 for 1.0."""
    plain = copy.deepcopy(PLAIN)
    plain["set_up"]["cut"], plain["set_up"]["scale"] = 1, [0, 1]
    assert from_json(plain) == from_json(PLAIN)


# ── which certificate, and does it hold here


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


# ── those of the package


def test_the_packages_certificates_are_of_the_judge_that_is_in_the_package() -> None:
    """Fails when rules or weights changed: then run benchmarks/certificates/run.py again."""
    from ragassay.judges import OfflineJudge, RubricRegistry
    from ragassay.models.offline import OfflineModel

    model = OfflineModel()
    offline = OfflineJudge(model.version, {}, RubricRegistry.default(), model.cuts)
    for c in packaged():
        assert c.judge == "offline"
        assert c.fingerprints
        for rubric, fingerprint in c.fingerprints.items():
            assert offline.fingerprint(rubric) == fingerprint, (
                f"{c.metric} on {c.dataset}: {rubric} changed"
            )
            assert offline.rubric_version(rubric) == c.rubrics[rubric]


def test_the_packages_certificates_cover_every_task_with_labels_of_people() -> None:
    by_metric: dict[str, set[str]] = {}
    for c in packaged():
        by_metric.setdefault(c.metric, set()).add(c.dataset)
        assert c.n > 0
        assert c.profile.n >= c.n
        assert c.set_up.cluster == "group"
        assert c.note
    grounded = by_metric.pop("groundedness")
    assert grounded > {
        "begin",
        "factcheck_gpt",
        "faithdial_audit",
        "mtrag_human",
        "q2_wow",
        "ragtruth_qa",
        "summac_val",
        "summedits",
        "wice",
    }
    assert f"all {len(grounded) - 1} groundedness sets" in grounded
    assert {metric: len(sets) for metric, sets in by_metric.items()} == {
        "context_relevance": 1,
        "answer_relevance": 3,
        "correctness": 3,
    }
    made_up = {c.dataset: c.kind for c in packaged() if c.kind != "human"}
    assert made_up == {
        "hotpotqa_answer": "constructed",
        "hotpotqa_context": "human and constructed",
        "all 2 answer relevance sets": "human and constructed",
    }


def test_a_certificate_over_several_sets_names_pooled_and_macro_apart() -> None:
    (every,) = [
        c for c in packaged() if c.dataset.startswith("all ") and c.metric == "groundedness"
    ]
    assert every.set_up.slice == "dataset"
    pooled = {figure.name: figure.value for figure in every.pooled}
    macro = {figure.name: figure.value for figure in every.macro}
    alone = [c for c in packaged() if c.metric == "groundedness" and c is not every]
    assert every.n == sum(c.n for c in alone)
    of_sets = [
        figure.value for c in alone if (figure := c.figure("recall")) and figure.value is not None
    ]
    assert macro["recall"] == pytest.approx(sum(of_sets) / len(of_sets), abs=1e-12)
    assert pooled["recall"] != macro["recall"]


@pytest.mark.slow
def test_a_benchmark_of_ones_own_labels_is_what_later_runs_on_such_rows_show(
    tmp_path: Path,
) -> None:
    import ragassay
    from ragassay.trust.measure.benchmarks import run_benchmark

    chance = random.Random(7)
    rows: list[dict[str, object]] = []
    for i in range(60):
        limit = chance.randint(2, 99)
        rows.append(
            {
                "id": f"q{i}",
                "question": "What is the limit of the service?",
                "label": i % 2,
                "task": "groundedness",
                "contexts": [f"The limit of the service is {limit} requests a minute since May."],
                "response": f"The limit is {limit if i % 2 else limit + 700} requests a minute.",
            }
        )
    labels = tmp_path / "ours.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_benchmark(str(labels), "offline", store=tmp_path / "s.db", draws=200)
    run = ragassay.evaluate(str(labels), "groundedness", store=tmp_path / "s.db")
    (line,) = run.summary.trust
    assert (line.dataset, line.labels, line.measured) == ("ours.jsonl", 60, True)
    assert "on 60 labels (ours.jsonl)" in " ".join(str(run).split())
    run.close()
