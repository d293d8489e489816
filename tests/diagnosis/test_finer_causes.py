"""What lies behind a row's root cause: planted rows, and laws that hold for any scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import (
    SAYS_OTHERWISE,
    Context,
    Evidence,
    Part,
    Sample,
    Score,
    Status,
    Verdict,
)
from ragassay.diagnosis import CAUSES, FINER, RULES
from support.diagnosing import diagnose

P, F, U = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED
CHUNKS = (
    Context("Trams are red.", "d1"),
    Context("It opened in 1999.", "d2"),
    Context("It is long.", "d3"),
)
ROW = Sample(
    "r", question="When did it open?", response="It opened in 1998. It is red.", contexts=CHUNKS
)
FIRST, SECOND = (0, 18), (19, 29)  # the two claims of the response


def score(
    metric: str, verdict: Verdict | None = None, value: float | None = None, *flags: str, **more
) -> Score:
    if value is None and verdict in (P, F):
        value = 1.0 if verdict is P else 0.0
    status = Status.JUDGED if value is not None else Status.UNPARSED
    return Score(
        metric, status, value, verdict=verdict, flags=flags, rationale=f"{metric} says so", **more
    )


def claim(place: tuple[int, int], passed: bool, sources: tuple[int, ...] | None = None) -> Part:
    start, end = place
    return Part(
        "claim",
        Status.JUDGED,
        start=start,
        end=end,
        value=float(passed),
        passed=passed,
        sources=sources,
    )


def chunks(*relevant: bool) -> Score:
    parts = tuple(
        Part("chunk", Status.JUDGED, context=i, value=float(x), passed=x)
        for i, x in enumerate(relevant)
    )
    return score(
        "chunk_relevance", P if any(relevant) else F, sum(relevant) / len(relevant), parts=parts
    )


def grounded(first: bool, second: bool, sources: tuple[int, ...] | None = None) -> Score:
    parts = (claim(FIRST, first, sources), claim(SECOND, second, sources))
    return score("groundedness", P if first and second else F, (first + second) / 2, parts=parts)


def claims(first: bool, second: bool, recall: float = 1.0, verdict: Verdict | None = None) -> Score:
    """answer_correctness_claims: does the truth state the claims, and how many of its statements
    are there?
    """
    precision = (first + second) / 2
    parts = [claim(FIRST, first), claim(SECOND, second)]
    if recall < 1:
        parts.append(
            Part("statement", Status.JUDGED, text="It cost a million.", value=0.0, passed=False)
        )
    extra = {"precision": precision, "recall": recall}
    return score("answer_correctness_claims", verdict, precision, parts=tuple(parts), extra=extra)


STATED_IN_SECOND = Part(
    "statement",
    Status.JUDGED,
    text="It opened in 1999.",
    value=1.0,
    passed=True,
    evidence=(Evidence(1, 0, 18, "It opened in 1999."),),
)
DECLINED = score("answer_relevance", F, 0.0, "abstention")
RELEVANT, BESIDE = score("answer_relevance", P), score("answer_relevance", F, 0.0)
WRONG, RIGHT = score("correctness", F), score("correctness", P)
LABELLED = replace(ROW, relevant_ids={"d2": 1.0})
MISSED = replace(ROW, relevant_ids={"d9": 1.0})
HALF = replace(ROW, relevant_ids={"d2": 1.0, "d9": 1.0})
LAST = replace(ROW, relevant_ids={"d3": 2.0})

PLANTED = {
    # retrieval
    "no document is known to be relevant": (
        replace(ROW, relevant_ids={"d1": 0.0}),
        [chunks(False, False, False)],
        "retrieval_irrelevant",
        "corpus_gap failed_abstention",
    ),
    "the row says that there is no answer": (
        replace(ROW, answerable=False),
        [chunks(False, False, False)],
        "retrieval_irrelevant",
        "corpus_gap failed_abstention",
    ),
    "the known document was not found": (
        MISSED,
        [chunks(False, False, False), score("document_recall", F)],
        "retrieval_irrelevant",
        "retrieval_miss",
    ),
    "nothing came back for a question that has an answer": (
        replace(MISSED, contexts=()),
        [grounded(False, False)],
        "nothing_retrieved",
        "retrieval_miss",
    ),
    "one of two known documents was found": (
        HALF,
        [score("context_sufficiency", F)],
        "insufficient_context",
        "ranking_cutoff",
    ),
    "the only relevant chunk is the last": (
        LAST,
        [score("context_recall", F, 0.5)],
        "insufficient_context",
        "ranking_cutoff",
    ),
    "irrelevant chunks stand before the relevant one": (
        ROW,
        [score("context_precision", F, 0.33), chunks(False, False, True)],
        "context_diluted",
        "ranking_cutoff",
    ),
    "all labelled documents are there, and the truth is not in them": (
        LABELLED,
        [score("context_sufficiency", F)],
        "insufficient_context",
        "ranking_cutoff doubtful_reference",
    ),
    "it has an answer, and no more is known": (
        replace(ROW, answerable=True),
        [chunks(False, False, False)],
        "retrieval_irrelevant",
        "retrieval_miss ranking_cutoff",
    ),
    "nothing is known but the judge's word": (
        ROW,
        [chunks(False, False, False)],
        "retrieval_irrelevant",
        "",
    ),
    # declining
    "it declines before a relevant chunk, and no more is known": (
        ROW,
        [chunks(True, False, False), DECLINED],
        "declined",
        "",
    ),
    "it declines before chunks that support the reference": (
        ROW,
        [score("context_recall", P), DECLINED],
        "over_refusal",
        "over_refusal",
    ),
    "it declines before the last of three chunks": (
        LAST,
        [DECLINED],
        "over_refusal",
        "ranking_cutoff over_refusal",
    ),
    "it declines, and the known document was missed": (
        MISSED,
        [DECLINED],
        "declined",
        "retrieval_miss",
    ),
    "it declines what has an answer": (
        replace(ROW, answerable=True),
        [DECLINED],
        "declined",
        "retrieval_miss over_refusal",
    ),
    "it declines, and nothing else is known": (ROW, [DECLINED], "declined", ""),
    "it answers what has no answer": (
        replace(ROW, answerable=False),
        [score("abstention", F), grounded(False, True)],
        "failed_abstention",
        "failed_abstention",
    ),
    "it invents where there is no answer, and nobody asked about declining": (
        replace(ROW, answerable=False),
        [grounded(False, True)],
        "ungrounded",
        "failed_abstention",
    ),
    # unsupported claims
    "the unsupported claim is in no reference": (
        ROW,
        [grounded(False, True), claims(False, True)],
        "ungrounded",
        "hallucination",
    ),
    "the unsupported claim is in the reference": (
        ROW,
        [grounded(False, True), claims(True, True)],
        "ungrounded",
        "right_without_evidence",
    ),
    "one unsupported claim is true, one is not": (
        ROW,
        [grounded(False, False), claims(True, False)],
        "ungrounded",
        "hallucination right_without_evidence",
    ),
    "unsupported, and the answer is right": (
        ROW,
        [grounded(False, True), RIGHT],
        "ungrounded",
        "right_without_evidence",
    ),
    "unsupported, and the answer is wrong": (
        ROW,
        [grounded(False, True), WRONG],
        "ungrounded",
        "hallucination",
    ),
    "unsupported, by the shares of the claim graph": (
        ROW,
        [
            grounded(False, False),
            score("hallucination", None, 0.5),
            score("self_knowledge", None, 0.0),
        ],
        "ungrounded",
        "hallucination",
    ),
    "nothing invented, by the shares of the claim graph": (
        ROW,
        [grounded(False, True), score("hallucination", None, 0.0)],
        "ungrounded",
        "right_without_evidence",
    ),
    "unsupported, and nothing to compare with": (ROW, [grounded(False, True)], "ungrounded", ""),
    "wrong claims come from chunks": (
        ROW,
        [score("noise_sensitivity", F, 0.5)],
        "misled",
        "noise_distraction",
    ),
    "an irrelevant chunk holds the answer, and the quote that shows it is known": (
        ROW,
        [
            chunks(False, False, False),
            score("context_recall", P, parts=(STATED_IN_SECOND,)),
            grounded(False, True),
        ],
        "ungrounded",
        "",
    ),
    # the answer
    "a wrong claim stands in an irrelevant chunk before the relevant one": (
        LABELLED,
        [grounded(True, True, (0,)), claims(False, True), WRONG],
        "incorrect",
        "ranking_cutoff noise_distraction",
    ),
    "a wrong claim stands in an irrelevant chunk after the relevant one": (
        LABELLED,
        [grounded(True, True, (2,)), claims(False, True), WRONG],
        "incorrect",
        "noise_distraction",
    ),
    "the labelled document says otherwise than the reference": (
        LABELLED,
        [grounded(True, True, (1,)), claims(False, True), WRONG],
        "incorrect",
        "doubtful_reference",
    ),
    "all it says holds, and half is missing": (
        ROW,
        [grounded(True, True), claims(True, True, 0.5), WRONG],
        "incomplete_answer",
        "",
    ),
    "it does not use what was retrieved": (
        ROW,
        [score("context_utilization", None, 0.25), WRONG],
        "incorrect",
        "incomplete",
    ),
    "it answers another question wrongly": (
        ROW,
        [BESIDE, WRONG],
        "answer_irrelevant",
        "wrong_focus",
    ),
    "it answers another question": (ROW, [BESIDE], "answer_irrelevant", "wrong_focus"),
    "it answers a little of the question": (
        ROW,
        [score("answer_relevance", F, 1 / 3)],
        "answer_irrelevant",
        "",
    ),
    "grounded, relevant, complete, wrong": (
        ROW,
        [
            grounded(True, True),
            claims(False, False),
            RELEVANT,
            score("hallucination", None, 0.0),
            WRONG,
        ],
        "incorrect",
        "noise_distraction doubtful_reference",
    ),
    "the same, and no chunk misled it": (
        ROW,
        [
            grounded(True, True),
            claims(False, False),
            RELEVANT,
            score("hallucination", None, 0.0),
            WRONG,
            score("noise_sensitivity", None, 0.0),
        ],
        "incorrect",
        "doubtful_reference",
    ),
    "the same, and the chunks support the reference": (
        ROW,
        [grounded(True, True), claims(False, False), RELEVANT, score("context_recall", P), WRONG],
        "incorrect",
        "noise_distraction",
    ),
    "wrong claims, and it is not known whether a chunk supports them": (
        ROW,
        [claims(False, False), RELEVANT, WRONG],
        "incorrect",
        "hallucination doubtful_reference",
    ),
    "wrong, and nothing else is known": (ROW, [WRONG], "incorrect", ""),
    # no finer cause
    "an error of the application": (
        replace(ROW, response=None, error="TimeoutError"),
        [score("app_error", F, 1.0)],
        "application_error",
        "",
    ),
    "an unsafe answer": (ROW, [score("toxicity", F, 1.0), WRONG, RELEVANT], "incorrect", ""),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_row_has_its_cause_and_what_lies_behind_it(name: str) -> None:
    row, scores, cause, finer = PLANTED[name]
    found = diagnose(row, scores)
    assert found.cause is not None
    assert (found.cause.name, " ".join(c.name for c in found.finer)) == (cause, finer)
    for behind in found.finer:
        assert behind.remedy == FINER[behind.name].remedy
        assert behind.detail or behind.name == "failed_abstention"


@pytest.mark.parametrize("name", PLANTED)
def test_the_order_of_the_scores_changes_nothing(name: str) -> None:
    row, scores, _, _ = PLANTED[name]
    assert {diagnose(row, order) for order in permutations(scores)} == {diagnose(row, scores)}


def test_the_detail_quotes_what_proves_it() -> None:
    found = diagnose(HALF, [score("context_sufficiency", F)])
    assert found.finer[0].detail == "retrieved: d2; not retrieved: d9"
    invented = diagnose(ROW, [grounded(False, True), claims(False, True)]).finer[0]
    assert invented.detail == "nothing states “It opened in 1998.”"
    misled = diagnose(LABELLED, [grounded(True, True, (0,)), claims(False, True), WRONG]).finer
    assert [c.detail for c in misled] == [
        "“It opened in 1998.” stands in context 1, before the first relevant one, context 2",
        "“It opened in 1998.” stands in context 1",
    ]
    missing = diagnose(ROW, [claims(True, True, 0.5), WRONG]).finer[0]
    assert missing.detail == "it does not state “It cost a million.”"


def test_a_claim_that_the_chunks_deny_is_not_called_right_for_a_judge_that_passes_it() -> None:
    # "Berwick is bigger than Alton" passes for right, and the chunk says that Alton is bigger.
    silent = replace(claim(FIRST, False), flags=("nothing_found",))
    denied = replace(claim(FIRST, False), flags=(SAYS_OTHERWISE,))
    for part, finer in ((silent, ["right_without_evidence"]), (denied, [])):
        support = score("groundedness", F, 0.0, parts=(part,))
        found = diagnose(ROW, [support, RIGHT])
        assert found.cause is not None
        assert found.cause.name == "ungrounded"
        assert [cause.name for cause in found.finer] == finer
        # Where nothing says that it is right, nothing is ruled out, and so nothing is named.
        assert diagnose(ROW, [support]).finer == ()
    for words in (FINER["right_without_evidence"].title, FINER["right_without_evidence"].remedy):
        assert "is right" not in words
        assert "right today" not in words


def test_what_is_ruled_out_is_said_where_the_rest_cannot_be_told_apart() -> None:
    found = diagnose(replace(ROW, answerable=True), [DECLINED])
    assert {c.detail for c in found.finer} == {"the row says that the question can be answered"}


def test_every_finer_cause_is_planted_names_a_remedy_and_can_be_reached() -> None:
    planted = {name for _, _, _, finer in PLANTED.values() for name in finer.split()}
    assert planted == set(FINER) == {rule.cause for rule in RULES}
    assert len(FINER) == 11
    for name, cause in FINER.items():
        assert cause.name == name
        assert cause.remedy.endswith(".")
    assert {root for rule in RULES for root in rule.roots} <= set(CAUSES)


METRICS = [
    "app_error",
    "chunk_relevance",
    "context_relevance",
    "context_precision",
    "context_recall",
    "context_sufficiency",
    "context_sufficiency(against=question)",
    "document_recall",
    "groundedness",
    "faithfulness",
    "hallucination",
    "self_knowledge",
    "noise_sensitivity",
    "context_utilization",
    "citation_support",
    "correctness",
    "answer_correctness_claims",
    "answer_accuracy_dual",
    "answer_relevance",
    "answer_relevance_reverse",
    "abstention",
    "safety",
    "pii",
    "guidelines",
    "mine",
    "yours",
]
PARTS = st.lists(
    st.one_of(
        st.builds(
            claim,
            st.sampled_from([FIRST, SECOND]),
            st.booleans(),
            st.none() | st.lists(st.integers(-1, 4), max_size=2).map(tuple),
        ),
        st.builds(
            lambda i, x: Part("chunk", Status.JUDGED, context=i, value=float(x), passed=x),
            st.integers(-1, 4),
            st.booleans(),
        ),
        st.builds(
            lambda t: Part("statement", Status.JUDGED, text=t, value=0.0, passed=False),
            st.text(max_size=9),
        ),
    ),
    max_size=4,
).map(tuple)
SCORES = st.lists(
    st.builds(
        lambda metric, verdict, value, flags, parts, extra: score(
            metric, verdict, value, *flags, parts=parts, extra=extra
        ),
        st.sampled_from(METRICS),
        st.sampled_from([P, F, U, None]),
        st.none() | st.sampled_from([0.0, 0.4, 0.7, 1.0]),
        st.lists(
            st.sampled_from(["abstention", "empty_response", "partial", "nothing_retrieved"]),
            max_size=2,
        ),
        PARTS,
        st.sampled_from([{}, {"precision": 1.0, "recall": 0.2}, {"precision": 0.2, "recall": 1.0}]),
    ),
    max_size=7,
    unique_by=lambda s: s.metric,
)
ROWS = st.builds(
    lambda known, answerable, contexts, response: replace(
        ROW, relevant_ids=known, answerable=answerable, contexts=contexts, response=response
    ),
    st.sampled_from([None, {}, {"d1": 0.0}, {"d2": 1.0}, {"d3": 1.0, "d9": 2.0}]),
    st.sampled_from([None, True, False]),
    st.sampled_from([CHUNKS, (), None, (Context("without an id"),)]),
    st.sampled_from(["", None, "x\x1b[31m" * 400]),
)


@pytest.mark.slow
@given(ROWS, SCORES, st.randoms())
def test_laws_of_finer_causes(row: Sample, scores: list[Score], random) -> None:
    found = diagnose(row, scores)
    shuffled = random.sample(scores, len(scores))
    assert diagnose(row, shuffled) == found, "the order of the scores changes nothing"
    assert found.cause is not None or not found.finer, "a row without a cause has nothing behind it"
    assert found.verdict is F or not found.finer
    names = [cause.name for cause in found.finer]
    assert len(names) == len(set(names))
    assert sorted(names, key=list(FINER).index) == names, "in causal order"
    for cause in found.finer:
        assert found.cause is not None
        assert any(rule.cause == cause.name and found.cause.name in rule.roots for rule in RULES)
        assert cause.detail.isprintable()
        assert len(cause.detail) <= 500
