"""Published agreement figures of recorded judges, reproduced to the four decimals they have.

The human-labelled data lie beside the project (RAGASSAY_DATA, or ../shared/data); without them
these tests are skipped.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import JudgeBenchmark, JudgeFigures
from ragassay.trust.measure.benchmarks import benchmark

DATA = Path(os.environ.get("RAGASSAY_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = pytest.mark.skipif(
    not (DATA / "reference_agreement.json").is_file(), reason="the labelled data are not here"
)

OURS = {
    "kappa": "graded_kappa",
    "accuracy": "graded_accuracy",
    "kappa3": "graded_kappa",
    "accuracy3": "graded_accuracy",
    "kappa3_linear": "kappa_linear",
}
"""The name of a graded figure in the reference -> ours, where they differ."""


def published(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "reference_agreement.json").read_text())[name]
    return found


def figures(name: str, judge: str | list[str], **options: Any) -> JudgeBenchmark:
    """A benchmark with as few draws as there can be: only values are looked at here."""
    return benchmark(str(DATA / name / f"{name}.jsonl.gz"), judge, draws=100, worst=0, **options)


def value(judge: JudgeFigures, name: str) -> float:
    found = judge.figure(name)
    assert found is not None, name
    assert found.value is not None, name
    return found.value


def same(
    judge: JudgeFigures, expected: Mapping[str, float], names: Mapping[str, str] | None = None
) -> None:
    """Every expected figure, rounded as it is published, is ours."""
    assert expected
    for name, want in expected.items():
        got = judge.n if name == "n" else value(judge, (names or {}).get(name, name))
        assert got == pytest.approx(want, abs=5.1e-5), f"{judge.judge} {name}"


@pytest.mark.slow
def test_all_33_judges_of_the_llmjudge_challenge_are_reproduced_graded_and_binary() -> None:
    reference = published("llmjudge_labels")
    found = figures("llmjudge_labels", "recorded:*")
    assert {judge.judge.removeprefix("recorded:") for judge in found.judges} == set(reference)
    assert len(reference) == 33
    for judge in found.judges:
        expected = dict(reference[judge.judge.removeprefix("recorded:")])
        binary = expected.pop("binary")
        same(judge, expected, OURS)
        same(judge, binary)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "kappa"),
    [
        ("TREMA-4prompts", 0.1829),
        ("TREMA-naiveBdecompose", 0.1741),
        ("TREMA-sumdecompose", 0.2088),
        ("TREMA-CoT", 0.1961),
        ("TREMA-other", 0.1408),
    ],
)
def test_the_kappas_that_a_team_published_itself_are_reproduced(judge: str, kappa: float) -> None:
    (found,) = figures("llmjudge_labels", f"recorded:{judge}").judges
    assert round(value(found, "graded_kappa"), 4) == kappa


@pytest.mark.slow
def test_answer_correctness_judges_and_the_two_annotators_are_reproduced() -> None:
    reference = published("openqa_eval")
    people = reference.pop("annotator1 vs annotator2")
    for judge in figures("openqa_eval", [f"recorded:{name}" for name in reference]).judges:
        same(judge, reference[judge.judge.removeprefix("recorded:")])
    same(figures("openqa_eval", "recorded:votes/1", label="votes/0").judges[0], people)


@pytest.mark.slow
def test_pairwise_judges_are_reproduced_in_every_slice_and_order() -> None:
    slices = (
        "FairEval",
        "GPTInst",
        "GPTOut",
        "LLMEval^2",
        "MT-Bench",
        "Manual",
        "Natural",
        "Neighbor",
    )
    seen = 0
    for part in slices:
        reference = published(f"llmbar {part}")
        found = figures(
            "llmbar", [f"recorded:{name}" for name in reference], where=[f"slice={part}"]
        )
        for judge in found.judges:
            expected = reference[judge.judge.removeprefix("recorded:")]
            known = {figure.name: figure.value for figure in judge.position}
            known["n"] = judge.position[0].n
            got = {name: known[name] for name in expected}
            assert got == pytest.approx(expected, abs=5.1e-5), (part, judge.judge)
            seen += 1
    assert seen == 349  # five slices with 65 judges, three with 8


@pytest.mark.slow
def test_correlations_and_auroc_of_faithfulness_judges_are_reproduced() -> None:
    reference = published("mtrag_human")
    judges = [f"recorded:{name}" for name in reference]
    renamed = {
        "auroc_faithful_ge3": "auc",
        "kendall_tau_b": "kendall",
        "spearman_faithfulness": "spearman",
    }
    for judge in figures("mtrag_human", judges, cut=3, judge_cut=0.5).judges:
        expected = reference[judge.judge.removeprefix("recorded:")]
        same(judge, {k: v for k, v in expected.items() if k in renamed or k == "n"}, renamed)
    for quality in ("appropriateness", "completeness"):
        for judge in figures(
            "mtrag_human", judges, label=f"labels/{quality}", cut=3, judge_cut=0.5
        ).judges:
            expected = reference[judge.judge.removeprefix("recorded:")]
            assert value(judge, "spearman") == pytest.approx(
                expected[f"spearman_{quality}"], abs=5.1e-5
            )


@pytest.mark.slow
def test_agreement_of_the_two_annotators_of_answer_pairs_is_reproduced() -> None:
    for quality in ("completeness", "correctness", "overall"):
        (found,) = figures(
            "ragchecker_meta", f"recorded:votes/{quality}/1", label=f"votes/{quality}/0"
        ).judges
        same(found, published("ragchecker_meta")[f"annotators/{quality}"], OURS)


@pytest.mark.slow
def test_scores_of_two_answers_correlate_with_preferences_as_published() -> None:
    # The reference takes each annotator's preference as a row of its own: 200 pairs, 400 rows in
    # 200 clusters.
    with gzip.open(DATA / "ragchecker_meta" / "ragchecker_meta.jsonl.gz", "rt") as file:
        pairs = [json.loads(line) for line in file]
    for quality in ("completeness", "correctness", "overall"):
        rows = [
            {
                "id": f"{pair['id']}/{person}",
                "cluster": pair["id"],
                "judges": pair["judges"],
                "label": pair["votes"][quality][person],
            }
            for pair in pairs
            for person in (0, 1)
        ]
        (found,) = benchmark(rows, f"recorded:ragchecker/{quality}", draws=100, worst=0).judges
        expected = dict(published("ragchecker_meta")[f"ragchecker/{quality}"])
        assert found.clusters == expected.pop("n_pairs")
        same(found, expected)


@pytest.mark.slow
def test_specificity_on_inconsistent_summaries_is_reproduced_pooled_and_by_slice() -> None:
    reference = published("summac_val")
    for judge in figures("summac_val", [f"recorded:{name}" for name in reference]).judges:
        expected = reference[judge.judge.removeprefix("recorded:")]
        assert judge.n == expected["n_inconsistent"]
        assert value(judge, "specificity") == pytest.approx(expected["specificity"], abs=5.1e-5)
        assert any("people fail every row" in warning for warning in judge.warnings)
        by_slice = {
            part.value: next(
                figure.value for figure in part.figures if figure.name == "specificity"
            )
            for part in judge.slices
        }
        assert by_slice == pytest.approx(expected["by_slice"], abs=5.1e-5)


@pytest.mark.slow
def test_entailment_judges_are_reproduced_in_two_classes_and_in_three() -> None:
    reference = published("wice")
    for name in ("gpt-4-0613", "gpt-3.5-turbo-0613"):
        expected = dict(reference[name])
        binary = expected.pop("binary")
        same(
            figures("wice", f"recorded:{name}", where=["slice=claim"], judge_cut=1.0).judges[0],
            binary,
        )
        three = figures("wice", f"recorded:{name}", where=["slice=claim"], label="label_raw")
        assert three.set_up.scale == (0.0, 0.5, 1.0)
        assert three.set_up.graded
        same(three.judges[0], expected, OURS)
    for name in ("t5-3b-anli", "t5-3b-anli-wice"):
        for split in ("dev", "test"):
            (found,) = figures(
                "wice", f"recorded:{name}", where=["slice=claim", f"split={split}"]
            ).judges
            same(found, reference[f"{name} {split}"], {"auroc": "auc"})
