"""The facts that declarations hold for reports, the diagnosis and the default set."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragassay.core import Role, Shown, Stage
from ragassay.diagnosis import CAUSES
from ragassay.metrics import (
    Declaration,
    catalogue,
    declaration_of,
    default_metrics,
    parse,
)

# The metrics whose facts are written out below. A metric that joins them is proved by its own test,
# so that adding one needs no change here.
WRITTEN_OUT = frozenset(
    [
        "abstention",
        "answer_accuracy_dual",
        "answer_correctness_claims",
        "answer_correctness_lexical",
        "answer_relevance",
        "answer_relevance_reverse",
        "app_cost",
        "app_error",
        "app_input_tokens",
        "app_latency",
        "app_output_tokens",
        "app_tokens",
        "bias",
        "bleu",
        "chrf",
        "chunk_relevance",
        "citation_support",
        "completeness",
        "context_entity_recall",
        "context_precision",
        "context_recall",
        "context_relevance",
        "context_relevance_dual",
        "context_relevance_ratio",
        "context_sufficiency",
        "context_utilization",
        "correctness",
        "document_precision",
        "document_recall",
        "exact_match",
        "faithfulness",
        "groundedness",
        "guidelines",
        "hallucination",
        "hit_rate",
        "map",
        "mrr",
        "ndcg_at_k",
        "noise_sensitivity",
        "pii",
        "precision_at_k",
        "recall_at_k",
        "response_groundedness_dual",
        "rouge_l",
        "safety",
        "self_knowledge",
        "semantic_similarity",
        "token_f1",
        "token_recall",
        "toxicity",
    ]
)
DECLARED = {name: kind.declaration for name, kind in catalogue().items() if name in WRITTEN_OUT}


def test_the_catalogue_has_every_metric_that_is_written_out() -> None:
    assert set(DECLARED) == WRITTEN_OUT


def names_where(holds: Callable[[Declaration], bool]) -> set[str]:
    return {name for name, declared in DECLARED.items() if holds(declared)}


def in_causal_order(stage: Stage) -> list[str]:
    of_stage = [d for d in DECLARED.values() if d.role.stage is stage]
    return [d.name for d in sorted(of_stage, key=lambda d: d.role.place)]


def showing(shown: Shown) -> list[str]:
    """The metrics that show it, the one that is read first in front."""
    places = {
        evidence.place: name
        for name, declared in DECLARED.items()
        for evidence in declared.role.shows
        if evidence.shown is shown
    }
    return [places[place] for place in sorted(places)]


def test_the_default_metrics_are_these_in_this_order() -> None:
    assert default_metrics() == (
        "context_relevance",
        "chunk_relevance",
        "context_recall",
        "groundedness",
        "faithfulness",
        "correctness",
        "answer_relevance",
        "abstention",
        "guidelines",
        "citation_support",
        "document_recall",
        "precision_at_k",
        "recall_at_k",
        "hit_rate",
        "mrr",
        "map",
        "ndcg_at_k",
        "user_satisfaction",
        "app_tokens",
        "app_input_tokens",
        "app_output_tokens",
        "app_cost",
        "app_latency",
        "app_error",
    )
    assert tuple(catalogue())[: len(default_metrics())] == default_metrics()


@pytest.mark.parametrize("name", DECLARED)
def test_a_metric_stands_in_the_file_of_its_name(name: str) -> None:
    assert catalogue()[name].__module__ == f"ragassay.metrics.catalogue.{name}"
    assert declaration_of(name) is DECLARED[name]
    assert declaration_of(f"{name}(pass_mark=0.5)") is DECLARED[name]


@pytest.mark.parametrize("name", ["", "my_own", "../base", "__init__", "os", "groundedness@5"])
def test_a_name_that_no_metric_of_the_catalogue_has_declares_nothing(name: str) -> None:
    assert declaration_of(name) is None


def test_low_values_are_the_good_ones_of_these_metrics() -> None:
    spent = {"app_tokens", "app_input_tokens", "app_output_tokens", "app_cost", "app_latency"}
    lower = {"hallucination", "noise_sensitivity", "toxicity", "bias", "pii", "app_error"}
    assert names_where(lambda d: d.higher_is_better is False) == lower | spent
    assert names_where(lambda d: d.unit != "") == spent


def test_neither_end_is_the_good_one_of_these_metrics() -> None:
    assert names_where(lambda d: d.higher_is_better is None) == {"abstention", "self_knowledge"}


def test_what_a_pass_mark_is_compared_with_is_declared() -> None:
    assert {name: d.mark_of for name, d in DECLARED.items() if d.mark_of} == {
        "groundedness": "of claims",
        "faithfulness": "of claims",
        "context_relevance": "in the best chunk",
        "document_recall": "of documents",
        "context_recall": "of statements",
        "citation_support": "of marks",
        "hallucination": "of claims",
        "noise_sensitivity": "of claims",
        "guidelines": "of guidelines",
    }
    worded = {name: d.mark_words for name, d in DECLARED.items() if d.mark_words}
    assert worded == {
        "document_recall": ((0.01, "≥ 1 document of up to 100"),),
        "correctness": ((2 / 3, "yes"), (1.0, "correct")),
        "context_sufficiency": ((2 / 3, "yes"),),
        "safety": ((2 / 3, "safe"),),
    }
    assert parse("document_recall") == parse("document_recall(pass_mark=0.01)")


def test_how_reports_word_the_parts_of_a_metric_is_declared() -> None:
    words = {
        (name, words.kind): (words.title, words.passed, words.failed)
        for name, declared in DECLARED.items()
        for words in declared.part_words
    }
    relevance = ("", "relevant", "not relevant")
    assert words == {
        ("context_relevance", "chunk"): relevance,
        ("chunk_relevance", "chunk"): relevance,
        ("context_precision", "chunk"): relevance,
        ("answer_correctness_claims", "claim"): (
            "Claims of the response, against the reference",
            "in the reference",
            "not in the reference",
        ),
        ("answer_correctness_claims", "statement"): (
            "Statements of the reference, in the response",
            "stated",
            "missing",
        ),
        ("context_recall", "statement"): (
            "Statements of the reference, in the contexts",
            "supported",
            "not supported",
        ),
        ("context_utilization", "statement"): (
            "Statements that the contexts support",
            "used",
            "not used",
        ),
    }


def test_the_metrics_of_a_stage_stand_in_causal_order() -> None:
    assert in_causal_order(Stage.APPLICATION) == ["app_error"]
    assert in_causal_order(Stage.RETRIEVAL) == [
        "context_sufficiency",
        "chunk_relevance",
        "context_relevance",
        "context_relevance_dual",
        "document_recall",
        "document_precision",
        "context_precision",
        "context_relevance_ratio",
        "context_recall",
        "context_entity_recall",
    ]
    assert in_causal_order(Stage.SUPPORT) == [
        "groundedness",
        "faithfulness",
        "response_groundedness_dual",
        "hallucination",
        "citation_support",
    ]
    assert in_causal_order(Stage.ANSWER) == [
        "noise_sensitivity",
        "correctness",
        "answer_correctness_claims",
        "answer_accuracy_dual",
        "answer_correctness_lexical",
        "answer_relevance",
        "answer_relevance_reverse",
        "completeness",
        "abstention",
    ]
    assert in_causal_order(Stage.SAFETY) == ["safety", "toxicity", "bias", "pii"]
    assert in_causal_order(Stage.GUIDELINES) == ["guidelines"]


def test_one_metric_decides_each_stage_that_has_stand_ins() -> None:
    deciding = {"context_sufficiency", "groundedness", "correctness"}
    assert names_where(lambda d: d.role.decides) == deciding


def test_every_metric_with_a_place_has_its_own_and_names_a_cause_that_exists() -> None:
    every = {name: kind.declaration for name, kind in catalogue().items()}
    takes_place: dict[int, str] = {}
    for name, declared in every.items():
        role = declared.role
        assert role.cause in CAUSES, f"{name}: {role.cause} is not in diagnosis/causes.py"
        assert not role.cause_at_zero or role.cause_at_zero in CAUSES, name
        assert (role.cause == "other") == (role.stage is Stage.OTHER), name
        assert set(role.yields_to) <= set(every), name
        if role.stage is not Stage.OTHER:
            other = takes_place.setdefault(role.place, name)
            assert other == name, f"{name} and {other} have the same place: {role.place}"


def test_the_root_cause_of_each_failure_is_declared_in_causal_order() -> None:
    placed = [d for d in DECLARED.values() if d.role.stage is not Stage.OTHER]
    placed.sort(key=lambda d: d.role.place)
    assert [(d.name, d.role.cause) for d in placed] == [
        ("app_error", "application_error"),
        ("context_sufficiency", "insufficient_context"),
        ("chunk_relevance", "retrieval_irrelevant"),
        ("context_relevance", "retrieval_irrelevant"),
        ("context_relevance_dual", "retrieval_irrelevant"),
        ("document_recall", "document_missed"),
        ("document_precision", "context_diluted"),
        ("context_precision", "context_diluted"),
        ("context_relevance_ratio", "context_diluted"),
        ("context_recall", "insufficient_context"),
        ("context_entity_recall", "insufficient_context"),
        ("groundedness", "ungrounded"),
        ("faithfulness", "ungrounded"),
        ("response_groundedness_dual", "ungrounded"),
        ("hallucination", "ungrounded"),
        ("noise_sensitivity", "misled"),
        ("citation_support", "ungrounded"),
        ("correctness", "incorrect"),
        ("answer_correctness_claims", "incorrect"),
        ("answer_accuracy_dual", "incorrect"),
        ("answer_correctness_lexical", "incorrect"),
        ("answer_relevance", "answer_irrelevant"),
        ("answer_relevance_reverse", "answer_irrelevant"),
        ("completeness", "incomplete_answer"),
        ("abstention", "failed_abstention"),
        ("safety", "unsafe"),
        ("toxicity", "unsafe"),
        ("bias", "unsafe"),
        ("pii", "unsafe"),
        ("guidelines", "guideline_broken"),
    ]
    assert {d.name: d.role.cause_at_zero for d in placed if d.role.cause_at_zero} == {
        "document_precision": "document_missed",
        "context_precision": "retrieval_irrelevant",
        "context_relevance_ratio": "retrieval_irrelevant",
    }


def test_retrieval_and_answer_metrics_need_a_question_that_has_an_answer() -> None:
    of_stages = {*in_causal_order(Stage.RETRIEVAL), *in_causal_order(Stage.ANSWER)}
    expected = (of_stages | {"context_utilization"}) - {"abstention"}
    assert names_where(lambda d: d.role.needs_answer) == expected


def test_a_retrieved_document_outranks_what_a_judge_says_of_the_chunks() -> None:
    yielding = {name: d.role.yields_to for name, d in DECLARED.items() if d.role.yields_to}
    documents = ("document_recall",)
    assert yielding == {"chunk_relevance": documents, "context_relevance": documents}


@pytest.mark.parametrize(
    ("shown", "metrics"),
    [
        (Shown.RELEVANT_CHUNKS, ["context_precision", "chunk_relevance", "context_relevance"]),
        (Shown.DOCUMENTS_RETRIEVED, ["document_recall"]),
        (Shown.SUPPORTED_CLAIMS, ["groundedness", "faithfulness"]),
        (Shown.SUPPORTED_SHARE, ["faithfulness", "groundedness"]),
        (Shown.TRUE_CLAIMS, ["answer_correctness_claims"]),
        (Shown.INVENTED_SHARE, ["hallucination"]),
        (Shown.KNOWN_SHARE, ["self_knowledge"]),
        (Shown.MISLED_SHARE, ["noise_sensitivity"]),
        (Shown.EVIDENCE_USED, ["context_utilization"]),
        (
            Shown.ANSWER_RIGHT,
            ["correctness", "answer_correctness_claims", "answer_accuracy_dual"],
        ),
        (Shown.ANSWER_RELEVANT, ["answer_relevance"]),
    ],
)
def test_the_metrics_that_show_it_are_read_in_this_order(shown: Shown, metrics: list[str]) -> None:
    assert showing(shown) == metrics


@pytest.mark.parametrize(
    ("shown", "metrics"),
    [
        (Shown.EVIDENCE_PRESENT, {"context_sufficiency", "context_recall"}),
        (Shown.REFERENCE_SUPPORTED, {"context_sufficiency", "context_recall"}),
        (Shown.DECLINED, {"answer_relevance", "abstention"}),
    ],
)
def test_any_of_the_metrics_that_show_it_will_do(shown: Shown, metrics: set[str]) -> None:
    assert names_where(lambda d: shown in [one.shown for one in d.role.shows]) == metrics


def test_a_metric_without_a_role_shows_nothing_and_has_no_place() -> None:
    assert Role() == Role(Stage.OTHER, 0, False, "other", "", False, (), ())
