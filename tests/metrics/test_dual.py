"""Two rubrics on one thing: the mean of the ratings that arrived, how far they differ, and what a
lost one leaves.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import Context, Judgment, Request, Sample, Status, Verdict
from support.hand_fed import RUBRICS, Answer, gone, never, play, rated

ROW = Sample(
    "r",
    question="When did it open?",
    response="It opened in 1999.",
    reference="In 1999.",
    contexts=(Context("It opened in 1999."), Context("Nothing here.")),
)
TEXTS = ("It opened in 1999.", "Nothing here.")
METRICS = ("context_relevance_dual", "response_groundedness_dual", "answer_accuracy_dual")


def both(first: int | None, second: int | None, step: int = 1) -> Answer:
    """The two ratings in steps of the scale; None is lost."""

    def answer(request: Request) -> Judgment:
        rating = first if request.rubric.endswith("_1") else second
        return (
            gone(request)
            if rating is None
            else rated(request, rating * step, rationale=f"rated {rating}")
        )

    return answer


def step(metric: str) -> int:
    return 2 if metric == "answer_accuracy_dual" else 1  # 0, 2, 4 there, 0, 1, 2 else


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("first", "second", "value", "verdict"),
    [
        (2, 2, 1.0, Verdict.PASS),
        (2, 1, 0.75, Verdict.PASS),
        (1, 1, 0.5, Verdict.PASS),
        (2, 0, 0.5, Verdict.PASS),
        (1, 0, 0.25, Verdict.FAIL),
        (0, 0, 0.0, Verdict.FAIL),
    ],
)
def test_the_value_is_the_mean_of_both_and_passes_at_a_half(
    metric: str, first: int, second: int, value: float, verdict: Verdict
) -> None:
    score, asked = play(metric, ROW, both(first, second, step(metric)))
    assert [request.rubric for request in asked] == [f"{metric}_1", f"{metric}_2"]
    assert (score.value, score.verdict, score.pass_mark, score.flags) == (value, verdict, 0.5, ())
    assert score.extra == {
        "first": first / 2,
        "second": second / 2,
        "disagreement": abs(first - second) / 2,
    }
    assert (score.counts.asked, score.counts.judged) == (2, 2)
    assert score.rationale == f"rated {min(first, second)}"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("known", "value", "verdict"),
    [(2, 1.0, Verdict.PASS), (1, 0.5, Verdict.UNDECIDED), (0, 0.0, Verdict.UNDECIDED)],
)
@pytest.mark.parametrize("lost", ["first", "second"])
def test_with_one_lost_the_verdict_stands_only_where_the_lost_one_cannot_change_it(
    metric: str, known: int, value: float, verdict: Verdict, lost: str
) -> None:
    # 2 and anything is at least (1 + 0) / 2 = 0.5; 0 and the best is (0 + 1) / 2 = 0.5, which would
    # still pass.
    first, second = (None, known) if lost == "first" else (known, None)
    score, _ = play(metric, ROW, both(first, second, step(metric)))
    assert (score.value, score.verdict, score.flags) == (value, verdict, ("partial",))
    assert score.extra == {"second" if lost == "first" else "first": known / 2}
    assert (score.counts.asked, score.counts.judged, score.counts.unparsed) == (2, 1, 1)


@pytest.mark.parametrize("metric", METRICS)
def test_a_lost_rating_cannot_save_a_row_that_fails_a_higher_mark(metric: str) -> None:
    score, _ = play(f"{metric}(pass_mark=0.8)", ROW, both(0, None, step(metric)))
    assert (score.value, score.verdict) == (0.0, Verdict.FAIL)  # at most (0 + 1) / 2


@pytest.mark.parametrize("metric", METRICS)
def test_with_both_lost_there_is_no_value(metric: str) -> None:
    score, _ = play(metric, ROW, both(None, None))
    assert (score.status, score.value, score.verdict) == (Status.UNPARSED, None, Verdict.UNDECIDED)
    assert (score.reason, score.counts.unparsed) == ("lost", 2)


def test_each_metric_asks_about_what_it_measures() -> None:
    _, asked = play("context_relevance_dual", ROW, both(1, 1))
    assert [request.inputs for request in asked] == [
        {"question": ROW.question, "contexts": TEXTS}
    ] * 2
    _, asked = play("response_groundedness_dual", ROW, both(1, 1))
    assert [request.inputs for request in asked] == [
        {"response": ROW.response, "contexts": TEXTS}
    ] * 2
    _, asked = play("answer_accuracy_dual", ROW, both(1, 1, 2))
    assert [(r.text("answer"), r.text("other")) for r in asked] == [
        (ROW.response, ROW.reference),
        (ROW.reference, ROW.response),
    ]


@pytest.mark.parametrize(
    ("metric", "row", "reason"),
    [
        ("context_relevance_dual", replace(ROW, contexts=()), "nothing was retrieved"),
        ("context_relevance_dual", replace(ROW, question=" "), "the question is empty"),
        ("response_groundedness_dual", replace(ROW, response=""), "the response is empty"),
        (
            "response_groundedness_dual",
            replace(ROW, response="Sure!"),
            "the response makes no claim",
        ),
        ("answer_accuracy_dual", replace(ROW, reference=" "), "the reference is empty"),
        ("answer_accuracy_dual", replace(ROW, reference=None), "the row has no reference"),
    ],
)
def test_where_there_is_nothing_to_rate_nothing_is_asked(
    metric: str, row: Sample, reason: str
) -> None:
    score, _ = play(metric, row, never)
    assert (score.status, score.value, score.verdict, score.reason) == (
        Status.NOT_APPLICABLE,
        None,
        None,
        reason,
    )


def test_claims_without_contexts_and_contexts_without_text_are_zero_without_asking() -> None:
    for contexts in ((), (Context(" "),)):
        score, _ = play("response_groundedness_dual", replace(ROW, contexts=contexts), never)
        assert (score.value, score.verdict, score.flags) == (0.0, Verdict.FAIL, ("nothing_found",))
    score, _ = play("context_relevance_dual", replace(ROW, contexts=(Context(" "),)), never)
    assert (score.value, score.verdict) == (0.0, Verdict.FAIL)


def test_an_admission_is_fully_grounded_also_without_contexts() -> None:
    for contexts in ((), ROW.contexts):
        score, _ = play(
            "response_groundedness_dual",
            replace(ROW, response="I don't know.", contexts=contexts),
            never,
        )
        assert (score.value, score.verdict, score.flags) == (1.0, Verdict.PASS, ("abstention",))


def test_a_claim_beside_an_admission_is_judged() -> None:
    row = replace(ROW, response="Take 500 mg. I do not know the maximum dose.")
    score, asked = play("response_groundedness_dual", row, both(0, 0))
    assert [request.text("response") for request in asked] == [row.response, row.response]
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.FAIL, ())


@pytest.mark.parametrize("metric", METRICS)
def test_the_light_form_asks_for_bare_ratings(metric: str) -> None:
    score, asked = play(f"{metric}(form=light)", ROW, both_light(metric))
    assert [request.rubric for request in asked] == [f"{metric}_1_light", f"{metric}_2_light"]
    assert (score.value, score.verdict) == (0.75, Verdict.PASS)
    assert not any(RUBRICS.get(request.rubric).asks_reasons for request in asked)
    for request in asked:
        reasoned = RUBRICS.get(request.rubric.removesuffix("_light"))
        assert reasoned.asks_reasons
        assert '"reasoning"' not in RUBRICS.get(request.rubric).system_prompt()


def both_light(metric: str) -> Answer:
    """The first rates with the best, the second in the middle."""

    def answer(request: Request) -> Judgment:
        return rated(request, (2 if "_1_" in request.rubric else 1) * step(metric))

    return answer
