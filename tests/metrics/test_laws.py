"""Laws that hold for every metric of the catalogue and its variants, whatever the judge answers."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.core import AppUsage, Context, Judgment, Request, Sample, Score, Status, Verdict
from ragassay.metrics import Area, MetricBase, catalogue, parse
from support.examples import examples
from support.hand_fed import (
    RUBRICS,
    Answer,
    at_random,
    gone,
    near,
    needs_of,
    never,
    play,
    rated,
    rubrics_of,
    values_of,
    variants,
    wrote,
)

VARIANTS = tuple(variants())
JUDGED = tuple(name for name in VARIANTS if rubrics_of(parse(name)))
SENTENCES = (
    "It is red.",
    "It opened in 1999 [1].",
    "Paris is big [2].",
    "It did not rain.",
    "Sure!",
    "I don't know.",
    "# Title",
)
FACTS = ("It is red.", "It opened in 1999.", "Rain fell in Paris.")
FULL = Sample(
    "r",
    question="What is it?",
    response="It is red [1].",
    contexts=(Context("It is red.", "a"),),
    reference="It is red.",
    expected_facts=("It is red.",),
    relevant_ids={"a": 1.0},
    guidelines=("Be brief.",),
    answerable=True,
    error=None,
    usage=AppUsage(1, 1, 2, 0.1, 0.1),
)
quick = settings(
    max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow], deadline=None
)


CHUNKS = st.sampled_from(["", "It is red.\nIt is old.", "Red."])
TEXT = st.just("It is red.\nIt is old.")


@st.composite
def samples(draw: st.DrawFn, chunks: st.SearchStrategy[str] = CHUNKS) -> Sample:
    return Sample(
        "r",
        question=draw(st.sampled_from(["What is it?", "colour", " "])),
        response=draw(st.lists(st.sampled_from(SENTENCES), max_size=5).map("\n".join)),
        contexts=tuple(
            Context(draw(chunks), id_)
            for id_ in draw(st.lists(st.sampled_from("abcd"), max_size=4))
        ),
        reference=draw(
            st.none()
            | st.sampled_from(
                ["", "Sure!", "1999", "I don't know.", "It is red. It opened in 1999."]
            )
        ),
        expected_facts=draw(st.none() | st.lists(st.sampled_from(FACTS), max_size=3).map(tuple)),
        relevant_ids=draw(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3).map(float))),
        guidelines=tuple(
            draw(st.lists(st.sampled_from(["Be brief.", "Be kind.", " "]), max_size=3))
        ),
        answerable=draw(st.sampled_from([None, True, False])),
        usage=AppUsage(total_tokens=draw(st.none() | st.integers(0, 9))),
        error=draw(st.none() | st.just("timeout")),
    )


def check(name: str, score: Score) -> None:
    """What every Score must be: a value in range, or absent with a reason; counts that add up."""
    metric = parse(name)
    assert score.metric == str(metric)
    if score.value is None:
        assert score.status is not Status.JUDGED
        assert score.reason
    else:
        assert score.status is Status.JUDGED
        assert math.isfinite(score.value)
        assert metric.declaration.low <= score.value
        assert metric.declaration.high is None or score.value <= metric.declaration.high
    assert all(math.isfinite(number) for number in score.extra.values())
    for part in score.parts:
        assert (part.value is not None and math.isfinite(part.value)) == (
            part.status is Status.JUDGED
        )
    c = score.counts
    assert c.asked == c.judged + c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
    if c.judged < c.asked and score.value is not None:
        assert "partial" in score.flags


def test_every_parameter_of_the_catalogue_has_values_that_the_laws_are_tried_with() -> None:
    for kind in catalogue().values():
        for f in fields(kind):  # type: ignore[arg-type]
            assert f.default in values_of(kind, f.name) or f.name in ("pass_mark", "k", "f1_weight")
            for value in values_of(kind, f.name):
                assert isinstance(kind(**{f.name: value}), MetricBase)


@pytest.mark.parametrize("name", VARIANTS)
@quick
@given(sample=samples(), seed=st.integers(0, 99), loss=st.sampled_from([0.0, 0.3, 1.0]))
def test_a_score_is_a_value_in_range_or_absent_with_a_reason_and_its_counts_add_up(
    name: str, sample: Sample, seed: int, loss: float
) -> None:
    score, asked = play(name, sample, at_random(seed, loss))
    check(name, score)
    assert name in JUDGED or not asked


@pytest.mark.parametrize("name", JUDGED)
@quick
@given(sample=samples(), seed=st.integers(0, 99))
def test_a_metric_asks_only_rubrics_that_it_names_with_the_inputs_that_these_read(
    name: str, sample: Sample, seed: int
) -> None:
    metric = parse(name)
    _, asked = play(metric, sample, at_random(seed, 0.1))
    assert {request.rubric for request in asked} <= set(rubrics_of(metric))
    for request in asked:
        reads = (
            ("text", "other")
            if request.rubric == "similarity"
            else RUBRICS.get(request.rubric).inputs
        )
        assert set(request.inputs) == set(reads)
    assert metric.declaration.judged


@pytest.mark.parametrize("name", JUDGED)
@quick
@given(sample=samples(TEXT), seed=st.integers(0, 99), loss=st.sampled_from([0.2, 0.5, 1.0]))
def test_losing_verdicts_never_turns_a_fail_into_a_pass_nor_a_pass_into_a_fail(
    name: str, sample: Sample, seed: int, loss: float
) -> None:
    if not sample.contexts:
        # there the one request is whether the response declines: lost, the claims stay unsupported
        return
    whole, less = (
        play(name, sample, at_random(seed))[0],
        play(name, sample, at_random(seed, loss))[0],
    )
    if less.verdict in (Verdict.PASS, Verdict.FAIL):
        assert less.verdict is whole.verdict


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_that_finds_nothing_to_judge_leaves_no_value_and_no_pass(name: str) -> None:
    score, _ = play(name, FULL, lambda request: gone(request, Status.NOT_APPLICABLE))
    assert (score.value, score.counts.judged) == (None, 0)
    assert score.reason
    assert score.verdict in (None, Verdict.UNDECIDED)


@pytest.mark.parametrize("name", JUDGED)
@quick
@given(sample=samples(TEXT), seed=st.integers(0, 99))
def test_a_row_of_which_every_verdict_is_lost_has_no_value(
    name: str, sample: Sample, seed: int
) -> None:
    sample = replace(sample, contexts=(Context("It is red.", "a"), *(sample.contexts or ())))
    score, asked = play(name, sample, at_random(seed, 1.0))
    if asked and not (
        score.value == 0 and "abstention" in score.flags
    ):  # by rule: it states nothing
        assert score.value is None
        assert score.status not in (Status.JUDGED, Status.NOT_APPLICABLE)
        assert score.verdict in (None, Verdict.UNDECIDED)


@quick
@given(sample=samples(), seed=st.integers(0, 99))
def test_without_contexts_a_lost_verdict_never_makes_a_pass(sample: Sample, seed: int) -> None:
    score, _ = play("groundedness", replace(sample, contexts=()), at_random(seed, 1.0))
    # A response that only admits not to know needs no verdict: that is read off its words.
    assert score.verdict is not Verdict.PASS or "abstention" in score.flags


@pytest.mark.parametrize("name", VARIANTS)
@settings(quick, max_examples=examples(3))
@given(
    rows=st.lists(samples(), min_size=2, max_size=3), seed=st.integers(0, 99), order=st.randoms()
)
def test_rows_do_not_touch_each_other_in_whatever_order_they_are_advanced(
    name: str, rows: Sequence[Sample], seed: int, order: random.Random
) -> None:
    metric, answer = parse(name), at_random(seed, 0.1)
    alone = [play(metric, row, answer)[0] for row in rows]
    assert alone == [play(metric, row, answer)[0] for row in rows]
    flows = [metric.flow(row) for row in rows]
    waiting: dict[int, tuple[Judgment, ...] | None] = dict.fromkeys(range(len(rows)))
    together: dict[int, Score] = {}
    while waiting:
        i = order.choice(sorted(waiting))
        try:
            answers = waiting[i]
            asked = next(flows[i]) if answers is None else flows[i].send(answers)
            waiting[i] = tuple(answer(request) for request in asked)
        except StopIteration as done:
            together[i] = done.value
            del waiting[i]
    assert [together[i] for i in range(len(rows))] == alone


@pytest.mark.parametrize("name", VARIANTS)
def test_each_absent_input_makes_the_metric_not_applicable_and_is_named(name: str) -> None:
    metric = parse(name)
    answer = at_random(3)
    full = play(metric, FULL, answer)[0]
    assert full.value is not None or full.status is Status.NOT_APPLICABLE
    assert metric.declaration.needs
    for need in needs_of(metric):
        lacking: dict[str, object] = {
            field: () if field == "guidelines" else None for field in need.split("|")
        }
        score, _ = play(metric, replace(FULL, **lacking), never)  # type: ignore[arg-type]
        assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
        assert score.reason == f"the row has no {need.replace('|', ' or ')}"


@pytest.mark.parametrize("name", [n for n in VARIANTS if "response" in needs_of(parse(n))])
def test_a_row_on_which_the_application_failed_says_so(name: str) -> None:
    score, _ = play(name, replace(FULL, response=None, error="timeout"), never)
    assert score.status is Status.NOT_APPLICABLE
    assert score.reason == "the application failed on this row, so there is no response"


# -- the order of claims, and one more of them


def bare(text: str) -> str:
    """A claim without its citation marks."""
    return re.sub(r" \[\d\]", "", text)


def by_claim(given: dict[str, int]) -> Answer:
    """A judge by the text of the claim, whatever else is asked about it; everything else it finds
    perfect.
    """
    ratings = {bare(claim): rating for claim, rating in given.items()}

    def answer(request: Request) -> Judgment:
        if request.rubric == "claims":
            return wrote(request, *request.text("response").split("\n"))
        if request.rubric == "similarity":
            return near(request, 0.5)
        if request.rubric == "entailment":
            return rated(
                request,
                ("contradicted", "not_stated", "stated")[
                    min(2, ratings[bare(request.text("claim"))])
                ],
            )
        if request.rubric == "claim_sources":
            return rated(request, "yes", sources=(0,))
        if request.rubric == "groundedness":
            rating = ratings[bare(request.text("claim"))]
            return rated(request, rating, sources=(rating % 2,) if rating >= 2 else ())
        scale = RUBRICS.get(request.rubric).scale
        assert scale is not None
        return rated(request, scale.highest)

    return answer


CLAIMS = SENTENCES[:4]
OVER_CLAIMS = [n for n in VARIANTS if parse(n).declaration.level == "claim"]


@pytest.mark.parametrize("name", OVER_CLAIMS)
@quick
@given(
    claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    order=st.randoms(),
)
def test_the_order_of_the_claims_does_not_show(
    name: str, claims: list[str], seed: int, order: random.Random
) -> None:
    ratings = {
        claim: random.Random(f"{seed}{claim}").randint(0, 3) for claim in (*SENTENCES, *FACTS)
    }

    def result(chosen: list[str]) -> tuple[float | None, Verdict | None]:
        row = replace(
            FULL,
            response="\n".join(chosen),
            contexts=(Context("t"), Context("u")),
            expected_facts=FACTS,
        )
        score, _ = play(name, row, by_claim(ratings))
        return score.value and round(score.value, 12), score.verdict

    shuffled = list(claims)
    order.shuffle(shuffled)
    assert result(shuffled) == result(claims)


@pytest.mark.parametrize(
    "name",
    [
        "groundedness",
        "groundedness(claims=llm)",
        "faithfulness",
        "faithfulness(mode=binary)",
        "faithfulness(mode=weighted)",
    ],
)
@quick
@given(claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_one_more_supported_claim_never_lowers_the_support_of_a_response(
    name: str, claims: list[str], seed: int
) -> None:
    ratings = {claim: random.Random(f"{seed}{claim}").randint(0, 3) for claim in SENTENCES} | {
        "It is here.": 3
    }

    def value(chosen: list[str]) -> float:
        row = replace(FULL, response="\n".join(chosen), contexts=(Context("t"), Context("u")))
        found = play(name, row, by_claim(ratings))[0].value
        assert found is not None
        return found

    assert value([*claims, "It is here."]) >= value(claims) - 1e-12


@pytest.mark.parametrize("name", ["context_recall", "guidelines"])
@quick
@given(size=st.integers(1, 6), seed=st.integers(0, 99))
def test_one_more_good_one_never_lowers_a_share(name: str, size: int, seed: int) -> None:
    items = tuple(f"Item {i} is there." for i in range(size))
    ratings = {item: random.Random(f"{seed}{item}").randint(0, 3) for item in items} | {
        "One more is there.": 3
    }

    def answer(request: Request) -> Judgment:
        if request.rubric == "guidelines":
            return rated(request, "yes" if ratings[request.text("guideline")] >= 2 else "no")
        rating = ratings[request.text("claim")]
        return rated(request, rating, sources=(0,) if rating >= 2 else ())

    def value(chosen: tuple[str, ...]) -> float:
        found = play(name, replace(FULL, expected_facts=chosen, guidelines=chosen), answer)[0].value
        assert found is not None
        return found

    before, after = value(items), value((*items, "One more is there."))
    assert after >= before - 1e-12
    assert after > before or before == 1


@quick
@given(claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_what_is_supported_made_up_and_known_without_context_is_everything(
    claims: list[str], seed: int
) -> None:
    ratings = {
        claim: random.Random(f"{seed}{claim}").randint(0, 3) for claim in (*SENTENCES, *FACTS)
    }
    row = replace(
        FULL,
        response="\n".join(claims),
        contexts=(Context("t"), Context("u")),
        expected_facts=FACTS,
    )
    values = [
        play(name, row, by_claim(ratings))[0].value
        for name in ("faithfulness", "hallucination", "self_knowledge")
    ]
    assert sum(value or 0.0 for value in values) == pytest.approx(1.0)
    assert None not in values


@quick
@given(sample=samples(), seed=st.integers(0, 99))
def test_measures_of_single_chunks_do_not_depend_on_their_order(sample: Sample, seed: int) -> None:
    turned = replace(sample, contexts=tuple(reversed(sample.contexts or ())))
    for name in (
        "context_relevance",
        "chunk_relevance",
        "context_relevance_ratio",
        "document_recall",
        "document_precision",
        "context_entity_recall",
    ):
        a, b = (play(name, row, at_random(seed))[0] for row in (sample, turned))
        assert (a.value, a.verdict) == (b.value, b.verdict)


# -- what was decided once: empty responses and abstentions


@pytest.mark.parametrize("response", ["", " \n "])
def test_an_empty_response_is_decided_without_a_judge(response: str) -> None:
    row = replace(FULL, response=response)
    zero = {
        "answer_relevance": Verdict.FAIL,
        "correctness": Verdict.FAIL,
        "correctness(form=three)": Verdict.FAIL,
        "answer_accuracy_dual": Verdict.FAIL,
        "answer_relevance_reverse": None,
        "semantic_similarity": None,
        "answer_correctness_lexical": None,
        "token_f1": None,
        "rouge_l": None,
        "exact_match": None,
        "chrf": None,
        "bleu": None,
        "token_recall": Verdict.FAIL,
    }
    for name, verdict in zero.items():
        score, _ = play(name, row, never)
        assert (score.value, score.verdict, score.flags) == (0.0, verdict, ("empty_response",)), (
            name
        )
    for name in (
        "groundedness",
        "faithfulness",
        "response_groundedness_dual",
        "abstention",
        "safety",
        "toxicity",
        "bias",
        "pii",
        "guidelines",
    ):
        score, _ = play(name, row, never)
        assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None), (
            name
        )
        assert score.reason == "the response is empty"
        assert score.flags == ("empty_response",) or name in (
            "abstention",
            "groundedness",
            "faithfulness",
        )


def test_an_abstention_is_grounded_and_answers_nothing() -> None:
    row = replace(FULL, response="I don't know.")

    def answer(request: Request) -> Judgment:
        if request.rubric == "questions":
            return wrote(request, "What?", flags=("noncommittal",))
        scale = RUBRICS.get(request.rubric).scale
        assert scale is not None
        if request.rubric == "groundedness":
            return rated(request, 3, "abstention")
        return rated(
            request,
            "not_attempted" if request.rubric == "correctness_3" else scale.highest,
            "declined",
        )

    for name in ("groundedness", "faithfulness", "response_groundedness_dual"):
        score, _ = play(name, row, answer)
        assert (score.value, score.verdict, score.flags) == (1.0, Verdict.PASS, ("abstention",)), (
            name
        )
    for name, verdict in {
        "answer_relevance": Verdict.FAIL,
        "correctness": Verdict.FAIL,
        "correctness(form=three)": Verdict.FAIL,
        "answer_relevance_reverse": None,
    }.items():
        score, _ = play(name, row, answer)
        assert (score.value, score.verdict, score.flags) == (0.0, verdict, ("abstention",)), name


# -- bad input: a status and a reason, never an invented number, never an exception

EMPTY_ROW = Sample(
    "r",
    question="",
    response="",
    contexts=(),
    reference="",
    expected_facts=(),
    relevant_ids={},
    usage=AppUsage(),
    error="",
)
BLANK_ROW = replace(
    EMPTY_ROW,
    question=" \n",
    response="\t",
    contexts=(Context(" "), Context("")),
    reference=" ",
    expected_facts=("", " "),
    guidelines=("", " "),
)


@pytest.mark.parametrize("row", [EMPTY_ROW, BLANK_ROW], ids=["empty", "blank"])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_row_of_empty_texts_is_never_judged_and_gets_no_good_score(
    name: str, row: Sample
) -> None:
    score, asked = play(name, row, never)
    check(name, score)
    assert not asked
    assert score.verdict is not Verdict.PASS
    if name != "app_error":  # an error without words is an error
        assert score.value in (None, 0.0)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_row_that_holds_nothing_is_not_applicable(name: str) -> None:
    score, _ = play(name, Sample("r"), never)
    assert (score.status, score.value, score.verdict, score.counts.asked) == (
        Status.NOT_APPLICABLE,
        None,
        None,
        0,
    )
    assert score.reason.startswith("the row has no ")


@pytest.mark.parametrize(
    "name", [n for n in VARIANTS if "reference|expected_facts" in needs_of(parse(n))]
)
@pytest.mark.parametrize("reference", ["", "Sure!", "...", "I don't know."])
def test_a_reference_that_states_nothing_is_nothing_to_compare_with(
    name: str, reference: str
) -> None:
    score, _ = play(name, replace(FULL, reference=reference, expected_facts=None), at_random(1))
    assert (score.status, score.value) == (Status.NOT_APPLICABLE, None)
    assert "reference" in score.reason


@pytest.mark.parametrize("name", VARIANTS)
def test_chunks_without_an_id_and_documents_retrieved_twice_break_nothing(name: str) -> None:
    for ids in ((None, None), ("a", "a"), ("a", None)):
        contexts = tuple(Context("It is red.", id_) for id_ in ids)
        score, _ = play(name, replace(FULL, contexts=contexts), at_random(5))
        check(name, score)
        if None in ids and "relevant_ids" in needs_of(parse(name)):
            assert (score.status, score.value) == (Status.NOT_APPLICABLE, None)
            assert score.reason.endswith("has no id")


MILLION = " ".join(f"It is number {i}." for i in range(1_000_000))
# Twice what any metric or judge reads. With another value of a parameter a metric cuts, refuses and
# asks by the same code: what a million claims cost it is seen with the usual values.
TWO_MEGABYTES = " ".join(f"It is number {i}." for i in range(100_000))


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_text_of_a_million_claims_is_a_status_and_a_reason(name: str) -> None:
    text = MILLION if name in catalogue() else TWO_MEGABYTES

    def answer(request: Request) -> Judgment:
        size = sum(len(text) for field in request.inputs for text in request.texts(field))
        return (
            gone(request, Status.FAILED, "too long for the model")
            if size > 1_000_000
            else at_random(1)(request)
        )

    metric = parse(name)
    for field in {"response", "reference"} & {
        part for need in needs_of(metric) for part in need.split("|")
    }:
        score, asked = play(metric, replace(FULL, expected_facts=None, **{field: text}), answer)  # type: ignore[arg-type]
        if metric.declaration.area is Area.OPERATION:  # it does not read the text
            continue
        assert score.value is None, "a metric refuses a text that is too long (metrics.lexical)"
        assert score.status in (Status.FAILED, Status.NOT_APPLICABLE)
        assert score.reason
        assert len(asked) <= 6, "a million claims are not asked one by one"
