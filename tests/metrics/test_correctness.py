"""One rating of a row: correctness, sufficiency, safety and its categories; and guidelines, several
ratings of one row.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import Context, Judgment, Request, Sample, Status, Verdict
from support.diagnosing import diagnose
from support.hand_fed import gone, near, never, play, quoted, rated, wrote

ROW = Sample(
    "r",
    question="When did it open, and who built it?",
    response="It opened in 1999. Lee built it.",
    contexts=(Context("It opened in 1999. It is red."), Context("Trams run daily.")),
    reference="It opened in 1999. Kim built it.",
    guidelines=("Be brief.", "Name no prices."),
)


# -- correctness


def test_correctness_asks_with_the_expected_facts_else_with_the_claims_of_the_reference() -> None:
    _, asked = play("correctness", ROW, lambda r: rated(r, "yes"))
    assert [request.inputs for request in asked] == [
        {
            "question": ROW.question,
            "response": ROW.response,
            "statements": ("It opened in 1999.", "Kim built it."),
        }
    ]
    _, asked = play(
        "correctness",
        replace(ROW, expected_facts=("Kim", "1999", "Kim")),
        lambda r: rated(r, "yes"),
    )
    assert asked[0].texts("statements") == ("Kim", "1999")
    _, asked = play("correctness", replace(ROW, reference="1932"), lambda r: rated(r, "yes"))
    assert asked[0].texts("statements") == ("1932",)


@pytest.mark.parametrize(
    ("metric", "rating", "flags", "value", "verdict", "said"),
    [
        ("correctness", "yes", (), 1.0, Verdict.PASS, ()),
        ("correctness", "no", (), 0.0, Verdict.FAIL, ()),
        ("correctness", "yes", ("declined",), 0.0, Verdict.FAIL, ("abstention",)),
        ("correctness(form=three)", "correct", (), 1.0, Verdict.PASS, ()),
        ("correctness(form=three)", "incorrect", (), 0.0, Verdict.FAIL, ()),
        ("correctness(form=three)", "not_attempted", (), 0.0, Verdict.FAIL, ("abstention",)),
    ],
)
def test_correctness_is_one_for_yes_and_an_abstention_is_not_correct(
    metric: str,
    rating: str,
    flags: tuple[str, ...],
    value: float,
    verdict: Verdict,
    said: tuple[str, ...],
) -> None:
    score, asked = play(metric, ROW, lambda request: rated(request, rating, *flags))
    assert [r.rubric for r in asked] == ["correctness_3" if "three" in metric else "correctness"]
    assert (score.value, score.verdict, score.flags, score.rationale) == (
        value,
        verdict,
        said,
        "so",
    )
    assert [(p.kind, p.start, p.end, p.passed) for p in score.parts] == [
        ("statement", 0, 32, verdict is Verdict.PASS)
    ]
    assert score.counts.asked == 1


def test_a_lost_verdict_on_correctness_leaves_the_row_undecided() -> None:
    score, _ = play("correctness", ROW, lambda request: gone(request, Status.REFUSED))
    assert (score.status, score.value, score.verdict, score.counts.refused) == (
        Status.REFUSED,
        None,
        Verdict.UNDECIDED,
        1,
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (replace(ROW, reference=None), "the row has no reference or expected_facts"),
        (replace(ROW, reference=" "), "the reference is empty"),
        (replace(ROW, reference="Sure!"), "the reference makes no statement"),
        (replace(ROW, reference="I don't know."), "the reference declines to answer"),
        (replace(ROW, question=""), "the question is empty"),
    ],
)
def test_without_a_truth_there_is_no_correctness(row: Sample, reason: str) -> None:
    score, _ = play("correctness", row, never)
    assert (score.status, score.value, score.verdict, score.reason) == (
        Status.NOT_APPLICABLE,
        None,
        None,
        reason,
    )


# -- context_sufficiency


def test_sufficiency_asks_with_all_contexts_and_its_rationale_says_what_is_missing() -> None:
    score, asked = play(
        "context_sufficiency", ROW, lambda r: rated(r, "no", rationale="who built it is missing")
    )
    assert asked[0].inputs == {
        "question": ROW.question,
        "contexts": ("It opened in 1999. It is red.", "Trams run daily."),
        "statements": ("It opened in 1999.", "Kim built it."),
    }
    assert (score.value, score.verdict, score.rationale) == (
        0.0,
        Verdict.FAIL,
        "who built it is missing",
    )
    score, asked = play(
        "context_sufficiency(against=question)",
        replace(ROW, reference=None),
        lambda r: rated(r, "yes"),
    )
    assert (asked[0].rubric, set(asked[0].inputs)) == (
        "context_sufficiency_open",
        {"question", "contexts"},
    )
    assert (score.value, score.verdict) == (1.0, Verdict.PASS)


@pytest.mark.parametrize("contexts", [(), (Context(""), Context(" "))])
@pytest.mark.parametrize("metric", ["context_sufficiency", "context_sufficiency(against=question)"])
def test_nothing_retrieved_is_not_sufficient_and_nobody_is_asked(
    metric: str, contexts: tuple[Context, ...]
) -> None:
    score, _ = play(metric, replace(ROW, contexts=contexts), never)
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.FAIL, ("nothing_retrieved",))
    assert play(metric, replace(ROW, contexts=None), never)[0].reason == "the row has no contexts"


# -- safety and its categories


def unsafe(request: Request) -> Judgment:
    return rated(request, "unsafe", "toxicity", "bias", rationale="it insults people")


def test_safety_names_categories_of_harm_and_these_are_metrics_of_their_own_at_no_call() -> None:
    score, asked = play("safety", ROW, unsafe)
    assert [request.inputs for request in asked] == [
        {"question": ROW.question, "response": ROW.response}
    ]
    assert (score.value, score.verdict, score.flags) == (0.0, Verdict.FAIL, ("toxicity", "bias"))
    for name, found in {"toxicity": True, "bias": True, "pii": False}.items():
        category, again = play(name, ROW, unsafe)
        assert again == asked, "the judgment of safety is read again, so nothing more is paid"
        assert (category.value, category.verdict) == (
            float(found),
            Verdict.FAIL if found else Verdict.PASS,
        )
        assert category.parts[0].passed is not found
    assert play("safety", ROW, lambda r: rated(r, "safe"))[0].verdict is Verdict.PASS


def test_a_row_without_a_question_can_be_unsafe_and_a_lost_verdict_is_not_safe() -> None:
    score, asked = play("safety", replace(ROW, question=None), unsafe)
    assert (score.value, asked[0].text("question")) == (0.0, "")
    for name in ("safety", "toxicity", "bias", "pii"):
        lost, _ = play(name, ROW, lambda r: gone(r, Status.OVER_BUDGET))
        assert (lost.status, lost.value, lost.verdict) == (
            Status.OVER_BUDGET,
            None,
            Verdict.UNDECIDED,
        )


# -- guidelines


@pytest.mark.parametrize(
    ("ratings", "value", "verdict"),
    [
        (("yes", "yes"), 1.0, Verdict.PASS),
        (("yes", "no"), 0.5, Verdict.FAIL),
        (("yes", None), 1.0, Verdict.UNDECIDED),
        (("no", None), 0.0, Verdict.FAIL),
        ((None, None), None, Verdict.UNDECIDED),
    ],
)
def test_guidelines_are_asked_one_by_one_and_all_must_be_kept(
    ratings: tuple[str | None, ...], value: float | None, verdict: Verdict
) -> None:
    by_text = dict(zip(ROW.guidelines, ratings, strict=True))

    def answer(request: Request) -> Judgment:
        rating = by_text[request.text("guideline")]
        return gone(request) if rating is None else rated(request, rating)

    score, asked = play("guidelines", ROW, answer)
    assert [request.text("guideline") for request in asked] == list(ROW.guidelines)
    assert (score.value, score.verdict, score.pass_mark) == (value, verdict, 1.0)
    assert [part.text for part in score.parts] == list(ROW.guidelines)


def test_guidelines_that_are_empty_or_repeated_are_not_asked_about() -> None:
    row = replace(ROW, guidelines=("Be brief.", " ", "Be brief. "))
    score, asked = play("guidelines", row, lambda r: rated(r, "no"))
    assert (len(asked), score.value) == (1, 0.0)
    for none in ((), (" ", "")):
        score, _ = play("guidelines", replace(ROW, guidelines=none), never)
        assert (score.status, score.reason) == (Status.NOT_APPLICABLE, "the row has no guidelines")


# -- answer_relevance_reverse and semantic_similarity


def reverse(
    *texts: str, flags: tuple[str, ...] = (), cosine: dict[str, float] | None = None
) -> object:
    def answer(request: Request) -> Judgment:
        if request.rubric == "questions":
            assert request.inputs == {"response": ROW.response, "count": "3"}
            return wrote(request, *texts, flags=flags)
        assert request.text("other") == ROW.question
        known = (cosine or {}).get(request.text("text"))
        return gone(request) if known is None else near(request, known)

    return answer


def test_reverse_relevance_is_the_mean_cosine_of_the_written_questions() -> None:
    cosine = {"When?": 0.9, "Who?": 0.6, "What?": 0.3}
    score, asked = play("answer_relevance_reverse", ROW, reverse(*cosine, cosine=cosine))  # type: ignore[arg-type]
    assert [request.rubric for request in asked] == ["questions", *["similarity"] * 3]
    assert score.value == pytest.approx(0.6)
    assert (score.verdict, score.flags) == (None, ())
    assert [(part.kind, part.text, part.value) for part in score.parts] == [
        ("question", q, v) for q, v in cosine.items()
    ]


def test_reverse_relevance_counts_what_was_written_and_judged_and_no_more_than_was_asked() -> None:
    cosine = {"When?": 0.9, "Who?": 0.6, "What?": 0.3, "Why?": 0.0}
    few, _ = play("answer_relevance_reverse", ROW, reverse("When?", " ", cosine=cosine))  # type: ignore[arg-type]
    assert (few.value, few.flags, few.counts.asked, few.counts.judged) == (0.9, ("partial",), 3, 1)
    many, _ = play("answer_relevance_reverse", ROW, reverse(*cosine, cosine=cosine))  # type: ignore[arg-type]
    assert many.value == pytest.approx(0.6)
    assert many.flags == ()
    lost, _ = play("answer_relevance_reverse", ROW, reverse("When?", "Who?", "x?", cosine=cosine))  # type: ignore[arg-type]
    assert (lost.value, lost.flags) == (0.75, ("partial",))
    none, _ = play("answer_relevance_reverse", ROW, reverse())  # type: ignore[arg-type]
    assert (none.status, none.value, none.reason) == (
        Status.UNPARSED,
        None,
        "the judge wrote 0 of 3 questions",
    )
    gone_, _ = play("answer_relevance_reverse", ROW, lambda r: gone(r, Status.REFUSED))
    assert (gone_.status, gone_.value, gone_.verdict, gone_.counts.refused) == (
        Status.REFUSED,
        None,
        None,
        1,
    )


def test_a_noncommittal_response_is_zero_without_a_cosine() -> None:
    score, asked = play("answer_relevance_reverse", ROW, reverse("When?", flags=("noncommittal",)))  # type: ignore[arg-type]
    assert (len(asked), score.value, score.verdict, score.flags) == (1, 0.0, None, ("abstention",))


def test_semantic_similarity_is_the_cosine_and_judges_nothing() -> None:
    score, asked = play("semantic_similarity", ROW, lambda r: near(r, 0.7))
    assert asked[0].inputs == {"text": ROW.response, "other": ROW.reference}
    assert (score.value, score.verdict, score.pass_mark, score.parts[0].passed) == (
        0.7,
        None,
        None,
        None,
    )
    assert (
        play("semantic_similarity", replace(ROW, reference=" "), never)[0].reason
        == "the reference is empty"
    )
    assert play("semantic_similarity", ROW, gone)[0].verdict is None


# -- context_relevance_ratio


def test_the_ratio_counts_the_sentences_that_are_quoted_over_all_chunks() -> None:
    # 2 + 1 sentences; one is quoted: 1 / 3. A quote of less than half a sentence does not make it
    # relevant.
    def answer(request: Request) -> Judgment:
        first = request.text("context").startswith("It")
        return quoted(request, *(("It opened in 1999.", "is") if first else ()))

    score, asked = play("context_relevance_ratio", ROW, answer)
    assert [request.inputs for request in asked] == [
        {"question": ROW.question, "context": chunk.text} for chunk in ROW.contexts or ()
    ]
    assert score.value == pytest.approx(1 / 3)
    assert score.verdict is None
    assert score.extra == {"relevant": 1, "sentences": 3}
    assert [(part.context, part.value) for part in score.parts] == [(0, 0.5), (1, 0.0)]
    assert [evidence.quote for evidence in score.parts[0].evidence] == ["It opened in 1999.", "is"]


def test_two_quotes_of_one_place_count_once_and_lines_are_sentences() -> None:
    row = replace(
        ROW,
        contexts=(Context("# Opening hours\nIt opens at nine and closes at five\nCome and see."),),
    )
    score, _ = play(
        "context_relevance_ratio",
        row,
        lambda r: quoted(r, "It opens at nine", "opens at nine", "at nine"),
    )
    assert score.extra == {
        "relevant": 0,
        "sentences": 3,
    }  # 13 of 28 letters, three times over, is no half
    score, _ = play(
        "context_relevance_ratio",
        row,
        lambda r: quoted(r, "It opens at nine", "and closes at five"),
    )
    assert score.extra == {"relevant": 1, "sentences": 3}


def test_lost_and_empty_chunks_are_left_out_of_the_ratio() -> None:
    row = replace(ROW, contexts=(*(ROW.contexts or ()), Context(" "), Context("...")))

    def answer(request: Request) -> Judgment:
        text = request.text("context")
        return (
            gone(request)
            if text.startswith("Trams")
            else quoted(request, "It is red.")
            if "red" in text
            else quoted(request)
        )

    score, asked = play("context_relevance_ratio", row, answer)
    assert len(asked) == 3
    assert (score.value, score.flags, score.counts.asked, score.counts.judged) == (
        0.5,
        ("partial",),
        2,
        1,
    )
    assert [part.status for part in score.parts[2:]] == [Status.NOT_APPLICABLE] * 2
    none, _ = play("context_relevance_ratio", replace(ROW, contexts=(Context("..."),)), quoted)
    assert (none.status, none.reason) == (Status.NOT_APPLICABLE, "the chunks hold no sentence")


# -- context_entity_recall


def test_entity_recall_looks_for_what_the_reference_names_by_rules_and_without_a_call() -> None:
    score, _ = play(
        "context_entity_recall", replace(ROW, reference="In 1999 it was opened by Ada Kim."), never
    )
    # named: 1999 and Ada Kim, of which a chunk names 1999
    assert [(part.text, part.passed) for part in score.parts] == [
        ("1999", True),
        ("Ada Kim", False),
    ]
    assert (score.value, score.verdict, score.rationale) == (
        0.5,
        None,
        "not in the contexts: Ada Kim",
    )


def test_entity_recall_may_ask_for_entities_and_believes_only_those_in_the_reference() -> None:
    score, asked = play(
        "context_entity_recall(entities=llm)", ROW, lambda r: wrote(r, "1999", "Zoe", " ", "1999")
    )
    assert [(r.rubric, r.inputs) for r in asked] == [("entities", {"text": ROW.reference})]
    assert [part.text for part in score.parts] == ["1999"]
    assert (score.value, score.counts.judged) == (1.0, 1)
    made_up, _ = play("context_entity_recall(entities=llm)", ROW, lambda r: wrote(r, "Zoe"))
    assert (made_up.status, made_up.value) == (Status.UNPARSED, None)
    lost, _ = play("context_entity_recall(entities=llm)", ROW, lambda r: gone(r, Status.FAILED))
    assert (lost.status, lost.value) == (Status.FAILED, None)
    none, _ = play("context_entity_recall(entities=llm)", ROW, wrote)
    assert (none.status, none.reason) == (Status.NOT_APPLICABLE, "the reference names no entity")


def test_nothing_retrieved_names_nothing() -> None:
    score, _ = play("context_entity_recall", replace(ROW, contexts=()), never)
    assert (score.value, score.flags) == (0.0, ("nothing_retrieved",))


# -- in the diagnosis


def test_the_first_failure_in_causal_order_is_the_cause() -> None:
    ratings = {"context_sufficiency": "no", "correctness": "no", "safety": "unsafe"}
    scores = [
        play(name, ROW, lambda r: rated(r, ratings[r.rubric]))[0]
        for name in ("safety", "correctness", "context_sufficiency")
    ]
    found = diagnose(ROW, scores)
    assert found.verdict is Verdict.FAIL
    assert found.cause is not None
    assert found.cause.name == "insufficient_context"
    assert "unsafe" in [cause.name for cause in found.others]
