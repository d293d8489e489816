"""Laws that hold for every metric of the catalogue, whatever the judge answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import AppUsage, Context, Judgment, Request, Sample, Score, Status, Verdict
from ragassay.metrics import Metric, catalogue, parse

VARIANTS = [
    *catalogue(), "faithfulness(mode=binary)", "faithfulness(mode=weighted)", "chunk_relevance(rubric=chunk_relevance)",
    "answer_relevance(scale=5)", "groundedness(pass_mark=0.5)", "groundedness(claims=llm)",
]  # fmt: skip
LOSSES = [Status.UNPARSED, Status.REFUSED, Status.FAILED, Status.OVER_BUDGET, Status.ABSTAINED]
SENTENCES = [
    "It is red.",
    "It opened in 1999.",
    "Paris is big.",
    "It did not rain.",
    "Sure!",
    "I don't know.",
    "# Title",
]


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    return Sample(
        "r",
        question=draw(st.sampled_from(["What is it?", "colour", " ", "What is it?"])),
        response=draw(st.lists(st.sampled_from(SENTENCES), max_size=6).map("\n".join)),
        contexts=tuple(
            Context(f"text {i}" * (i > 0), i_) for i, i_ in enumerate(draw(st.lists(st.sampled_from("abcd"))))
        ),
        relevant_ids=draw(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3).map(float))),
        answerable=draw(st.sampled_from([None, True, False])),
        usage=AppUsage(total_tokens=draw(st.none() | st.integers(0, 9))),
    )


def play(metric: Metric, sample: Sample, answer: Callable[[Request], Judgment]) -> Score:
    flow = metric.flow(sample)
    try:
        requests = next(flow)
        while True:
            requests = flow.send(tuple(answer(request) for request in requests))
    except StopIteration as done:
        score: Score = done.value
        return score


def judge(seed: int, loss: float) -> Callable[[Request], Judgment]:
    """A judge that answers at random, and the same Request always alike; a lost verdict changes no other."""

    def answer(request: Request) -> Judgment:
        chance = random.Random(f"{seed} {request.key}")
        rating, drop, status = chance.choice([0, 1, 2, 3, 3]), chance.random(), chance.choice(LOSSES)
        if drop < loss:
            return Judgment(request.key, "j", request.rubric, status, reason="lost")
        flags = ("declined",) if chance.random() < 0.2 else ()
        texts = ("It is red.", "Something else.") if request.rubric == "claims" else ()
        return Judgment(request.key, "j", request.rubric, Status.JUDGED, rating, rating / 3, flags=flags, texts=texts)

    return answer


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=30)
@given(sample=samples(), seed=st.integers(0, 99), loss=st.sampled_from([0.0, 0.3, 1.0]))
def test_a_score_is_a_value_in_range_or_absent_with_a_reason_and_its_counts_add_up(
    name: str, sample: Sample, seed: int, loss: float
) -> None:
    metric = parse(name)
    score = play(metric, sample, judge(seed, loss))
    assert score.metric == str(metric)
    if score.value is None:
        assert score.status is not Status.JUDGED
        assert score.reason
    else:
        assert score.status is Status.JUDGED
        assert math.isfinite(score.value)
        assert metric.declaration.low <= score.value
        assert metric.declaration.high is None or score.value <= metric.declaration.high
    c = score.counts
    assert c.asked == c.judged + c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
    if c.judged < c.asked and score.value is not None:
        assert "partial" in score.flags


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=30)
@given(sample=samples(), seed=st.integers(0, 99), loss=st.sampled_from([0.2, 0.5, 1.0]))
def test_losing_verdicts_never_turns_a_fail_into_a_pass_nor_a_pass_into_a_fail(
    name: str, sample: Sample, seed: int, loss: float
) -> None:
    if not sample.contexts or not any(c.text for c in sample.contexts):
        return  # there the one request is whether the response declines: lost, the claims stay unsupported
    whole, less = play(parse(name), sample, judge(seed, 0.0)), play(parse(name), sample, judge(seed, loss))
    if less.verdict in (Verdict.PASS, Verdict.FAIL):
        assert less.verdict is whole.verdict


@settings(max_examples=30)
@given(sample=samples(), seed=st.integers(0, 99))
def test_without_contexts_a_lost_verdict_never_makes_a_pass(sample: Sample, seed: int) -> None:
    score = play(parse("groundedness"), replace(sample, contexts=()), judge(seed, 1.0))
    # A response that only admits not to know needs no verdict: that is read off its words.
    assert score.verdict is not Verdict.PASS or "abstention" in score.flags


@pytest.mark.parametrize("name", VARIANTS)
def test_each_absent_input_makes_the_metric_not_applicable_and_is_named(name: str) -> None:
    metric = parse(name)
    full = Sample(
        "r", question="q?", response="It is red.", contexts=(Context("t", "a"),), relevant_ids={"a": 1.0},
        usage=AppUsage(1, 1, 2, 0.1, 0.1),
    )  # fmt: skip
    assert play(metric, full, judge(1, 0.0)).value is not None
    assert metric.declaration.needs
    for field in metric.declaration.needs:
        score = play(metric, replace(full, **{field: None}), judge(1, 0.0))
        assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
        assert score.reason == f"the row has no {field}"


@pytest.mark.parametrize("name", [n for n in VARIANTS if n.startswith(("groundedness", "faithfulness"))])
@settings(max_examples=30)
@given(
    claims=st.lists(st.sampled_from(SENTENCES[:4]), min_size=1, max_size=6), seed=st.integers(0, 99), order=st.randoms()
)
def test_the_order_of_the_claims_does_not_show(name: str, claims: list[str], seed: int, order: random.Random) -> None:
    ratings = {claim: random.Random(f"{seed}{claim}").randint(0, 3) for claim in SENTENCES}

    def answer(request: Request) -> Judgment:
        if request.rubric == "claims":
            texts = tuple(request.text("response").split("\n"))
            return Judgment(request.key, "j", "claims", Status.JUDGED, texts=texts)
        rating = ratings[request.text("claim")]
        return Judgment(request.key, "j", request.rubric, Status.JUDGED, rating, rating / 3)

    def value(chosen: list[str]) -> tuple[float | None, Verdict | None]:
        score = play(parse(name), Sample("r", response="\n".join(chosen), contexts=(Context("t"),)), answer)
        return score.value, score.verdict

    shuffled = list(claims)
    order.shuffle(shuffled)
    assert value(shuffled) == value(claims)
    ratings["Sure!"] = ratings["It is here."] = 3
    before, after = value(claims)[0], value([*claims, "It is here."])[0]
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12  # one more supported claim never lowers it


@settings(max_examples=30)
@given(sample=samples(), seed=st.integers(0, 99))
def test_context_relevance_does_not_depend_on_the_order_of_the_chunks(sample: Sample, seed: int) -> None:
    turned = replace(sample, contexts=tuple(reversed(sample.contexts or ())))
    for name in ("context_relevance", "chunk_relevance"):
        a, b = (play(parse(name), row, judge(seed, 0.0)) for row in (sample, turned))
        assert (a.value, a.verdict) == (b.value, b.verdict)
