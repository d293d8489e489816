"""The certificates of the package are of its offline judge, on every task with labels of people."""

from __future__ import annotations

import pytest

from ragassay.runs.trust import packaged


def test_the_packages_certificates_are_of_the_judge_that_is_in_the_package() -> None:
    """Fails when rules or weights changed: then run benchmarks/certificates/run.py again."""
    from ragassay.judges import OfflineJudge, RubricRegistry
    from ragassay.models.offline import OfflineModel

    model = OfflineModel()
    offline = OfflineJudge(model.version, {}, RubricRegistry.default(), model.cuts, near=model.near)
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
