"""The metrics of the claim graph on rows worked by hand; the judge's side is played from two
tables.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ragassay.core import (
    Context,
    Evidence,
    Judgment,
    Request,
    Sample,
    Score,
    SetupError,
    Status,
    Verdict,
)
from ragassay.metrics import parse

ALPHA, BETA, GAMMA, DELTA, EPSILON = (
    "Alpha is one.",
    "Beta is two.",
    "Gamma is three.",
    "Delta is four.",
    "Epsilon is five.",
)
ZETA, ETA = "Zeta is six.", "Eta is seven."
CHUNKS = (Context("first chunk"), Context("second chunk"), Context("third chunk"))
ROW = Sample(
    "r",
    question="What is what?",
    contexts=CHUNKS,
    response=f"{ALPHA} {BETA} {GAMMA} {DELTA} {EPSILON}",
    reference=f"{ALPHA} {ZETA} {ETA}",
)

# Which chunks support it, () for none; None: supported, but the judge names no chunk; a Status:
# lost.
SUPPORT: Mapping[str, tuple[int, ...] | Status | None] = {
    ALPHA: (0,),
    BETA: (0, 1),
    GAMMA: (1,),
    DELTA: (),
    EPSILON: (),
    ZETA: (2,),
    ETA: (),
}
IN_TRUTH: Mapping[str, bool | Status] = {
    ALPHA: True,
    BETA: False,
    GAMMA: False,
    DELTA: False,
    EPSILON: True,
}
IN_RESPONSE: Mapping[str, bool | Status] = {ALPHA: True, ZETA: False, ETA: True}
# right: alpha, epsilon; noise in relevant chunks (1 and 3 are: alpha, zeta): beta; in irrelevant
# ones: gamma; made up: delta; known without the contexts: epsilon.


def lost(request: Request, status: Status) -> Judgment:
    return Judgment(request.key, "j", request.rubric, status, reason=f"{request.rubric} was lost")


def verdict(request: Request, yes: bool, **more: Any) -> Judgment:
    rating = (
        {True: 3, False: 0}
        if request.rubric == "groundedness"
        else {True: "stated", False: "not_stated"}
    )
    return Judgment(
        request.key,
        "j",
        request.rubric,
        Status.JUDGED,
        rating[yes],
        float(yes),
        passes=yes,
        rationale="so",
        **more,
    )


def judge(
    support: Mapping[str, tuple[int, ...] | Status | None] = SUPPORT,
    truth: Mapping[str, bool | Status] = IN_TRUTH,
    response: Mapping[str, bool | Status] = IN_RESPONSE,
    *,
    located: tuple[int, ...] | Status | None = None,
    similarity: float | Status = 0.8,
    admitted: tuple[str, ...] = (),
    grades: Mapping[str, int | Status] | None = None,
) -> Callable[[Request], Judgment]:
    """located: what a second question about the sources gives. admitted: claims that the judge
    finds to be admissions.
    """

    def answer(request: Request) -> Judgment:
        claim = request.inputs.get("claim", "")
        assert isinstance(claim, str)
        if request.rubric == "groundedness":
            sources = support[claim]
            if isinstance(sources, Status):
                return lost(request, sources)
            if claim in admitted:
                return verdict(request, True, flags=("abstention",))
            return verdict(request, sources != (), sources=sources)
        if request.rubric == "claim_sources":
            if isinstance(located, Status):
                return lost(request, located)
            return verdict(request, True, sources=located)
        if request.rubric == "similarity":
            if isinstance(similarity, Status):
                return lost(request, similarity)
            return Judgment(request.key, "j", "similarity", Status.JUDGED, value=similarity)
        if request.rubric == "context_relevance":
            grade = (grades or {})[request.text("context")]
            if isinstance(grade, Status):
                return lost(request, grade)
            return Judgment(
                request.key, "j", request.rubric, Status.JUDGED, grade, grade / 3, passes=grade >= 2
            )
        assert request.rubric == "entailment", request
        said = (truth if request.text("text") == ROW.reference else response)[claim]
        return lost(request, said) if isinstance(said, Status) else verdict(request, said)

    return answer


def play(
    metric: str, sample: Sample = ROW, answer: Callable[[Request], Judgment] | None = None
) -> tuple[Score, list[tuple[Request, ...]]]:
    """The Score, and the waves that were asked."""
    answer = answer or judge()
    flow, waves = parse(metric).flow(sample), []
    try:
        asked = next(flow)
        while True:
            waves.append(asked)
            asked = flow.send(tuple(answer(request) for request in asked))
    except StopIteration as done:
        score: Score = done.value
        return score, waves


def value(
    metric: str, sample: Sample = ROW, answer: Callable[[Request], Judgment] | None = None
) -> float | None:
    return play(metric, sample, answer)[0].value


# -- the numbers


@pytest.mark.parametrize(
    ("metric", "expected", "says"),
    [
        ("groundedness", 3 / 5, Verdict.FAIL),  # alpha, beta, gamma
        ("faithfulness", 3 / 5, Verdict.FAIL),
        ("context_recall", 2 / 3, Verdict.FAIL),  # alpha and zeta of three
        ("context_recall(pass_mark=0.6)", 2 / 3, Verdict.PASS),
        ("context_precision", (1 / 1 + 2 / 3) / 2, Verdict.PASS),  # ranks 1 and 3
        ("context_precision(pass_mark=0.9)", 5 / 6, Verdict.FAIL),
        ("context_precision(against=response)", 1.0, Verdict.PASS),  # ranks 1 and 2
        ("context_utilization", 1 / 2, None),  # of alpha and zeta, alpha
        ("noise_sensitivity", 1 / 5, Verdict.FAIL),  # gamma
        ("noise_sensitivity(mode=relevant)", 1 / 5, Verdict.FAIL),  # beta
        ("noise_sensitivity(pass_mark=0.2)", 1 / 5, Verdict.PASS),
        ("hallucination", 1 / 5, Verdict.FAIL),  # delta
        ("hallucination(against=contexts)", 2 / 5, Verdict.FAIL),  # delta, epsilon
        ("hallucination(pass_mark=0.2)", 1 / 5, Verdict.PASS),
        ("self_knowledge", 1 / 5, None),  # epsilon
        (
            "answer_correctness_claims(similarity_weight=0)",
            0.5,
            None,
        ),  # P 2/5, R 2/3: 2 * 4/15 / (16/15)
        (
            "answer_correctness_claims(similarity_weight=0, beta=2)",
            10 / 17,
            None,
        ),  # 5 * 4/15 / (8/5 + 2/3)
        ("answer_correctness_claims(similarity_weight=0, part=precision)", 2 / 5, None),
        ("answer_correctness_claims(similarity_weight=0, part=recall)", 2 / 3, None),
        ("answer_correctness_claims", 0.75 * 0.5 + 0.25 * 0.8, None),
        ("answer_correctness_claims(similarity_weight=1)", 0.8, None),
    ],
)
def test_the_figures_of_a_row_worked_by_hand(
    metric: str, expected: float, says: Verdict | None
) -> None:
    score, _ = play(metric)
    assert score.value == pytest.approx(expected, abs=1e-15)
    assert (score.status, score.verdict, score.flags) == (Status.JUDGED, says, ())
    assert score.counts.asked == score.counts.judged > 0


def test_right_claims_noise_and_hallucination_make_up_the_response() -> None:
    right = value("answer_correctness_claims(similarity_weight=0, part=precision)") or 0.0
    shares = [
        value(m) or 0.0
        for m in ("noise_sensitivity", "noise_sensitivity(mode=relevant)", "hallucination")
    ]
    assert right + sum(shares) == pytest.approx(1)
    assert sum(
        value(m) or 0.0 for m in ("faithfulness", "hallucination", "self_knowledge")
    ) == pytest.approx(1)


@pytest.mark.parametrize(
    "metric",
    ["noise_sensitivity", "noise_sensitivity(mode=relevant)", "hallucination", "self_knowledge"],
)
def test_the_value_is_the_mean_over_the_parts(metric: str) -> None:
    score, _ = play(metric)
    assert score.value == sum(part.value or 0.0 for part in score.parts) / len(score.parts)
    counted = [part.start for part in score.parts if part.value]
    place = {
        "noise_sensitivity": GAMMA,
        "noise_sensitivity(mode=relevant)": BETA,
        "hallucination": DELTA,
    }
    assert counted == [(ROW.response or "").index(place.get(metric, EPSILON))]


def test_correctness_shows_precision_recall_and_the_cosine_beside_its_value() -> None:
    score, _ = play("answer_correctness_claims")
    assert score.extra == {
        "precision": 0.4,
        "recall": 2 / 3,
        "f": pytest.approx(0.5),
        "similarity": 0.8,
    }
    assert [part.kind for part in score.parts] == ["claim"] * 5 + ["statement"] * 4


def test_with_a_similarity_weight_of_zero_no_cosine_is_asked_for() -> None:
    asked = {
        r.rubric for wave in play("answer_correctness_claims(similarity_weight=0)")[1] for r in wave
    }
    assert asked == {"entailment"}
    assert "similarity" not in parse("answer_correctness_claims(similarity_weight=0)").rubrics  # type: ignore[attr-defined]


def test_context_precision_against_the_question_reads_the_grades_of_context_relevance() -> None:
    grades = {"first chunk": 1, "second chunk": 3, "third chunk": 2}
    score, waves = play(
        "context_precision(against=question)", replace(ROW, reference=None), judge(grades=grades)
    )
    assert score.value == pytest.approx((1 / 2 + 2 / 3) / 2)  # ranks 2 and 3
    assert [request.rubric for request in waves[0]] == ["context_relevance"] * 3
    assert play("context_relevance", ROW, judge(grades=grades))[1] == waves


def test_expected_facts_are_the_statements_if_there_are_any_and_the_reference_is_the_text() -> None:
    row = replace(ROW, expected_facts=(ALPHA, " ", ETA, ALPHA))
    score, waves = play("context_recall", row)
    assert score.value == 1 / 2  # alpha; eta is not there
    assert {request.text("response") for request in waves[0]} == {ROW.reference}
    facts_only = replace(row, reference=None)
    _, waves = play("context_recall", facts_only)
    assert {request.text("response") for request in waves[0]} == {f"{ALPHA}\n{ETA}"}


def test_a_chunk_shows_the_evidence_that_lies_in_it() -> None:
    quote = Evidence(2, 0, 5, "third")

    def answer(request: Request) -> Judgment:
        return replace(judge()(request), evidence=(quote,))

    chunks = play("context_precision", ROW, answer)[0].parts
    assert [(part.kind, part.context, part.evidence) for part in chunks] == [
        ("chunk", 0, ()),
        ("chunk", 1, ()),
        ("chunk", 2, (quote,)),
    ]
    # What an entailment quotes lies in the truth or the response, and no reader should look for it
    # in the contexts.
    parts = play("answer_correctness_claims(similarity_weight=0)", ROW, answer)[0].parts
    assert all(part.evidence == () for part in parts)


# -- nothing retrieved, nothing said, nothing known


def no_support(request: Request) -> Judgment:
    """For rows without contexts: nothing about support may be asked but whether the response
    declines.
    """
    if request.rubric == "answer_relevance":
        return Judgment(request.key, "j", request.rubric, Status.JUDGED, 3, 1.0, passes=True)
    assert request.rubric == "entailment", request
    return judge()(request)


@pytest.mark.parametrize("contexts", [(), (Context(""), Context(" \n"))])
def test_where_nothing_was_retrieved_nothing_is_supported(contexts: tuple[Context, ...]) -> None:
    row = replace(ROW, contexts=contexts)
    assert value("context_recall", row, no_support) == 0.0
    assert value("hallucination", row, no_support) == 3 / 5  # beta, gamma, delta
    assert value("self_knowledge", row, no_support) == 2 / 5  # alpha, epsilon
    assert value("hallucination(against=contexts)", row, no_support) == 1.0
    for metric, reason in (
        ("noise_sensitivity", "nothing was retrieved that could mislead"),
        (
            "context_utilization",
            "the contexts support no statement of the reference, so there is nothing to use",
        ),
    ):
        score, _ = play(metric, row, no_support)
        assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
        assert score.reason == reason


def test_without_a_chunk_there_is_no_context_precision_and_the_row_fails() -> None:
    for against in ("reference", "question", "response"):
        score, waves = play(f"context_precision(against={against})", replace(ROW, contexts=()))
        assert (score.status, score.value, score.verdict) == (
            Status.NOT_APPLICABLE,
            None,
            Verdict.FAIL,
        )
        assert (score.flags, waves) == (("nothing_retrieved",), [])
    blank, _ = play("context_precision", replace(ROW, contexts=(Context(" "),)), no_support)
    assert (blank.value, blank.verdict) == (0.0, Verdict.FAIL)


def test_a_blank_chunk_is_irrelevant_and_chunks_of_one_text_are_relevant_together() -> None:
    row = replace(
        ROW,
        contexts=(
            Context("first chunk"),
            Context(" "),
            Context(" first chunk\n"),
            Context("other"),
        ),
    )
    score, _ = play("context_precision", row, judge({ALPHA: (0,), ZETA: (1,), ETA: ()}, located=()))
    # A blank chunk supports nothing: zeta's source is not known, so neither is whether the fourth
    # chunk is relevant.
    assert (score.value, score.verdict) == (None, Verdict.UNDECIDED)
    assert [part.value for part in score.parts] == [1.0, 0.0, 1.0, None]
    score, _ = play("context_precision", row, judge({ALPHA: (0,), ZETA: (0,), ETA: ()}))
    assert score.value == pytest.approx((1 + 2 / 3) / 2)  # ranks 1 and 3


@pytest.mark.parametrize("response", ["", " \n"])
def test_an_empty_response_states_nothing_and_makes_nothing_up(response: str) -> None:
    row = replace(ROW, response=response)
    for metric in (
        "hallucination",
        "self_knowledge",
        "noise_sensitivity",
        "context_precision(against=response)",
        "answer_correctness_claims(part=precision)",
    ):
        score, waves = play(metric, row)
        assert (score.status, score.reason, waves) == (
            Status.NOT_APPLICABLE,
            "the response is empty",
            [],
        )
        assert score.flags == ("empty_response",)
    for metric in ("answer_correctness_claims", "answer_correctness_claims(part=recall)"):
        score, waves = play(metric, row)
        assert (score.value, score.flags, waves) == (0.0, ("empty_response",), [])
    used, _ = play("context_utilization", row)
    assert (used.value, used.flags) == (0.0, ("empty_response",))


def test_a_response_that_only_admits_not_knowing_is_neither_right_nor_made_up() -> None:
    row = replace(ROW, response="I don't know. The passages do not say.")
    for metric in (
        "hallucination",
        "self_knowledge",
        "noise_sensitivity",
        "context_precision(against=response)",
        "answer_correctness_claims(part=precision)",
    ):
        score, waves = play(metric, row)
        assert (score.status, score.value, score.verdict, waves) == (
            Status.NOT_APPLICABLE,
            None,
            None,
            [],
        )
        assert (score.flags, score.reason) == (
            ("abstention",),
            "the response only admits that it does not know",
        )
        assert [part.reason for part in score.parts] == ["no claim: it admits not knowing"] * 2
    score, waves = play("answer_correctness_claims", row)
    assert (score.value, score.flags, waves) == (0.0, ("abstention",), [])
    assert score.extra == {"recall": 0.0, "f": 0.0, "similarity": 0.0}
    used, waves = play("context_utilization", row)
    assert (used.value, used.flags) == (0.0, ("abstention",))
    assert {request.rubric for wave in waves for request in wave} == {"groundedness"}


def test_an_admission_beside_claims_is_left_out_and_stays_visible() -> None:
    row = replace(ROW, response=f"{DELTA} I don't know the rest. {ALPHA}")
    score, waves = play("hallucination", row)
    assert score.value == 1 / 2  # delta of delta and alpha
    assert [part.status for part in score.parts] == [
        Status.JUDGED,
        Status.NOT_APPLICABLE,
        Status.JUDGED,
    ]
    assert score.parts[1].flags == ("abstention",)
    assert len(waves[0]) == 4
    # The judge may see an admission where the rule sees none.
    odd, _ = play("hallucination", row, judge(admitted=(DELTA,)))
    assert (odd.value, odd.counts.asked) == (0.0, 1)
    assert play("noise_sensitivity", row, judge(admitted=(DELTA,)))[0].counts.asked == 1


def test_the_items_of_a_list_are_judged_with_the_words_that_they_complete() -> None:
    response = "Yes. The policy excludes [1]:\n- racing [1]\n- diving"
    row = replace(ROW, response=response, reference=None)
    read = ["The policy excludes racing", "The policy excludes diving"]
    score, waves = play("groundedness", row, judge(dict.fromkeys(read, (0,))))
    assert [request.text("claim") for request in waves[0]] == read
    # What is shown is the response, with what was not judged and why.
    shown = [(response[part.start : part.end], part.status.value) for part in score.parts]
    assert shown == [
        ("Yes.", "not_applicable"),
        ("The policy excludes [1]:", "not_applicable"),
        ("racing [1]", "judged"),
        ("diving", "judged"),
    ]


def test_where_the_judge_finds_nothing_but_admissions_the_shares_do_not_apply() -> None:
    row = replace(ROW, response=f"{DELTA} {ALPHA}")
    for metric in ("hallucination", "self_knowledge", "noise_sensitivity"):
        score, _ = play(metric, row, judge(admitted=(DELTA, ALPHA)))
        assert (score.status, score.flags) == (Status.NOT_APPLICABLE, ("abstention",))
    declined = replace(row, contexts=())
    answer = lambda r: replace(no_support(r), flags=("declined",))  # noqa: E731
    assert play("hallucination", declined, answer)[0].flags == ("abstention",)


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        ({"reference": ""}, "the reference is empty"),
        ({"reference": " \n"}, "the reference is empty"),
        ({"reference": "???"}, "the reference makes no statement"),
        ({"reference": "Sure! I hope this helps."}, "the reference makes no statement"),
        ({"reference": "I don't know."}, "the reference declines to answer"),
        ({"reference": None, "expected_facts": ()}, "expected_facts holds no text"),
        ({"reference": None, "expected_facts": (" ", "")}, "expected_facts holds no text"),
        ({"reference": None}, "the row has no reference or expected_facts"),
    ],
)
@pytest.mark.parametrize("claims", ["sentences", "llm"])
@pytest.mark.parametrize(
    "metric",
    [
        "context_precision",
        "context_recall",
        "context_utilization",
        "noise_sensitivity",
        "hallucination",
        "self_knowledge",
        "answer_correctness_claims",
    ],
)
def test_a_truth_that_states_nothing_measures_nothing(
    metric: str, claims: str, truth: Mapping[str, object], reason: str
) -> None:
    score, waves = play(f"{metric}(claims={claims})", replace(ROW, **truth))  # type: ignore[arg-type]
    assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
    assert (score.reason, waves) == (reason, [])


@pytest.mark.parametrize("reference", ["1932", "Paris"])
def test_a_reference_of_one_word_is_one_statement(reference: str) -> None:
    assert (
        value("context_recall", replace(ROW, reference=reference), judge({reference: (0,)})) == 1.0
    )


def test_a_response_without_a_claim_has_a_recall_and_no_precision() -> None:
    row = replace(ROW, response="Sure!")
    none = judge(response={ALPHA: False, ZETA: False, ETA: False})
    assert value("answer_correctness_claims(similarity_weight=0)", row, none) == 0.0
    some, _ = play("answer_correctness_claims(similarity_weight=0)", row)
    assert (some.status, some.value, some.reason) == (
        Status.NOT_APPLICABLE,
        None,
        "the response makes no claim",
    )
    assert value("answer_correctness_claims(similarity_weight=0, part=recall)", row) == 2 / 3
    for metric in ("hallucination", "noise_sensitivity"):
        assert play(metric, row)[0].reason == "the response makes no claim"


def test_a_row_whose_application_failed_says_so() -> None:
    score, _ = play("hallucination", replace(ROW, response=None, error="timeout"))
    assert score.reason == "the application failed on this row, so there is no response"


def test_metrics_need_what_their_parameters_need() -> None:
    bare = Sample("r", question="q?", response=ROW.response, contexts=CHUNKS)
    grades = {chunk.text: 3 for chunk in CHUNKS}
    for metric in (
        "hallucination(against=contexts)",
        "context_precision(against=question)",
        "context_precision(against=response)",
    ):
        assert value(metric, bare, judge(grades=grades)) is not None
    assert (
        play("context_precision(against=question)", replace(bare, question=None))[0].reason
        == "the row has no question"
    )
    assert (
        play("context_precision(against=question)", replace(bare, question=" "))[0].reason
        == "the question is empty"
    )
    assert value("context_recall", replace(ROW, response=None)) == pytest.approx(2 / 3)
    assert value("answer_correctness_claims", replace(ROW, contexts=None)) == pytest.approx(0.575)


# -- what is lost


def test_a_lost_statement_leaves_recall_the_others_and_the_verdict_to_what_it_can_change() -> None:
    score, _ = play("context_recall", ROW, judge({**SUPPORT, ZETA: Status.REFUSED}))
    assert (score.value, score.flags) == (1 / 2, ("partial",))
    assert score.verdict is Verdict.FAIL  # eta alone keeps it below 0.9
    assert (score.counts.asked, score.counts.judged, score.counts.refused) == (3, 2, 1)
    score, _ = play("context_recall(pass_mark=0.6)", ROW, judge({**SUPPORT, ZETA: Status.REFUSED}))
    assert score.verdict is Verdict.UNDECIDED


def test_context_precision_is_absent_while_a_lost_statement_could_make_a_chunk_relevant() -> None:
    score, _ = play("context_precision", ROW, judge({**SUPPORT, ETA: Status.FAILED}))
    assert (score.value, score.status, score.verdict) == (None, Status.FAILED, Verdict.UNDECIDED)
    assert score.reason == "groundedness was lost"
    assert [part.value for part in score.parts] == [1.0, None, 1.0]
    certain, _ = play(
        "context_precision", ROW, judge({ALPHA: (0, 1), ZETA: (2,), ETA: Status.FAILED})
    )
    assert (certain.value, certain.verdict, certain.flags) == (1.0, Verdict.PASS, ())


def test_sources_that_the_judge_left_out_are_asked_for_once_by_those_who_need_them() -> None:
    unnamed = {**SUPPORT, GAMMA: None}
    score, waves = play("noise_sensitivity", ROW, judge(unnamed, located=(1,)))
    assert [
        [request.text("claim") for request in wave if request.rubric == "claim_sources"]
        for wave in waves
    ] == [
        [],
        [GAMMA],
    ]
    assert (score.value, score.flags) == (1 / 5, ())
    for metric in (
        "groundedness",
        "faithfulness",
        "hallucination",
        "context_recall",
        "context_utilization",
    ):
        score, waves = play(metric, ROW, judge(unnamed))
        assert len(waves) == 1
        assert score.flags == ()


@pytest.mark.parametrize("located", [None, (), (9,), Status.UNPARSED])
def test_a_claim_whose_sources_stay_unknown_is_lost_for_those_who_need_them(
    located: tuple[int, ...] | Status | None,
) -> None:
    score, _ = play("noise_sensitivity", ROW, judge({**SUPPORT, GAMMA: None}, located=located))
    # alpha, beta, delta, epsilon are certain, and none is noise from irrelevant chunks; gamma may
    # be.
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.UNDECIDED, ("partial",))
    assert (score.counts.asked, score.counts.judged, score.counts.unparsed) == (5, 4, 1)
    assert score.parts[2].reason.startswith("which contexts support it is not known: ")


def test_where_one_chunk_alone_holds_text_it_is_the_source() -> None:
    row = replace(ROW, contexts=(Context(""), Context("text"), Context("text")))
    score, waves = play("context_precision", row, judge({ALPHA: None, ZETA: None, ETA: ()}))
    assert len(waves) == 1
    assert score.value == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize("mode", ["irrelevant", "relevant"])
def test_a_lost_statement_leaves_open_which_chunks_are_relevant_so_that_noise_is_not_measured(
    mode: str,
) -> None:
    score, _ = play(f"noise_sensitivity(mode={mode})", ROW, judge({**SUPPORT, ZETA: Status.FAILED}))
    assert (score.status, score.value, score.verdict) == (Status.FAILED, None, Verdict.UNDECIDED)
    assert (score.counts.asked, score.counts.failed) == (5, 5)


def test_a_lost_verdict_leaves_its_claim_out_of_the_value_and_the_other_edge_clears_it() -> None:
    """A supported claim is not made up, and an unsupported one is no noise, whatever the truth says
    of it.
    """
    lost_beta = judge(truth={**IN_TRUTH, BETA: Status.FAILED})
    hallucination, _ = play("hallucination", ROW, lost_beta)  # delta of the four others
    assert (hallucination.value, hallucination.verdict, hallucination.flags) == (
        1 / 4,
        Verdict.FAIL,
        ("partial",),
    )
    marked, _ = play("hallucination(pass_mark=0.2)", ROW, lost_beta)
    assert marked.verdict is Verdict.PASS  # one of five for certain
    lost_delta = judge(truth={**IN_TRUTH, DELTA: Status.FAILED})
    noise, _ = play("noise_sensitivity(pass_mark=0.2)", ROW, lost_delta)  # gamma of the four others
    assert (noise.value, noise.verdict, noise.flags) == (1 / 4, Verdict.PASS, ("partial",))


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    ["hallucination", "self_knowledge", "noise_sensitivity", "noise_sensitivity(mode=relevant)"],
)
def test_losses_at_random_do_not_move_the_mean(metric: str) -> None:
    """Over 1,500 random rows the mean with a fifth of the verdicts lost is the mean without, within
    three standard errors of the paired differences: a lost verdict is no verdict, not a good one.
    """
    chance = random.Random(0)
    whole, less, claims = [], [], (ALPHA, BETA, GAMMA, DELTA, EPSILON)
    for _ in range(1500):
        support = {c: chance.choice([(), (), (0,), (1,), (0, 2)]) for c in (*claims, ZETA, ETA)}
        truth = {c: chance.random() < 0.5 for c in claims}
        gone = {c for c in claims if chance.random() < 0.2}
        full, _ = play(metric, ROW, judge(support, truth))
        part, _ = play(
            metric,
            ROW,
            judge(support, {c: Status.FAILED if c in gone else ok for c, ok in truth.items()}),
        )
        if part.value is not None and full.value is not None:
            whole.append(full.value)
            less.append(part.value)
    differences = [b - a for a, b in zip(whole, less, strict=True)]
    assert len(differences) > 1400
    mean = statistics.fmean(differences)
    assert abs(mean) < 3 * statistics.stdev(differences) / len(differences) ** 0.5


@pytest.mark.parametrize("status", [Status.UNPARSED, Status.REFUSED, Status.OVER_BUDGET])
def test_a_lost_claim_is_not_counted_as_made_up_and_leaves_a_clean_row_undecided(
    status: Status,
) -> None:
    row = replace(ROW, response=f"{ALPHA} {DELTA}")
    score, _ = play("hallucination", row, judge({**SUPPORT, DELTA: status}))
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.UNDECIDED, ("partial",))
    assert score.parts[1].status is status
    both, _ = play("hallucination(pass_mark=0.5)", row, judge({**SUPPORT, DELTA: status}))
    assert both.verdict is Verdict.PASS  # at worst one of two


def test_lost_truth_or_response_edges_leave_correctness_the_others() -> None:
    score, _ = play(
        "answer_correctness_claims(similarity_weight=0)",
        ROW,
        judge(
            truth={**IN_TRUTH, GAMMA: Status.FAILED}, response={**IN_RESPONSE, ZETA: Status.FAILED}
        ),
    )
    assert score.extra == {"precision": 2 / 4, "recall": 2 / 2, "f": pytest.approx(2 / 3)}
    assert (score.flags, score.counts.failed) == (("partial",), 2)


def test_correctness_is_absent_when_a_side_or_the_cosine_is_lost() -> None:
    gone = dict.fromkeys(IN_TRUTH, Status.REFUSED)
    side, _ = play("answer_correctness_claims", ROW, judge(truth=gone))
    assert (side.status, side.value, side.verdict) == (Status.REFUSED, None, None)
    cosine, _ = play("answer_correctness_claims", ROW, judge(similarity=Status.FAILED))
    assert (cosine.status, cosine.value, cosine.reason) == (
        Status.FAILED,
        None,
        "similarity was lost",
    )
    nothing_said = judge(truth=gone, response=dict.fromkeys(IN_RESPONSE, False))
    assert (
        value("answer_correctness_claims(similarity_weight=0)", ROW, nothing_said) == 0.0
    )  # recall 0 settles it


def test_utilization_counts_a_statement_only_when_both_its_edges_are_known() -> None:
    score, _ = play("context_utilization", ROW, judge({**SUPPORT, ALPHA: Status.FAILED}))
    assert (score.value, score.flags) == (0.0, ("partial",))  # zeta alone, and it is not said
    said, _ = play("context_utilization", ROW, judge(response={**IN_RESPONSE, ZETA: Status.FAILED}))
    assert (said.value, said.counts.asked, said.counts.failed) == (1.0, 2, 1)
    assert [part.status for part in said.parts] == [
        Status.JUDGED,
        Status.FAILED,
        Status.NOT_APPLICABLE,
    ]


@pytest.mark.parametrize(
    ("metric", "decided"),
    [
        ("context_recall", True),
        ("context_precision", True),
        ("noise_sensitivity", True),
        ("hallucination", True),
        ("self_knowledge", False),
        ("context_utilization", False),
        ("answer_correctness_claims", False),
    ],
)
def test_when_all_is_lost_there_is_no_value_and_those_with_a_mark_are_undecided(
    metric: str, decided: bool
) -> None:
    score, _ = play(metric, ROW, lambda request: lost(request, Status.FAILED))
    assert (score.status, score.value) == (Status.FAILED, None)
    assert score.verdict is (Verdict.UNDECIDED if decided else None)
    assert (score.counts.judged, score.counts.asked) == (0, score.counts.failed)
    assert score.counts.asked > 0


# -- parameters


@pytest.mark.parametrize(
    "metric",
    [
        "context_precision(against=answer)",
        "context_precision(pass_mark=2)",
        "context_recall(pass_mark=nan)",
        "noise_sensitivity(mode=all)",
        "hallucination(against=reference)",
        "hallucination(pass_mark=-1)",
        "answer_correctness_claims(beta=0)",
        "answer_correctness_claims(beta=nan)",
        "answer_correctness_claims(beta=inf)",
        "answer_correctness_claims(similarity_weight=1.5)",
        "answer_correctness_claims(part=f1)",
        "context_utilization(claims=words)",
        "self_knowledge(claims=words)",
    ],
)
def test_a_parameter_out_of_range_is_refused(metric: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse(metric)
    assert caught.value.code == "E0202"
