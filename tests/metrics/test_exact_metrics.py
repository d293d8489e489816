"""Metrics that ask nobody: shared wording, documents by id, and what the application reports."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ragassay.core import Context, Sample, Status, Verdict
from ragassay.metrics import parse
from support.diagnosing import diagnose
from support.hand_fed import gone, near, never, play

ROW = Sample("r", response="The tower opened in 1889, in Paris.", reference="It opened in 1889")
LEXICAL = ("token_f1", "token_recall", "exact_match", "rouge_l", "chrf", "bleu")


def test_token_measures_count_shared_tokens_after_dropping_case_punctuation_and_articles() -> None:
    # response: tower opened in 1889 in paris; reference: it opened in 1889; shared: opened, in,
    # 1889
    assert play("token_f1", ROW, never)[0].value == pytest.approx(2 * 3 / (6 + 4))
    assert play("token_recall", ROW, never)[0].value == 3 / 4
    assert play("exact_match", ROW, never)[0].value == 0.0
    assert (
        play("exact_match", replace(ROW, response="The  IT opened, in 1889!"), never)[0].value
        == 1.0
    )


def test_rouge_l_is_the_longest_common_word_sequence() -> None:
    # the tower opened in 1889 in paris (7) and it opened in 1889 (4): opened in 1889 = 3
    assert play("rouge_l", ROW, never)[0].value == pytest.approx(2 * 3 / (7 + 4))


def test_chrf_and_bleu_of_small_texts_worked_by_hand() -> None:
    # abc and abd: unigrams 2/3, bigrams 1/2, trigrams 0/1; P = R = (2/3 + 1/2 + 0) / 3; F = P
    assert play("chrf", Sample("r", response="abc", reference="abd"), never)[
        0
    ].value == pytest.approx((2 / 3 + 1 / 2) / 3)
    # a b c d against a b c e: 3/4, 2/3, 1/2, then 1/(2 * 1) for the first order without a match
    bleu = play("bleu", Sample("r", response="a b c d", reference="a b c e"), never)[0].value
    assert bleu == pytest.approx(math.exp(sum(map(math.log, (3 / 4, 2 / 3, 1 / 2, 1 / 2))) / 4))


@pytest.mark.parametrize("metric", LEXICAL)
def test_equal_texts_are_one_disjoint_ones_zero_and_an_empty_reference_does_not_apply(
    metric: str,
) -> None:
    same = "It opened in 1889 in Paris"
    assert play(metric, Sample("r", response=same, reference=same), never)[
        0
    ].value == pytest.approx(1.0)
    assert play(metric, Sample("r", response="xyz", reference="quick mud"), never)[0].value == 0.0
    for reference in ("", "  "):
        score, _ = play(metric, replace(ROW, reference=reference), never)
        assert (score.status, score.reason) == (
            Status.NOT_APPLICABLE,
            "the reference holds no word",
        )
    empty, _ = play(metric, replace(ROW, response=" "), never)
    assert (empty.value, empty.flags) == (0.0, ("empty_response",))


@pytest.mark.parametrize("metric", LEXICAL)
def test_texts_of_more_than_a_million_characters_are_refused_and_not_cut(metric: str) -> None:
    score, _ = play(metric, replace(ROW, reference="ab " * 400_000), never)
    assert (score.status, score.value) == (Status.FAILED, None)
    assert (
        score.reason
        == "the reference has more than 1,000,000 characters, the most that are compared"
    )


def test_only_token_recall_gives_a_verdict_from_a_half_on() -> None:
    assert {
        play(metric, ROW, never)[0].verdict for metric in LEXICAL if metric != "token_recall"
    } == {None}
    half = Sample("r", response="opened in", reference="It opened in 1889")
    assert (
        play("token_recall", half, never)[0].verdict,
        play("token_recall", half, never)[0].pass_mark,
    ) == (
        Verdict.PASS,
        0.5,
    )
    assert play("token_recall(pass_mark=0.6)", half, never)[0].verdict is Verdict.FAIL


def test_lexical_correctness_blends_f1_and_cosine_by_the_weight() -> None:
    score, asked = play("answer_correctness_lexical", ROW, lambda r: near(r, 0.8))
    assert [(r.rubric, r.inputs) for r in asked] == [
        ("similarity", {"text": ROW.response, "other": ROW.reference})
    ]
    assert score.value == pytest.approx(0.5 * 0.6 + 0.5 * 0.8)
    assert score.extra == {"f1": pytest.approx(0.6), "similarity": 0.8}
    weighed, _ = play("answer_correctness_lexical(f1_weight=0.25)", ROW, lambda r: near(r, 0.8))
    assert weighed.value == pytest.approx(0.25 * 0.6 + 0.75 * 0.8)
    alone, _ = play("answer_correctness_lexical(f1_weight=1)", ROW, never)
    assert alone.value == pytest.approx(0.6)
    assert alone.extra == {"f1": pytest.approx(0.6)}


def test_a_lost_cosine_leaves_no_lexical_correctness() -> None:
    score, _ = play("answer_correctness_lexical", ROW, lambda r: gone(r, Status.FAILED))
    assert (score.status, score.value, score.verdict, score.counts.failed) == (
        Status.FAILED,
        None,
        None,
        1,
    )


@pytest.mark.parametrize(
    ("ids", "value"),
    [
        (("a", "b", "c", "d"), 0.5),
        (("a", "a", "x", "x"), 0.5),
        (("x",), 0.0),
        (("a",), 1.0),
        (("a", "a", "b", "y"), 2 / 3),
    ],
)
def test_document_precision_counts_each_document_once(ids: tuple[str, ...], value: float) -> None:
    row = Sample(
        "r",
        contexts=tuple(Context("t", id_) for id_ in ids),
        relevant_ids={"a": 1.0, "b": 2.0, "z": 1.0, "x": 0.0},
    )
    assert play("document_precision", row, never)[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Sample("r", contexts=(), relevant_ids={"a": 1.0}), "nothing was retrieved"),
        (
            Sample("r", contexts=(Context("t", "a"),), relevant_ids={"a": 0.0}),
            "relevant_ids names no relevant document",
        ),
        (Sample("r", contexts=(Context("t"),), relevant_ids={"a": 1.0}), "context 1 has no id"),
        (Sample("r", contexts=(Context("t", "a"),)), "the row has no relevant_ids"),
    ],
)
def test_document_precision_of_nothing_is_not_applicable(row: Sample, reason: str) -> None:
    score, _ = play("document_precision", row, never)
    assert (score.status, score.value, score.reason) == (Status.NOT_APPLICABLE, None, reason)


def test_an_application_error_is_counted_and_fails_the_row() -> None:
    failed, _ = play("app_error", Sample("r", error="timeout after 30 s"), never)
    assert (failed.value, failed.verdict, failed.rationale) == (
        1.0,
        Verdict.FAIL,
        "timeout after 30 s",
    )
    fine, _ = play("app_error", Sample("r", response=""), never)
    assert (fine.value, fine.verdict) == (0.0, Verdict.PASS)
    # Not to fail is no sign of quality: the row does not pass by it.
    assert diagnose(Sample("r", response="x"), [fine]).verdict is None
    assert diagnose(Sample("r", error="timeout"), [failed]).verdict is Verdict.FAIL
    unknown, _ = play("app_error", Sample("r", question="q"), never)
    assert (unknown.status, unknown.reason) == (
        Status.NOT_APPLICABLE,
        "the row has no error or response",
    )
    assert parse("app_error").declaration.higher_is_better is False
