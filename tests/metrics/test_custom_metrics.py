"""A user's rubric file as a metric: what it asks at each level, on any scale, and what it does to
the verdict of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import Context, Judgment, Request, Sample, Score, SetupError, Status, Verdict
from ragassay.judges import RubricRegistry
from ragassay.metrics import Metric, custom_metric, parse
from ragassay.metrics.custom import CustomMetric
from support.diagnosing import diagnose
from support.hand_fed import gone, never, play

ROW = Sample(
    "r",
    question="What is it?",
    response="It is red.",
    contexts=(Context("It is red."), Context(" "), Context("Trams run.")),
    reference="Red.",
    expected_facts=("It is red.",),
    guidelines=("Be brief.",),
)
Make = Callable[[str], CustomMetric]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """The metric of a file with this header."""

    def made(header: str, criteria: str = "Look closely.") -> CustomMetric:
        path = tmp_path / "mine.md"
        given = (
            header
            if "scale:" in header or "guidelines:\n" in header
            else f"{header}\nscale: yes/no"
        )
        path.write_text(f"---\n{given}\n---\n## Criteria\n\n{criteria}\n", encoding="utf-8")
        (rubric,) = RubricRegistry.default().with_files([path]).custom
        return custom_metric(rubric)

    return made


def rate(
    metric: CustomMetric, by: dict[str, int | str | None] | int | str
) -> Callable[[Request], Judgment]:
    """Ratings on the metric's own scale, by the item where there are several; None is lost."""
    scale = metric.rubric.scale
    assert scale is not None

    def answer(request: Request) -> Judgment:
        rating = by if not isinstance(by, dict) else by[request.text(metric.rubric.item)]
        if rating is None:
            return gone(request)
        return Judgment(
            request.key,
            "j",
            request.rubric,
            Status.JUDGED,
            rating,
            scale.value(rating),
            rationale="so",
            passes=scale.passes(rating),
        )

    return answer


TONE = "id: tone\npurpose: Is the tone friendly?\ninputs: [question, response]\n"


def test_a_judge_at_answer_level_rates_the_row_once_on_its_own_scale(make: Make) -> None:
    metric = make(
        TONE + "scale:\n  pass: 2\n  points: {0: rude, 1: cold, 2: fine, 3: warm, 4: kind}"
    )
    assert isinstance(metric, Metric)
    assert (str(metric), metric.rubrics, metric.declaration.needs) == (
        "tone",
        ("tone",),
        ("question", "response"),
    )
    score, asked = play(metric, ROW, rate(metric, 2))
    assert [(r.rubric, r.inputs) for r in asked] == [
        ("tone", {"question": "What is it?", "response": "It is red."})
    ]
    assert (score.metric, score.value, score.verdict, score.rationale) == (
        "tone",
        0.5,
        Verdict.PASS,
        "so",
    )
    assert play(metric, ROW, rate(metric, 1))[0].verdict is Verdict.FAIL
    assert (score.parts[0].rating, score.parts[0].start, score.parts[0].end) == (2, 0, 10)


def test_yes_and_no_are_one_and_zero_and_categories_pass_as_the_file_says(make: Make) -> None:
    yes_no = make(TONE)
    assert [play(yes_no, ROW, rate(yes_no, word))[0].value for word in ("yes", "no")] == [1.0, 0.0]
    kinds = make(TONE + "scale:\n  pass: [warm, plain]\n  points: {warm: w, plain: p, cold: c}")
    for word, verdict in {
        "warm": Verdict.PASS,
        "plain": Verdict.PASS,
        "cold": Verdict.FAIL,
    }.items():
        score, _ = play(kinds, ROW, rate(kinds, word))
        assert (score.verdict, score.parts[0].rating, score.extra) == (verdict, word, {})


def test_lists_of_the_row_are_given_whole(make: Make) -> None:
    metric = make(
        "id: full\npurpose: p\ninputs: [response, contexts, reference, expected_facts, guidelines]"
    )
    _, asked = play(metric, ROW, rate(metric, "yes"))
    assert asked[0].inputs == {
        "response": "It is red.",
        "contexts": ("It is red.", " ", "Trams run."),
        "reference": "Red.",
        "expected_facts": ("It is red.",),
        "guidelines": ("Be brief.",),
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reference": None}, "the row has no reference"),
        ({"response": None}, "the row has no response"),
        (
            {"response": None, "error": "x"},
            "the application failed on this row, so there is no response",
        ),
        ({"response": " "}, "the response is empty"),
        ({"reference": ""}, "the reference is empty"),
        ({"expected_facts": ()}, "the expected_facts are empty"),
        ({"guidelines": ()}, "the row has no guidelines"),
        ({"contexts": ()}, "nothing was retrieved"),
        ({"contexts": None}, "the row has no contexts"),
    ],
)
def test_a_row_without_an_input_is_not_applicable(
    make: Make, changes: dict[str, object], reason: str
) -> None:
    metric = make(
        "id: full\npurpose: p\ninputs: [response, contexts, reference, expected_facts, guidelines]"
    )
    score, _ = play(metric, replace(ROW, **changes), never)  # type: ignore[arg-type]
    assert (score.status, score.value, score.verdict, score.reason) == (
        Status.NOT_APPLICABLE,
        None,
        None,
        reason,
    )


def test_a_lost_rating_is_undecided(make: Make) -> None:
    score, _ = play(make(TONE), ROW, lambda r: gone(r, Status.REFUSED))
    assert (score.status, score.value, score.verdict) == (Status.REFUSED, None, Verdict.UNDECIDED)


CHUNKS = "id: fresh\npurpose: Is it up to date?\nlevel: retrieval\ninputs: [question, context]\n"


@pytest.mark.parametrize(
    ("row", "ratings", "value", "verdict"),
    [
        ("any", ("yes", "no"), 1 / 3, Verdict.PASS),
        ("any", ("no", "no"), 0.0, Verdict.FAIL),
        ("any", ("no", None), 0.0, Verdict.UNDECIDED),
        ("any", ("yes", None), 0.5, Verdict.PASS),
        ("all", ("yes", "yes"), 2 / 3, Verdict.FAIL),
        ("all", ("yes", None), 0.5, Verdict.FAIL),
    ],
)
def test_a_judge_at_retrieval_level_rates_each_chunk_and_one_without_text_does_not_pass(
    make: Make, row: str, ratings: tuple[str | None, str | None], value: float, verdict: Verdict
) -> None:
    metric = make(f"{CHUNKS}row: {row}")
    by_chunk: dict[str, int | str | None] = {"It is red.": ratings[0], "Trams run.": ratings[1]}
    score, asked = play(metric, ROW, rate(metric, by_chunk))
    assert [r.inputs for r in asked] == [
        {"question": "What is it?", "context": text} for text in by_chunk
    ]
    assert score.value == pytest.approx(value)
    assert score.verdict == verdict
    assert [(part.kind, part.context) for part in score.parts] == [("chunk", i) for i in range(3)]
    assert score.parts[1].passed is False
    assert ("partial" in score.flags) == (None in ratings)


def test_all_chunks_that_pass_pass_the_row_and_with_a_lost_one_it_is_undecided(make: Make) -> None:
    metric, row = make(f"{CHUNKS}row: all"), replace(ROW, contexts=(Context("a"), Context("b")))
    assert play(metric, row, rate(metric, "yes"))[0].verdict is Verdict.PASS
    assert play(metric, row, rate(metric, {"a": "yes", "b": None}))[0].verdict is Verdict.UNDECIDED


def test_with_no_chunk_at_least_one_does_not_pass_and_all_says_nothing(make: Make) -> None:
    for row, verdict, flags in (("any", Verdict.FAIL, ("nothing_retrieved",)), ("all", None, ())):
        score, _ = play(make(f"{CHUNKS}row: {row}"), replace(ROW, contexts=()), never)
        assert (score.status, score.value, score.verdict, score.flags) == (
            Status.NOT_APPLICABLE,
            None,
            verdict,
            flags,
        )


def test_a_list_of_guidelines_is_asked_one_by_one(make: Make) -> None:
    metric = make(
        "id: house\npurpose: p\nguidelines:\n  - Be brief.\n  - Name no prices.\ninputs: [question,"
        " response, guideline]"
    )
    score, asked = play(metric, ROW, rate(metric, {"Be brief.": "yes", "Name no prices.": "no"}))
    assert [r.inputs for r in asked] == [
        {"question": "What is it?", "response": "It is red.", "guideline": text}
        for text in ("Be brief.", "Name no prices.")
    ]
    assert (score.metric, score.value, score.verdict, score.pass_mark) == (
        "house",
        0.5,
        Verdict.FAIL,
        1.0,
    )
    assert "guideline" not in metric.declaration.needs


def test_a_custom_judge_fails_the_row_and_its_cause_comes_after_safety(make: Make) -> None:
    metric = make(TONE)
    tone, _ = play(metric, ROW, rate(metric, "no"))
    alone = diagnose(ROW, [Score("groundedness", Status.JUDGED, 1.0, verdict=Verdict.PASS), tone])
    assert alone.verdict is Verdict.FAIL
    assert alone.cause is not None
    assert (alone.cause.name, alone.cause.detail) == ("tone", tone.rationale)
    unsafe = Score("safety", Status.JUDGED, 0.0, verdict=Verdict.FAIL)
    both = diagnose(ROW, [tone, unsafe])
    assert both.cause is not None
    assert (both.cause.name, [cause.name for cause in both.others]) == ("unsafe", ["tone"])
    lost, _ = play(metric, ROW, gone)
    assert diagnose(ROW, [lost]).verdict is Verdict.UNDECIDED


def test_a_custom_metric_is_a_value_that_reads_back_among_the_users_own(make: Make) -> None:
    metric = make(TONE)
    assert parse("tone", {"tone": metric}) is metric
    assert metric == custom_metric(metric.rubric)
    assert hash(metric) == hash(custom_metric(metric.rubric))


def test_a_judge_cannot_be_called_like_a_metric_of_the_package(make: Make) -> None:
    with pytest.raises(SetupError) as caught:
        make("id: faithfulness\npurpose: p\ninputs: [response]")
    assert caught.value.code == "E0204"
    assert "my_faithfulness" in str(caught.value)
