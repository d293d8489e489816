"""What each metric asks, and the Score it makes of the answers; the other side of every flow is
played by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from ragassay.core import AppUsage, Context, Judgment, Request, Sample, Score, Status, Verdict
from ragassay.metrics import parse

Answer = Callable[[Request], Judgment]
ROW = Sample(
    "r",
    question="When did it open?",
    response="It opened in 1999. It is red.",
    contexts=(Context("It opened in 1999.", "d1"), Context("Nothing here.", "d2")),
    relevant_ids={"d2": 1.0, "d9": 2.0},
    usage=AppUsage(input_tokens=10, output_tokens=5, cost=0.25, latency=1.5),
)


def rated(request: Request, rating: int, *flags: str, top: int = 3) -> Judgment:
    return Judgment(
        request.key,
        "judge",
        request.rubric,
        Status.JUDGED,
        rating,
        rating / top,
        rationale="so",
        flags=flags,
    )


def gone(request: Request, status: Status = Status.UNPARSED) -> Judgment:
    return Judgment(request.key, "judge", request.rubric, status, reason="no verdict in the reply")


def play(metric: str, sample: Sample, answer: Answer) -> tuple[Score, list[Request]]:
    """Drive the flow; the Score and everything it asked, in order."""
    flow = parse(metric).flow(sample)
    asked: list[Request] = []
    try:
        requests = next(flow)
        while True:
            asked += requests
            requests = flow.send(tuple(answer(request) for request in requests))
    except StopIteration as done:
        score: Score = done.value
        return score, asked


def by_item(item: str, ratings: Mapping[str, int | Status]) -> Answer:
    def answer(request: Request) -> Judgment:
        rating = ratings[request.text(item)]
        return gone(request, rating) if isinstance(rating, Status) else rated(request, rating)

    return answer


def never(request: Request) -> Judgment:
    raise AssertionError(f"nothing should be asked, but {request} is")


def test_groundedness_asks_each_claim_against_all_contexts_and_averages_the_ratings() -> None:
    score, asked = play(
        "groundedness", ROW, by_item("claim", {"It opened in 1999.": 3, "It is red.": 1})
    )
    assert [request.inputs for request in asked] == [
        {
            "question": ROW.question,
            "response": ROW.response,
            "contexts": ("It opened in 1999.", "Nothing here."),
            "claim": claim,
        }
        for claim in ("It opened in 1999.", "It is red.")
    ]
    assert score.value == pytest.approx((1 + 1 / 3) / 2)
    assert score.extra == {"pass_share": 0.5}
    assert (score.verdict, score.pass_mark) == (Verdict.FAIL, 0.9)
    assert [(part.start, part.end, part.passed) for part in score.parts] == [
        (0, 18, True),
        (19, 29, False),
    ]
    assert (score.counts.asked, score.counts.judged) == (2, 2)


def test_a_trivial_claim_is_not_asked_and_stays_as_a_part_with_its_reason() -> None:
    row = replace(ROW, response="Sure! It is red.")
    score, asked = play("groundedness", row, by_item("claim", {"It is red.": 2}))
    assert len(asked) == 1
    assert [(part.status, part.reason) for part in score.parts] == [
        (Status.NOT_APPLICABLE, "no claim: politeness"),
        (Status.JUDGED, ""),
    ]
    assert (score.value, score.verdict, score.counts.asked) == (2 / 3, Verdict.PASS, 1)


def test_a_claim_that_is_made_twice_gets_its_answer_by_position() -> None:
    row = replace(ROW, response="It is red. It is red.")
    score, asked = play("groundedness", row, by_item("claim", {"It is red.": 3}))
    assert len(asked) == 2
    assert [part.start for part in score.parts] == [0, 11]


@pytest.mark.parametrize("response", ["", "  \n"])
def test_an_empty_response_has_no_groundedness_and_an_answer_relevance_of_zero(
    response: str,
) -> None:
    row = replace(ROW, response=response)
    for metric in ("groundedness", "faithfulness", "abstention"):
        score, _ = play(metric, row, never)
        assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
        assert score.reason == "the response is empty"
    score, _ = play("answer_relevance", row, never)
    assert (score.status, score.value, score.verdict) == (Status.JUDGED, 0.0, Verdict.FAIL)
    assert score.flags == ("empty_response",)


def test_a_response_without_a_claim_has_no_groundedness() -> None:
    score, _ = play("groundedness", replace(ROW, response="Sure! I hope this helps."), never)
    assert (score.status, score.reason, len(score.parts)) == (
        Status.NOT_APPLICABLE,
        "the response makes no claim",
        2,
    )


@pytest.mark.parametrize("contexts", [(), (Context(""), Context(" \n"))])
def test_claims_without_contexts_are_zero_and_the_judge_is_not_asked_about_them(
    contexts: tuple[Context, ...],
) -> None:
    row = replace(ROW, contexts=contexts)
    for metric in (
        "groundedness",
        "faithfulness",
        "faithfulness(mode=binary)",
        "faithfulness(mode=weighted)",
    ):
        score, asked = play(metric, row, lambda request: rated(request, 3))
        assert [request.rubric for request in asked] == [
            "answer_relevance"
        ]  # only: does it admit it?
        assert (score.value, score.verdict, score.status) == (0.0, Verdict.FAIL, Status.JUDGED)


def test_a_response_that_declines_is_fully_grounded_with_and_without_contexts() -> None:
    row = replace(ROW, response="I don't know.")
    with_contexts, _ = play("groundedness", row, lambda request: rated(request, 3, "abstention"))
    without, _ = play(
        "groundedness", replace(row, contexts=()), lambda request: rated(request, 0, "declined")
    )
    for score in (with_contexts, without):
        assert (score.value, score.verdict, score.flags) == (1.0, Verdict.PASS, ("abstention",))


def test_a_response_that_declines_has_an_answer_relevance_of_zero_whatever_its_rating() -> None:
    score, _ = play("answer_relevance", ROW, lambda request: rated(request, 3, "declined"))
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.FAIL, ("abstention",))
    assert score.parts[0].passed is False


def test_answer_relevance_passes_at_two_of_three_and_on_the_longer_scale_at_four_of_five() -> None:
    assert play("answer_relevance", ROW, lambda r: rated(r, 2))[0].verdict is Verdict.PASS
    assert play("answer_relevance", ROW, lambda r: rated(r, 1))[0].verdict is Verdict.FAIL
    score, asked = play(
        "answer_relevance(scale=5)", ROW, lambda r: replace(rated(r, 4), value=0.75)
    )
    assert (asked[0].rubric, score.value, score.verdict) == (
        "answer_relevance_5",
        0.75,
        Verdict.PASS,
    )


@pytest.mark.parametrize(
    ("answerable", "flags", "value", "verdict"),
    [
        (None, ("declined",), 1.0, None),
        (None, (), 0.0, None),
        (True, (), 0.0, Verdict.PASS),
        (True, ("declined",), 1.0, Verdict.FAIL),
        (False, (), 0.0, Verdict.FAIL),
        (False, ("declined",), 1.0, Verdict.PASS),
    ],
)
def test_abstention_has_a_verdict_only_where_the_row_says_whether_it_is_answerable(
    answerable: bool | None, flags: tuple[str, ...], value: float, verdict: Verdict | None
) -> None:
    score, asked = play(
        "abstention", replace(ROW, answerable=answerable), lambda request: rated(request, 0, *flags)
    )
    assert [request.rubric for request in asked] == ["answer_relevance"]
    assert (score.value, score.verdict) == (value, verdict)


def test_context_relevance_is_the_mean_and_passes_by_its_best_chunk() -> None:
    score, asked = play(
        "context_relevance", ROW, by_item("context", {"It opened in 1999.": 2, "Nothing here.": 0})
    )
    assert [request.inputs for request in asked] == [
        {"question": ROW.question, "context": "It opened in 1999."},
        {"question": ROW.question, "context": "Nothing here."},
    ]
    assert score.value == pytest.approx(1 / 3)
    assert score.extra == {"max": 2 / 3, "min": 0.0}
    assert score.verdict is Verdict.PASS
    assert [part.context for part in score.parts] == [0, 1]


def test_chunk_relevance_reads_yes_or_no_off_the_same_requests_and_needs_one_yes() -> None:
    ratings = by_item("context", {"It opened in 1999.": 2, "Nothing here.": 1})
    score, asked = play("chunk_relevance", ROW, ratings)
    assert asked == play("context_relevance", ROW, ratings)[1]
    assert (score.value, score.verdict) == (0.5, Verdict.PASS)
    none, _ = play("chunk_relevance", ROW, lambda request: rated(request, 1))
    assert (none.value, none.verdict) == (0.0, Verdict.FAIL)
    own, asked = play(
        "chunk_relevance(rubric=chunk_relevance)",
        ROW,
        lambda r: replace(rated(r, 1, top=1), rating="yes"),
    )
    assert {request.rubric for request in asked} == {"chunk_relevance"}
    assert own.value == 1.0


def test_without_a_chunk_there_is_no_precision_and_the_row_fails() -> None:
    score, _ = play("chunk_relevance", replace(ROW, contexts=()), never)
    assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, Verdict.FAIL)
    mean, _ = play("context_relevance", replace(ROW, contexts=()), never)
    assert (mean.status, mean.value, mean.verdict) == (Status.NOT_APPLICABLE, None, None)


def test_an_empty_chunk_is_not_relevant_and_is_not_asked_about() -> None:
    row = replace(ROW, contexts=(Context(" "), Context("It opened in 1999.")))
    score, asked = play("chunk_relevance", row, lambda request: rated(request, 3))
    assert (len(asked), score.value) == (1, 0.5)
    assert [part.passed for part in score.parts] == [False, True]


def test_faithfulness_asks_what_groundedness_asks_and_counts_the_supported() -> None:
    ratings = by_item("claim", {"It opened in 1999.": 2, "It is red.": 1})
    ratio, asked = play("faithfulness", ROW, ratings)
    assert asked == play("groundedness", ROW, ratings)[1]
    assert (ratio.value, ratio.verdict) == (0.5, Verdict.FAIL)
    assert play("faithfulness(mode=binary)", ROW, ratings)[0].value == 0.0
    weighted, _ = play("faithfulness(mode=weighted, pass_mark=0.6)", ROW, ratings)
    assert [part.weight for part in weighted.parts] == [2.0, 1.0]  # a date
    assert (weighted.value, weighted.verdict) == (2 / 3, Verdict.PASS)


def test_a_citation_mark_adds_no_weight_to_its_claim() -> None:
    row = replace(ROW, response="It is old. It is red [2].")
    ratings = by_item("claim", {"It is old.": 3, "It is red.": 0})
    score, _ = play("faithfulness(mode=weighted)", row, ratings)
    assert [part.weight for part in score.parts] == [1.0, 1.0]
    assert score.value == 0.5  # not 1 / (1 + 2), with [2] weighed as a number


def sorted_as(request: Request, rating: str) -> Judgment:
    """What a model says of a sentence, "claim" or "trivial"."""
    return replace(rated(request, 0), rating=rating, value=float(rating == "claim"))


def test_the_llm_may_leave_out_sentences_that_state_nothing_in_one_wave() -> None:
    row = replace(ROW, response="It opened in 1999. Time to look behind the curtain. It is red.")

    def answer(request: Request) -> Judgment:
        if request.rubric == "trivial":
            is_trivial = "curtain" in request.text("claim")
            return sorted_as(request, "trivial" if is_trivial else "claim")
        return rated(request, 3 if "1999" in request.text("claim") else 0)

    score, asked = play("groundedness(claims=filtered)", row, answer)
    assert [request.rubric for request in asked] == ["trivial"] * 3 + ["groundedness"] * 2
    assert score.value == 0.5  # of two claims one is supported
    assert [part.reason for part in score.parts if part.value is None] == ["no claim: trivial"]


def test_a_lost_filter_leaves_the_row_undecided() -> None:
    def answer(request: Request) -> Judgment:
        if request.rubric == "trivial":
            return gone(request, Status.REFUSED)
        return rated(request, 3)

    score, asked = play("groundedness(claims=filtered)", ROW, answer)
    assert [request.rubric for request in asked] == ["trivial"] * 2
    assert (score.status, score.value, score.verdict) == (Status.REFUSED, None, Verdict.UNDECIDED)


def test_a_response_of_which_the_filter_leaves_nothing_makes_no_claim() -> None:
    score, asked = play(
        "faithfulness(claims=filtered)", ROW, lambda request: sorted_as(request, "trivial")
    )
    assert [request.rubric for request in asked] == ["trivial", "trivial"]
    assert (score.status, score.reason) == (Status.NOT_APPLICABLE, "the response makes no claim")


def test_the_llm_may_list_the_claims_and_those_it_took_over_get_their_place() -> None:
    def answer(request: Request) -> Judgment:
        if request.rubric == "claims":
            assert request.inputs == {"question": ROW.question, "response": ROW.response}
            texts = ("The building opened in 1999.", "It is red.", "Hello")
            return Judgment(
                request.key, "judge", "claims", Status.JUDGED, texts=texts, flags=("trivial:2",)
            )
        return rated(request, 3)

    score, asked = play("groundedness(claims=llm)", ROW, answer)
    assert [request.rubric for request in asked] == ["claims", "groundedness", "groundedness"]
    assert [(part.text, part.start, part.status) for part in score.parts] == [
        ("The building opened in 1999.", None, Status.JUDGED),
        ("", 19, Status.JUDGED),
        ("Hello", None, Status.NOT_APPLICABLE),
    ]
    assert score.value == 1.0


def test_a_lost_list_of_claims_leaves_the_row_undecided() -> None:
    score, _ = play("groundedness(claims=llm)", ROW, lambda request: gone(request, Status.REFUSED))
    assert (score.status, score.value, score.verdict) == (Status.REFUSED, None, Verdict.UNDECIDED)
    assert (score.counts.asked, score.counts.refused) == (1, 1)


def test_a_lost_verdict_is_unjudged_and_never_counts_as_supported() -> None:
    answer = by_item("claim", {"It opened in 1999.": 3, "It is red.": Status.UNPARSED})
    for metric in ("groundedness", "faithfulness", "faithfulness(mode=weighted)"):
        score, _ = play(metric, ROW, answer)
        assert (score.value, score.verdict, score.flags) == (1.0, Verdict.UNDECIDED, ("partial",))
        assert (score.counts.asked, score.counts.judged, score.counts.unparsed) == (2, 1, 1)
    binary, _ = play("faithfulness(mode=binary)", ROW, answer)
    assert (binary.value, binary.verdict, binary.status) == (
        None,
        Verdict.UNDECIDED,
        Status.UNPARSED,
    )


def test_a_row_that_fails_whatever_the_lost_verdict_says_fails() -> None:
    answer = by_item("claim", {"It opened in 1999.": Status.FAILED, "It is red.": 0})
    assert play("groundedness", ROW, answer)[0].verdict is Verdict.FAIL
    assert play("faithfulness(mode=binary)", ROW, answer)[0].value == 0.0


@pytest.mark.parametrize(("other", "verdict"), [(3, Verdict.PASS), (0, Verdict.UNDECIDED)])
def test_one_relevant_chunk_decides_although_another_is_lost(other: int, verdict: Verdict) -> None:
    answer = by_item("context", {"It opened in 1999.": other, "Nothing here.": Status.FAILED})
    for metric in ("chunk_relevance", "context_relevance"):
        assert play(metric, ROW, answer)[0].verdict is verdict


@pytest.mark.parametrize(
    "metric", ["groundedness", "faithfulness", "context_relevance", "chunk_relevance"]
)
def test_when_all_is_lost_the_score_has_the_most_frequent_loss_and_no_value(metric: str) -> None:
    row = replace(
        ROW, response="It is red. It is old. It is big.", contexts=tuple(Context(t) for t in "abc")
    )
    statuses = iter([Status.REFUSED, Status.FAILED, Status.FAILED])
    score, _ = play(metric, row, lambda request: gone(request, next(statuses)))
    assert (score.status, score.value, score.verdict) == (Status.FAILED, None, Verdict.UNDECIDED)
    assert (score.counts.asked, score.counts.judged, score.counts.failed, score.counts.refused) == (
        3,
        0,
        2,
        1,
    )
    assert score.reason == "no verdict in the reply"


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -0.1, 1.1])
def test_a_judgment_without_a_value_in_range_counts_as_unparsed(value: float | None) -> None:
    for metric in ("groundedness", "context_relevance", "answer_relevance", "abstention"):
        score, _ = play(metric, ROW, lambda request: replace(rated(request, 3), value=value))
        assert (score.status, score.value) == (Status.UNPARSED, None)


def test_a_response_of_thousands_of_claims_is_not_sent_claim_by_claim() -> None:
    row = replace(ROW, response="It is red. " * 1001)
    score, _ = play("groundedness", row, never)
    assert (score.status, score.verdict, score.counts.asked) == (
        Status.FAILED,
        Verdict.UNDECIDED,
        1001,
    )


def test_document_metrics_read_the_ids_of_the_contexts_and_ask_nothing() -> None:
    expected = {
        "document_recall": 0.5,
        "precision_at_k(k=4)": 0.25,
        "recall_at_k(k=5)": 0.5,
        "hit_rate(k=1)": 0.0,
        "hit_rate(k=5)": 1.0,
        "mrr": 0.5,
        "map": 0.25,
        "ndcg_at_k(k=10)": pytest.approx((1 / 1.584962500721156) / (2 + 1 / 1.584962500721156)),
    }
    for metric, value in expected.items():
        score, _ = play(metric, ROW, never)
        assert (score.metric, score.value) == (metric, value)
    assert play("document_recall", ROW, never)[0].verdict is Verdict.PASS
    assert play("document_recall(pass_mark=1)", ROW, never)[0].verdict is Verdict.FAIL
    assert play("mrr", ROW, never)[0].verdict is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (replace(ROW, contexts=(Context("a", "d1"), Context("b"))), "context 2 has no id"),
        (replace(ROW, relevant_ids={"d1": 0.0}), "relevant_ids names no relevant document"),
        (replace(ROW, relevant_ids=None), "the row has no relevant_ids"),
    ],
)
def test_a_ranking_that_cannot_be_measured_is_not_applicable(row: Sample, reason: str) -> None:
    for metric in ("document_recall", "precision_at_k", "ndcg_at_k", "map"):
        score, _ = play(metric, row, never)
        assert (score.status, score.value, score.reason) == (Status.NOT_APPLICABLE, None, reason)


def test_nothing_retrieved_finds_no_document() -> None:
    row = replace(ROW, contexts=())
    assert [
        play(m, row, never)[0].value for m in ("document_recall", "precision_at_k", "mrr", "map")
    ] == [0.0] * 4


def test_operation_metrics_report_the_applications_figures_and_never_invent_one() -> None:
    assert [
        play(m, ROW, never)[0].value
        for m in ("app_tokens", "app_input_tokens", "app_output_tokens", "app_cost", "app_latency")
    ] == [15, 10, 5, 0.25, 1.5]
    score, _ = play("app_tokens", replace(ROW, usage=AppUsage(input_tokens=10)), never)
    assert (score.value, score.reason) == (None, "the row has no usage.total_tokens")
    assert play("app_cost", replace(ROW, usage=AppUsage(cost=float("nan"))), never)[0].value is None


@pytest.mark.parametrize(("passes", "verdict"), [(True, Verdict.PASS), (False, Verdict.FAIL)])
@pytest.mark.parametrize(
    "metric", ["groundedness", "context_relevance", "answer_relevance", "chunk_relevance"]
)
def test_the_pass_mark_of_the_rubrics_own_scale_decides_wherever_it_lies(
    metric: str, passes: bool, verdict: Verdict
) -> None:
    # A scale 0-10 that passes at 5 has a value of 0.6 for a 6, below the 2/3 of the scale 0-3; one
    # that passes at 8 has 0.7.
    rating = 6 if passes else 7
    answer = lambda request: replace(rated(request, rating, top=10), passes=passes)  # noqa: E731
    score, _ = play(metric, ROW, answer)
    assert score.verdict is verdict
    assert {part.passed for part in score.parts} == {passes}


def test_a_pass_mark_that_was_asked_for_outranks_the_rubrics() -> None:
    answer = lambda request: replace(rated(request, 6, top=10), passes=True)  # noqa: E731
    assert play("answer_relevance(pass_mark=0.7)", ROW, answer)[0].verdict is Verdict.FAIL


def test_with_nothing_retrieved_an_admission_is_grounded_and_the_claim_beside_it_is_not() -> None:
    row = replace(ROW, contexts=(), response="It opened in 1999. I don't know who built it.")
    score, _ = play("groundedness", row, lambda request: rated(request, 3))
    assert [(part.value, part.passed) for part in score.parts] == [(0.0, False), (1.0, True)]
