"""Which verdict, cause and pattern a row gets from its scores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay import diagnosis
from ragassay.core import (
    PARTS_OPEN,
    SAYS_OTHERWISE,
    Context,
    Evidence,
    Part,
    Role,
    Sample,
    Score,
    Stage,
    Status,
    Verdict,
)
from ragassay.diagnosis import CAUSES, PATTERNS
from support.diagnosing import diagnose, pattern_of, shows

ROW = Sample(
    "r",
    question="When did it open?",
    response="It opened in 1999. It is red.",
    contexts=(Context("It opened in 1999.", "d1"), Context("Trams are late.", "d2")),
    relevant_ids={"d1": 1.0, "d9": 1.0},
)
P, F, U = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED


def score(
    metric: str,
    verdict: Verdict | None,
    value: float | None = None,
    *flags: str,
    parts: tuple[Part, ...] = (),
) -> Score:
    if value is None and verdict is not U:
        value = 1.0 if verdict is P else 0.0
    status = Status.JUDGED if value is not None else Status.UNPARSED
    return Score(
        metric,
        status,
        value,
        verdict=verdict,
        flags=flags,
        parts=parts,
        rationale=f"{metric} says so",
    )


def chunks(verdict: Verdict, *values: float) -> Score:
    parts = tuple(
        Part("chunk", Status.JUDGED, context=i, value=v, passed=v >= 2 / 3)
        for i, v in enumerate(values or (0.0, 1 / 3))
    )
    return score("chunk_relevance", verdict, parts=parts)


def grounded(verdict: Verdict) -> Score:
    second = 1.0 if verdict is P else 0.0
    parts = (
        Part("claim", Status.JUDGED, start=0, end=18, value=1.0, passed=True),
        Part("claim", Status.JUDGED, start=19, end=29, value=second, passed=verdict is P),
    )
    return score("groundedness", verdict, parts=parts)


def cause(*scores: Score, row: Sample = ROW) -> str:
    found = diagnose(row, scores).cause
    return found.name if found else ""


@pytest.mark.parametrize(
    ("verdicts", "row_verdict"),
    [
        ([P, P], P),
        ([P, None], P),
        ([P, U], U),
        ([F, U], F),
        ([P, F], F),
        ([None], None),
        ([], None),
    ],
)
def test_a_row_fails_by_one_failure_and_is_not_passed_while_one_verdict_is_missing(
    verdicts: list[Verdict | None], row_verdict: Verdict | None
) -> None:
    found = diagnose(ROW, [score(f"custom_{i}", v) for i, v in enumerate(verdicts)])
    assert found.verdict is row_verdict
    assert (found.cause is not None) == (row_verdict is F)


def test_a_good_context_and_an_unsupported_claim_is_ungrounded_and_quotes_the_claim() -> None:
    found = diagnose(
        ROW,
        [chunks(P, 1.0), grounded(F), score("faithfulness", F, 0.5), score("answer_relevance", P)],
    )
    assert found.cause is not None
    assert (found.cause.name, found.cause.detail, found.others) == (
        "ungrounded",
        "“It is red.”",
        (),
    )
    assert found.cause.remedy == CAUSES["ungrounded"].remedy


def test_no_relevant_chunk_is_a_retrieval_failure_whatever_else_fails_and_quotes_the_best() -> None:
    found = diagnose(
        ROW,
        [
            score("answer_relevance", F),
            grounded(F),
            chunks(F, 0.0, 1 / 3),
            score("faithfulness", F),
        ],
    )
    assert found.cause is not None
    assert (found.cause.name, found.cause.detail) == (
        "retrieval_irrelevant",
        "context 2: “Trams are late.”",
    )
    assert [other.name for other in found.others] == ["ungrounded", "answer_irrelevant"]


def test_nothing_retrieved_is_one_cause_although_the_claims_are_unsupported_for_it_too() -> None:
    row = replace(ROW, contexts=())
    nothing = Score(
        "chunk_relevance",
        Status.NOT_APPLICABLE,
        verdict=F,
        flags=("nothing_retrieved",),
        reason="nothing",
    )
    found = diagnose(row, [grounded(F), nothing])
    assert found.cause is not None
    assert (found.cause.name, found.others) == ("nothing_retrieved", ())
    assert cause(grounded(F), row=row) == "nothing_retrieved"


def test_declining_is_over_refusal_when_the_evidence_was_there_and_else_retrieval() -> None:
    declined = score("answer_relevance", F, 0.0, "abstention")
    sufficient = score("context_recall", P)
    assert cause(chunks(P, 1.0), sufficient, grounded(P), declined) == "over_refusal"
    open_form = score("context_sufficiency(against=question)", P)
    assert cause(chunks(P, 1.0), open_form, grounded(P), declined) == "over_refusal"
    rightly = diagnose(ROW, [chunks(F), grounded(P), declined])
    assert rightly.cause is not None
    assert (rightly.cause.name, rightly.others) == ("retrieval_irrelevant", ())


def test_a_relevant_chunk_does_not_show_that_the_answer_was_there_to_be_given() -> None:
    # "How much does it cost?", and the chunk tells how fast it is: declining is right.
    declined = score("answer_relevance", F, 0.0, "abstention")
    relevant = (chunks(P, 1.0), score("context_relevance", P, 2 / 3))
    found = diagnose(replace(ROW, relevant_ids=None), [*relevant, grounded(P), declined])
    assert found.cause is not None
    assert (found.cause.name, found.finer) == ("declined", ())
    # What to do stands behind what would tell: both may be so.
    assert found.cause.remedy.startswith("Find out first whether the chunks hold the answer.")
    for words in ("reference", "declining was right", "soften the instruction"):
        assert words in found.cause.remedy
    # Of two known documents one is missing, and may have been the one that was needed.
    assert cause(*relevant, grounded(P), declined) == "declined"


def test_the_document_that_people_grade_best_is_evidence_although_others_were_missed() -> None:
    declined = score("answer_relevance", F, 0.0, "abstention")
    graded = replace(ROW, relevant_ids={"d1": 3.0, "d9": 2.0})
    assert cause(chunks(P, 1.0), grounded(P), declined, row=graded) == "over_refusal"
    lacking = replace(graded, relevant_ids={"d1": 2.0, "d9": 3.0})
    assert cause(chunks(P, 1.0), grounded(P), declined, row=lacking) == "declined"
    # By the reference it was not all that was needed.
    recall = score("context_recall", F, 0.5)
    assert cause(chunks(P, 1.0), recall, declined, row=graded) == "insufficient_context"


def test_an_empty_response_and_one_beside_the_point_are_told_apart() -> None:
    assert cause(chunks(P, 1.0), score("answer_relevance", F, 0.0, "empty_response")) == "no_answer"
    found = diagnose(ROW, [chunks(P, 1.0), grounded(P), score("answer_relevance", F, 1 / 3)])
    assert found.cause is not None
    assert found.cause.name == "answer_irrelevant"
    assert "When did it open?" in found.cause.detail


def test_an_answer_to_a_part_of_the_question_is_incomplete() -> None:
    part = Part("statement", Status.JUDGED, text="R", value=1 / 3, passed=False)
    open_part = replace(part, flags=(PARTS_OPEN,))
    whole = replace(score("answer_relevance", F, 1 / 3), parts=(part,))
    in_part = replace(score("answer_relevance", F, 1 / 3), parts=(open_part,))
    assert cause(chunks(P, 1.0), grounded(P), whole) == "answer_irrelevant"
    assert cause(chunks(P, 1.0), grounded(P), in_part) == "incomplete_answer"


def test_a_known_document_that_was_missed_is_named() -> None:
    found = diagnose(ROW, [score("document_recall", F), chunks(P, 1.0), grounded(F)])
    assert found.cause is not None
    assert (found.cause.name, found.cause.detail) == ("document_missed", "not retrieved: d9")


def test_with_ground_truth_sufficiency_and_correctness_take_their_places_in_the_order() -> None:
    sufficient, insufficient = score("context_sufficiency", P), score("context_sufficiency", F)
    assert cause(grounded(F), insufficient, chunks(P, 1.0)) == "insufficient_context"
    assert cause(chunks(F), grounded(F), sufficient) == "ungrounded"  # the context did suffice
    in_part = score("answer_relevance", F, 1 / 3)
    assert cause(in_part, score("correctness", F), sufficient) == "incorrect"
    assert cause(score("safety", F), score("tone", F), score("correctness", P)) == "unsafe"
    undecided = score("context_sufficiency", U)
    assert (
        cause(undecided, grounded(F), chunks(F)) == "retrieval_irrelevant"
    )  # it gave no verdict, so chunks stand in


@pytest.mark.parametrize(
    ("metric", "value", "name"),
    [
        ("context_precision", 0.3, "context_diluted"),
        ("context_precision", 0.0, "retrieval_irrelevant"),
        ("context_precision(against=question)", 0.3, "context_diluted"),
        ("context_relevance_ratio", 0.1, "context_diluted"),
        ("document_precision", 0.2, "context_diluted"),
        ("document_precision", 0.0, "document_missed"),
        ("context_relevance_dual", 0.25, "retrieval_irrelevant"),
        ("context_recall", 0.5, "insufficient_context"),
        ("context_entity_recall", 0.5, "insufficient_context"),
        ("hallucination", 0.5, "ungrounded"),
        ("noise_sensitivity(mode=relevant)", 0.5, "misled"),
        ("response_groundedness_dual", 0.25, "ungrounded"),
        ("citation_support", 0.0, "ungrounded"),
        ("correctness(form=three)", 0.0, "incorrect"),
        ("answer_correctness_claims(part=recall)", 0.2, "incorrect"),
        ("answer_correctness_lexical", 0.1, "incorrect"),
        ("answer_accuracy_dual", 0.25, "incorrect"),
        ("answer_relevance_reverse", 0.2, "answer_irrelevant"),
        ("guidelines", 0.5, "guideline_broken"),
        ("toxicity", 1.0, "unsafe"),
        ("bias", 1.0, "unsafe"),
        ("pii", 1.0, "unsafe"),
        ("tone", 0.0, "tone"),
    ],
)
def test_every_metric_of_the_catalogue_has_its_cause(metric: str, value: float, name: str) -> None:
    assert cause(score(metric, F, value)) == name


def test_the_error_of_the_application_comes_before_everything_and_is_quoted() -> None:
    row = replace(ROW, error="TimeoutError: no reply", response=None, answerable=False)
    found = diagnose(row, [score("abstention", F), chunks(F), score("app_error", F, 1.0)])
    assert found.cause is not None
    assert (found.cause.name, found.cause.detail) == ("application_error", "TimeoutError: no reply")


def test_a_row_on_which_the_application_failed_fails_whatever_was_measured() -> None:
    row = replace(ROW, error="TimeoutError: no reply", response=None)
    for scores in ([], [grounded(P)], [chunks(U)]):
        found = diagnose(row, scores)
        assert found.verdict is F
        assert found.cause is not None
        assert found.cause.name == "application_error"
    silent = diagnose(replace(row, error=""), [])
    assert silent.cause is not None
    assert silent.cause.detail == "the application failed and gave no message"


def test_a_metric_that_stands_in_precedes_custom_ones_only_where_nothing_else_decided() -> None:
    assert cause(score("hallucination", F), score("mine", F)) == "ungrounded"
    assert cause(score("hallucination", F), score("mine", F), grounded(P)) == "mine"
    assert cause(score("guidelines", F), score("mine", F), score("pii", F, 1.0)) == "unsafe"
    assert cause(score("mine", F), score("guidelines", F)) == "guideline_broken"
    assert cause(score("context_recall", F), chunks(F)) == "retrieval_irrelevant"


def test_an_answer_that_declines_is_not_called_wrong_by_any_metric_that_compares_it() -> None:
    declined = score("abstention", None, 1.0, "abstention")
    for metric in ("correctness", "answer_correctness_claims", "answer_accuracy_dual"):
        assert cause(score(metric, F), declined) == "declined"
    assert cause(score("correctness", F, 0.0, "empty_response")) == "no_answer"


def test_the_metrics_that_show_a_cause_are_those_that_have_it() -> None:
    for name in CAUSES:
        assert bool(shows(name)) == (name != "other")
    assert shows("ungrounded")[:2] == ("groundedness", "faithfulness")
    assert shows("declined")[:2] == ("answer_relevance", "abstention")


def test_each_failure_outside_the_order_is_a_cause_by_its_metric_s_name_with_its_reason() -> None:
    found = diagnose(ROW, [chunks(P, 1.0), score("politeness(scale=5)", F), score("brief", F)])
    assert found.cause is not None
    assert (found.cause.name, found.cause.title) == ("brief", "brief fails")
    assert (found.cause.detail, found.cause.remedy != "") == ("brief says so", True)
    assert [(other.name, other.detail) for other in found.others] == [
        ("politeness", "politeness(scale=5) says so")
    ]


def test_a_cause_is_uncertain_behind_a_metric_before_it_that_gave_no_verdict() -> None:
    lost = Score("chunk_relevance", Status.FAILED, reason="timeout", verdict=U)
    found = diagnose(ROW, [lost, grounded(F)])
    assert found.cause is not None
    assert found.cause.uncertain == "chunk_relevance gave no verdict (failed: timeout)"
    own = diagnose(ROW, [lost, score("mine", F)])
    assert own.cause is not None
    assert own.cause.uncertain.startswith("chunk_relevance")


@pytest.mark.parametrize(
    "scores",
    [
        [score("answer_relevance", U), grounded(F)],  # it comes after the cause
        [score("faithfulness", U), grounded(F)],  # it would have the same cause
        [score("a_judge_of_mine", U), score("mine", F)],  # neither comes before the other
    ],
)
def test_a_cause_is_certain_where_what_is_missing_could_not_come_before_it(
    scores: list[Score],
) -> None:
    found = diagnose(ROW, scores)
    assert found.cause is not None
    assert found.cause.uncertain == ""


def test_a_metric_that_is_called_like_a_cause_is_told_apart_from_it() -> None:
    found = diagnose(ROW, [score("unsafe", F), score("safety", F)])
    assert found.cause is not None
    assert [found.cause.title, *(other.title for other in found.others)] == [
        "The response is unsafe",
        "unsafe fails",
    ]


def test_a_cause_of_ones_own_metric_stands_under_its_own_name() -> None:
    politeness = Role(stage=Stage.ANSWER, place=341, cause="rude_answer")
    found = diagnosis.diagnose(ROW, [score("politeness", F)], {"politeness": politeness})
    assert found.cause is not None
    assert (found.cause.name, found.cause.title) == ("rude_answer", "rude answer")


def test_declining_a_question_that_has_no_answer_here_is_a_pass() -> None:
    row = replace(ROW, answerable=False)
    declined, right = (
        score("answer_relevance", F, 0.0, "abstention"),
        score("abstention", P, 1.0, "abstention"),
    )
    assert diagnose(row, [chunks(F), grounded(P), declined, right]).verdict is P
    assert diagnose(replace(row, answerable=None), [chunks(F), grounded(P), declined]).verdict is F


def test_answering_a_question_without_an_answer_here_is_a_failed_abstention_first_of_all() -> None:
    row = replace(ROW, answerable=False)
    answered = score("abstention", F, 0.0)
    assert (
        cause(chunks(F), grounded(F), score("answer_relevance", P), answered, row=row)
        == "failed_abstention"
    )
    refused = score("abstention", F, 1.0, "abstention")
    assert (
        cause(chunks(P, 1.0), grounded(P), refused, row=replace(ROW, relevant_ids={"d1": 1.0}))
        == "over_refusal"
    )


def test_metrics_with_parameters_are_known_by_their_base_name() -> None:
    assert cause(score("groundedness(claims=llm)", F)) == "ungrounded"


@pytest.mark.parametrize(
    ("context", "faithfulness", "relevance", "pattern"),
    [
        (1.0, 0.0, 1.0, "good chunks, low faithfulness"),
        (0.0, 1.0, 1.0, "bad chunks, high faithfulness"),
        (1.0, 1.0, 0.0, "high faithfulness, low answer relevance"),
        (0.0, 0.0, 0.0, "all scores low"),
        (0.0, 1.0, 0.0, "bad chunks, high faithfulness"),  # retrieval comes first
        (1.0, 1.0, 1.0, ""),
        (0.6, 0.6, 0.6, ""),  # neither high nor low
    ],
)
def test_the_four_score_patterns(
    context: float, faithfulness: float, relevance: float, pattern: str
) -> None:
    scores = [
        replace(score("context_relevance", None, 0.4), extra={"max": context}),
        score("faithfulness", None, faithfulness),
        score("answer_relevance", None, relevance),
    ]
    found = pattern_of(scores)
    assert found.startswith(pattern) if pattern else found == ""


def test_a_response_that_declines_has_not_misread_the_question() -> None:
    scores = [
        chunks(P, 1.0),
        score("faithfulness", P),
        score("answer_relevance", F, 0.0, "abstention"),
    ]
    assert pattern_of(scores) == ""


def test_no_pattern_is_seen_in_scores_that_are_absent() -> None:
    assert pattern_of([score("faithfulness", U), score("answer_relevance", F)]) == ""
    assert len({pattern.says for pattern in PATTERNS}) == 4


def test_every_cause_names_a_remedy() -> None:
    for name, known in CAUSES.items():
        assert known.name == name
        assert known.title
        assert known.remedy.endswith(".")
        assert not known.detail


METRICS = [
    "chunk_relevance",
    "context_relevance",
    "groundedness",
    "faithfulness",
    "answer_relevance",
    "abstention",
    "document_recall",
    "context_sufficiency",
    "correctness",
    "safety",
    "mine",
    "map",
]
FLAGS = st.lists(
    st.sampled_from(["abstention", "empty_response", "partial", "nothing_retrieved"]), max_size=2
)
SCORES = st.lists(
    st.builds(
        lambda metric, verdict, value, flags: score(metric, verdict, value, *flags),
        st.sampled_from(METRICS),
        st.sampled_from([P, F, U, None]),
        st.none() | st.floats(0, 1),
        FLAGS,
    ),
    max_size=8,
)


@given(SCORES, st.sampled_from([None, True, False]), st.booleans(), st.booleans())
def test_a_failed_row_always_has_exactly_one_cause_and_no_other_row_has_any(
    scores: list[Score], answerable: bool | None, contexts: bool, text: bool
) -> None:
    row = replace(
        ROW,
        answerable=answerable,
        contexts=ROW.contexts if contexts else (),
        response="x\x1b[31m" if text else None,
    )
    found = diagnose(row, scores)
    assert (found.verdict is F) == (found.cause is not None)
    names = [c.name for c in (found.cause, *found.others) if c is not None]
    assert len(names) == len(set(names))
    assert all(name in CAUSES or name in METRICS for name in names)
    assert all(c.detail.isprintable() for c in (found.cause, *found.others) if c is not None)
    # What is known outranks what is judged: chunks do not count where a known document was
    # retrieved, or they are seen to support the reference.
    known = any(s.metric == "document_recall" and s.verdict is P for s in scores)
    supports = {s.verdict for s in scores if s.metric == "context_sufficiency"}
    known = known or (P in supports and F not in supports)
    counted = [
        s for s in scores if not (known and s.metric in ("chunk_relevance", "context_relevance"))
    ]
    right = any(s.metric == "correctness" and s.verdict is P for s in scores)
    counted = [
        s
        for s in counted
        if not (right and s.metric == "answer_relevance" and s.value == 0 and not s.flags)
    ]
    if answerable is not False:
        assert (found.verdict is F) == any(s.verdict is F for s in counted)


def test_an_answer_to_another_question_is_wrong_because_of_that() -> None:
    beside = score("answer_relevance", F, 0.0)
    found = diagnose(ROW, [beside, score("correctness", F), grounded(P)])
    assert found.cause is not None
    assert (found.cause.name, [other.name for other in found.others]) == (
        "answer_irrelevant",
        ["incorrect"],
    )


def test_an_answer_that_is_right_by_the_reference_is_one_to_the_question() -> None:
    found = diagnose(ROW, [score("answer_relevance", F, 0.0), score("correctness", P), grounded(P)])
    assert (found.verdict, found.cause) == (P, None)
    # That a part of the question is left open is another matter.
    assert cause(score("answer_relevance", F, 1 / 3), score("correctness", P)) == (
        "answer_irrelevant"
    )


def test_chunks_that_a_right_answer_rests_on_held_what_it_needed() -> None:
    recall, right = score("context_recall", F, 0.5), score("correctness", P)
    first = Part("claim", Status.JUDGED, start=0, end=18, value=1.0, passed=True, sources=(0,))
    rests_on_chunks = score("groundedness", P, parts=(first,))
    assert diagnose(ROW, [recall, right, rests_on_chunks]).verdict is P
    assert cause(recall, score("correctness", F), rests_on_chunks) == "insufficient_context"
    assert cause(recall, right, grounded(F)) == "insufficient_context"


def test_a_judge_that_finds_no_chunk_relevant_is_outranked_by_a_known_relevant_document() -> None:
    found = diagnose(
        ROW, [chunks(F), score("context_relevance", F), score("document_recall", P), grounded(P)]
    )
    assert (found.verdict, found.cause) == (P, None)


def test_without_a_known_document_among_the_chunks_the_judge_decides() -> None:
    assert cause(chunks(F), score("document_recall", F), grounded(P)) == "retrieval_irrelevant"
    assert cause(chunks(F), score("document_recall", None), grounded(P)) == "retrieval_irrelevant"


def test_a_rating_of_all_contexts_is_proven_by_its_reason_and_not_by_the_question() -> None:
    part = Part("statement", Status.JUDGED, text=ROW.question or "", value=0.0, passed=False)
    found = diagnose(ROW, [score("context_sufficiency", F, parts=(part,))])
    assert found.cause is not None
    assert found.cause.detail == "context_sufficiency says so"


def test_a_chunk_that_says_another_thing_than_the_response_is_no_miss_of_the_retriever():
    """Without the flag, the same verdicts blame the retriever: it comes first in causal order."""
    quote = Evidence(0, 0, 18, "It opened in 1999.")
    claim = Part("claim", Status.JUDGED, value=0.0, passed=False, evidence=(quote,))
    denied = replace(claim, flags=(SAYS_OTHERWISE,))
    unsupported = score("groundedness", F, parts=(claim,))
    contradicted = score("groundedness", F, parts=(denied,))
    assert cause(chunks(F, 0.0, 0.0), unsupported) == "retrieval_irrelevant"
    assert cause(chunks(F, 0.0, 0.0), contradicted) == "ungrounded"
    unanswerable = replace(ROW, answerable=False)
    assert cause(chunks(F, 0.0, 0.0), contradicted, row=unanswerable) != "ungrounded"
