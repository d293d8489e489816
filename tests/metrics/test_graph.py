"""One claim graph a row: what is shared, what is asked together, and what no order and no size may
change.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import Context, Judgment, Request, Sample, Score, Status, Verdict
from ragassay.judges import LLMJudge, RubricRegistry
from ragassay.metrics import Metric, catalogue, parse
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.graph.claims import MAX_CLAIMS
from ragassay.metrics.graph.row_graph import GraphMetric
from ragassay.metrics.graph.support import Flow, together
from support.examples import examples

SET = (
    "groundedness",
    "faithfulness",
    "context_precision",
    "context_recall",
    "answer_correctness_claims(similarity_weight=0)",
    "noise_sensitivity",
    "context_utilization",
    "hallucination",
)
NAMES = [name for name, kind in catalogue().items() if issubclass(kind, GraphMetric)]
CLAIMS = [f"Fact {n} is {n} metres long." for n in range(6)]
STATEMENTS = [CLAIMS[0], CLAIMS[1], "Fact 7 is 7 metres long.", "Fact 8 is 8 metres long."]
ROW = Sample(
    "r",
    question="How long is it?",
    response=" ".join(CLAIMS),
    reference=" ".join(STATEMENTS),
    contexts=tuple(Context(f"Passage {n}.") for n in range(5)),
)
Answer = Callable[[Request], Judgment]


def yes(request: Request) -> Judgment:
    texts = (
        tuple(f"{line}." for line in request.text("response").rstrip(".").split(". "))
        if request.rubric == "claims"
        else ()
    )
    return Judgment(
        request.key,
        "j",
        request.rubric,
        Status.JUDGED,
        3,
        1.0,
        passes=True,
        texts=texts,
        sources=(0,) if request.rubric == "groundedness" else None,
    )


def by_chance(seed: int, sources: bool = True) -> Answer:
    """The same claim gets the same answer, wherever it stands and whatever stands beside it."""

    def answer(request: Request) -> Judgment:
        if request.rubric == "claims":
            return yes(request)
        if request.rubric == "similarity":
            return replace(yes(request), value=0.5)
        side = "truth" if "Fact 7" in str(request.inputs.get("text")) else "response"
        chance = random.Random(f"{seed} {request.rubric} {side} {request.inputs.get('claim')}")
        passes = chance.random() < 0.6
        found = tuple(sorted(chance.sample(range(5), chance.randint(1, 3)))) if passes else ()
        return replace(
            yes(request),
            value=float(passes),
            rating=3 * passes,
            passes=passes,
            sources=found if sources else None,
        )

    return answer


def play_together(
    names: Sequence[str], sample: Sample, answer: Answer
) -> tuple[list[Score], list[list[Request]]]:
    """Advance the flows as a run does: what all ask at the same time is one wave; equal Requests
    are asked once.
    """
    scores: dict[int, Score] = {}
    waves: list[list[Request]] = []
    known: dict[str, Judgment] = {}
    waiting: list[tuple[int, MetricFlow, tuple[Judgment, ...] | None]]
    waiting = [(i, parse(name).flow(sample), None) for i, name in enumerate(names)]
    while waiting:
        asked = []
        for i, flow, judgments in waiting:
            try:
                asked.append((i, flow, next(flow) if judgments is None else flow.send(judgments)))
            except StopIteration as done:
                scores[i] = done.value
        fresh = {r.key: r for _, _, requests in asked for r in requests if r.key not in known}
        known.update({key: answer(r) for key, r in fresh.items()})
        waves += [list(fresh.values())] if fresh else []
        waiting = [(i, flow, tuple(known[r.key] for r in requests)) for i, flow, requests in asked]
    return [scores[i] for i in range(len(names))], waves


def play(name: str, sample: Sample, answer: Answer) -> Score:
    return play_together([name], sample, answer)[0][0]


def calls(waves: list[list[Request]]) -> int:
    """Calls of a judge that answers in one what shares its rubric and all inputs but the claim."""
    return sum(
        len(
            {
                (r.rubric, *((k, v) for k, v in sorted(r.inputs.items()) if k != "claim"))
                for r in wave
            }
        )
        for wave in waves
    )


# -- sharing


def test_the_whole_set_costs_four_calls_a_row() -> None:
    _, waves = play_together(SET, ROW, yes)
    assert len(waves) == 1
    requests = [
        (r.rubric, r.inputs.get("response", r.inputs.get("text")), r.text("claim"))
        for r in waves[0]
    ]
    assert sorted(requests) == sorted(
        [("groundedness", ROW.response, claim) for claim in CLAIMS]
        + [("groundedness", ROW.reference, claim) for claim in STATEMENTS]
        + [("entailment", ROW.reference, claim) for claim in CLAIMS]
        + [("entailment", ROW.response, claim) for claim in STATEMENTS]
    )
    assert calls(waves) == 4


def test_with_claims_listed_by_a_model_the_set_costs_six_calls_a_row() -> None:
    named = [
        f"{name[:-1]}, claims=llm)" if name.endswith(")") else f"{name}(claims=llm)" for name in SET
    ]
    _, waves = play_together(named, ROW, yes)
    assert [sorted({r.rubric for r in wave}) for wave in waves] == [
        ["claims"],
        ["entailment", "groundedness"],
    ]
    assert calls(waves) == 6


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("groundedness", 1),
        ("faithfulness", 1),
        ("context_precision", 1),
        ("context_recall", 1),
        ("answer_correctness_claims(similarity_weight=0)", 2),
        ("noise_sensitivity", 3),
        ("context_utilization", 2),
        ("hallucination", 2),
        ("self_knowledge", 2),
        ("citation_support", 1),
    ],
)
def test_each_alone_costs_what_its_declaration_says(name: str, most: int) -> None:
    row = replace(ROW, response=(ROW.response or "").replace(".", " [1]."))
    assert calls(play_together([name], row, yes)[1]) == most
    said = parse(name).declaration.calls
    assert said.startswith((str(most), "0 beside"))


def test_what_is_declared_as_free_beside_another_is_free() -> None:
    row = replace(ROW, response=(ROW.response or "").replace(".", " [1]."))
    for name, beside in (
        ("faithfulness", ["groundedness"]),
        ("context_precision", ["context_recall"]),
        ("context_precision(against=response)", ["groundedness"]),
        ("citation_support", ["groundedness"]),
        ("self_knowledge", ["hallucination"]),
        ("hallucination", ["groundedness", SET[4]]),
        ("context_utilization", ["context_recall", SET[4]]),
        ("noise_sensitivity", ["groundedness", "context_recall", SET[4]]),
    ):
        assert calls(play_together([*beside, name], row, yes)[1]) == calls(
            play_together(beside, row, yes)[1]
        )


def test_metrics_of_a_row_ask_with_the_very_same_requests() -> None:
    first, second = (next(parse(name).flow(ROW)) for name in ("groundedness", "faithfulness"))
    assert all(a is b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("claims", ["sentences", "llm"])
@pytest.mark.parametrize("name", NAMES)
def test_the_rubrics_of_a_metric_are_all_that_it_can_ask(name: str, claims: str) -> None:
    kind = catalogue()[name]
    choices = {
        "against": ("reference", "question", "response", "both", "contexts"),
        "part": ("f", "precision", "recall"),
    }
    variants = [""]
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in choices and field.name in kind.__annotations__:
            variants += [
                f"{field.name}={c}"
                for c in choices[field.name]
                if (name, c) in ALLOWED or field.name == "part"
            ]
    for variant in variants:
        given = [variant] if variant else []
        if "claims" in kind.__annotations__:
            given.append(f"claims={claims}")
        metric = parse(f"{name}({', '.join(given)})")
        asked: set[str] = set()
        response = (ROW.response or "").replace(".", " [1].")
        nothing = (Context(" "),)
        for row in (
            replace(ROW, response=response),
            replace(ROW, contexts=nothing, response=response),
        ):
            _, waves = play_together(
                [str(metric)], row, lambda r: replace(yes(r), sources=None, value=1.0)
            )
            asked |= {r.rubric for wave in waves for r in wave}
        assert asked == set(metric.rubrics)  # type: ignore[attr-defined]
        assert asked <= set(metric.declaration.rubrics)


ALLOWED = {
    ("context_precision", "reference"),
    ("context_precision", "question"),
    ("context_precision", "response"),
    ("hallucination", "both"),
    ("hallucination", "contexts"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_declaration_is_complete_and_names_what_the_default_parameters_need(name: str) -> None:
    metric = parse(name)
    declaration = metric.declaration
    assert declaration.needs == metric.needs  # type: ignore[attr-defined]
    assert declaration.formula
    assert declaration.edge_cases
    assert declaration.calls
    assert declaration.elsewhere
    assert declaration.source


# -- claims that a model lists


def test_a_lost_list_of_either_side_leaves_the_row_without_a_value() -> None:
    def answer(request: Request) -> Judgment:
        if request.rubric == "claims" and request.text("response") == ROW.reference:
            return Judgment(request.key, "j", "claims", Status.REFUSED, reason="it refused")
        return yes(request)

    for name in ("context_recall(claims=llm)", "noise_sensitivity(claims=llm)"):
        score = play(name, ROW, answer)
        assert (score.status, score.value, score.verdict) == (
            Status.REFUSED,
            None,
            Verdict.UNDECIDED,
        )
        assert (score.reason, score.counts.refused) == ("it refused", 1)
    assert play("hallucination(claims=llm)", ROW, answer).value == 0.0  # it needs no statements


def test_a_reference_of_which_the_model_lists_nothing_is_cut_into_sentences() -> None:
    answer = lambda r: replace(yes(r), texts=()) if r.rubric == "claims" else yes(r)  # noqa: E731
    score = play("context_recall(claims=llm)", ROW, answer)
    assert [part.text for part in score.parts] == STATEMENTS


def test_expected_facts_are_never_cut() -> None:
    row = replace(ROW, expected_facts=("It is long. It is red.",))
    _, waves = play_together(["context_recall(claims=llm)"], row, yes)
    assert [[r.inputs.get("claim") for r in wave] for wave in waves] == [["It is long. It is red."]]


# -- too much


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            replace(ROW, response="It is red. " * (MAX_CLAIMS + 1)),
            "the response makes more than 1,000 claims",
        ),
        (
            replace(ROW, reference="".join(f"It is {n}. " for n in range(1001))),
            "the truth makes more than 1,000 statements",
        ),
        (
            replace(ROW, expected_facts=tuple(map(str, range(1001)))),
            "the truth makes more than 1,000 statements",
        ),
    ],
)
def test_more_claims_or_statements_than_are_judged_fail_with_the_reason(
    row: Sample, reason: str
) -> None:
    metric = "noise_sensitivity"  # it has edges of both
    score = play(metric, row, yes)
    assert (score.status, score.value, score.verdict) == (Status.FAILED, None, Verdict.UNDECIDED)
    assert score.reason == f"{reason}, the most that are judged"
    assert score.counts.failed == score.counts.asked == MAX_CLAIMS + 1


def test_a_model_that_lists_thousands_of_claims_fails_the_row() -> None:
    many = tuple(f"Claim {n}." for n in range(5_000))
    answer = lambda r: replace(yes(r), texts=many) if r.rubric == "claims" else yes(r)  # noqa: E731
    score = play("hallucination(claims=llm)", ROW, answer)
    assert (score.status, score.counts.failed) == (Status.FAILED, MAX_CLAIMS + 1)


@pytest.mark.slow
def test_a_million_claims_or_facts_cost_no_more_than_reading_them() -> None:
    began = time.process_time()
    response = replace(ROW, response="It is red. " * 1_000_000)
    facts = replace(ROW, expected_facts=tuple(f"Fact {n}." for n in range(1_000_000)))
    listed = tuple("It is red." for _ in range(1_000_000))
    for name in (
        "groundedness",
        "noise_sensitivity",
        "answer_correctness_claims(similarity_weight=0)",
    ):
        for row in (response, replace(ROW, reference=response.response), facts):
            score = play(name, row, yes)
            assert score.status in (Status.FAILED, Status.JUDGED)
        claims = f"{name[:-1]}, claims=llm)" if name.endswith(")") else f"{name}(claims=llm)"
        answer = lambda r: replace(yes(r), texts=listed) if r.rubric == "claims" else yes(r)  # noqa: E731
        assert play(claims, ROW, answer).status is Status.FAILED
    assert time.process_time() - began < 20  # about 2 s on a quiet machine


# -- laws


@settings(max_examples=examples(40), deadline=None)
@given(
    chosen=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    order=st.randoms(),
    name=st.sampled_from([n for n in NAMES if n != "citation_support"]),
)
def test_neither_the_order_of_the_claims_nor_that_of_the_statements_shows(
    chosen: list[str], seed: int, order: random.Random, name: str
) -> None:
    shuffled, statements = list(chosen), list(STATEMENTS)
    order.shuffle(shuffled)
    order.shuffle(statements)
    a = play(name, replace(ROW, response=" ".join(chosen)), by_chance(seed))
    b = play(
        name,
        replace(ROW, response=" ".join(shuffled), reference=" ".join(statements)),
        by_chance(seed),
    )
    assert (a.value, a.verdict, a.status, a.extra, a.counts) == (
        b.value,
        b.verdict,
        b.status,
        b.extra,
        b.counts,
    )


@settings(max_examples=examples(40), deadline=None)
@given(
    claims=st.lists(st.sampled_from(CLAIMS), max_size=6),
    seed=st.integers(0, 99),
    good=st.booleans(),
)
def test_one_more_claim_moves_each_share_its_own_way(
    claims: list[str], seed: int, good: bool
) -> None:
    """A claim that is right and supported never makes a row look worse, one that is neither never
    makes it look better.
    """
    new = "This one is new."

    def answer(request: Request) -> Judgment:
        if request.inputs.get("claim") == new:
            sources = (0,) if good else ()
            return replace(yes(request), value=float(good), passes=good, sources=sources)
        return by_chance(seed)(request)

    before, after = (
        replace(ROW, response=" ".join(claims)),
        replace(ROW, response=" ".join([*claims, new])),
    )
    for name in (
        "groundedness",
        "faithfulness",
        "hallucination",
        "noise_sensitivity",
        "noise_sensitivity(mode=relevant)",
        "answer_correctness_claims(similarity_weight=0, part=precision)",
    ):
        metric = parse(name)
        a, b = play(name, before, answer).value, play(name, after, answer).value
        if a is None or b is None:
            continue
        if name.startswith("noise") and not good:
            continue  # made up, and so no noise
        up = good is (metric.declaration.higher_is_better is True)
        assert b >= a - 1e-12 if up else b <= a + 1e-12


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 99))
def test_one_more_supported_statement_never_lowers_recall(seed: int) -> None:
    def answer(request: Request) -> Judgment:
        return (
            yes(request) if request.inputs.get("claim") == "One more." else by_chance(seed)(request)
        )

    more = replace(ROW, reference=f"{ROW.reference} One more.")
    before, after = (
        play("context_recall", ROW, answer).value,
        play("context_recall", more, answer).value,
    )
    assert before is not None
    assert after is not None
    assert after >= before


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 999), named=st.booleans(), drop=st.floats(0, 1))
def test_losing_verdicts_never_turns_a_verdict_and_never_raises_a_score_of_the_rest(
    seed: int, named: bool, drop: float
) -> None:
    whole = by_chance(seed, named)

    def less(request: Request) -> Judgment:
        if random.Random(f"{seed} {drop} {request.key}").random() < drop:
            return Judgment(request.key, "j", request.rubric, Status.UNPARSED, reason="lost")
        return whole(request)

    for name in (
        *SET,
        "self_knowledge",
        "noise_sensitivity(mode=relevant)",
        "context_recall(pass_mark=0.5)",
        "hallucination(pass_mark=0.4)",
        "context_precision(against=response)",
    ):
        a, b = play(name, ROW, whole), play(name, ROW, less)
        assert b.verdict in (a.verdict, Verdict.UNDECIDED) or a.verdict is Verdict.UNDECIDED
        if b.value is None:
            assert b.reason
            assert b.status is not Status.JUDGED
        judged = {i: part.value for i, part in enumerate(b.parts) if part.value is not None}
        if a.parts and len(a.parts) == len(b.parts):
            # What is certain without the lost ones is so with them.
            assert all(a.parts[i].value in (value, None) for i, value in judged.items())


def test_flows_run_side_by_side_in_common_waves() -> None:
    def ask(names: str) -> Flow[str]:
        seen = []
        for name in names:
            (judgment,) = yield (Request("r", {"x": name}),)
            seen.append(judgment.rationale)
        return "".join(seen)

    flow = together(ask("ab"), ask(""), ask("c"))

    def answered(wave: tuple[Request, ...]) -> tuple[Judgment, ...]:
        return tuple(
            Judgment(r.key, "j", "r", Status.JUDGED, rationale=r.text("x").upper()) for r in wave
        )

    first = next(flow)
    second = flow.send(answered(first))
    assert [[r.text("x") for r in wave] for wave in (first, second)] == [["a", "c"], ["b"]]
    with pytest.raises(StopIteration) as done:
        flow.send(answered(second))
    assert done.value.value == ("AB", "", "C")


def test_every_metric_of_the_graph_is_a_metric_of_the_catalogue() -> None:
    assert set(NAMES) == {
        "groundedness",
        "faithfulness",
        "context_precision",
        "context_recall",
        "context_utilization",
        "noise_sensitivity",
        "hallucination",
        "self_knowledge",
        "answer_correctness_claims",
        "citation_support",
    }
    assert all(isinstance(parse(name), Metric) for name in NAMES)


def test_the_language_models_judge_groups_the_set_as_counted_here() -> None:
    judge = LLMJudge("openai:m", RubricRegistry.default())
    for claims, most in (("sentences", 4), ("llm", 6)):
        names = [str(replace(parse(name), claims=claims)) for name in SET]  # type: ignore[type-var]
        _, waves = play_together(names, ROW, yes)
        assert sum(len(judge.groups(wave)) for wave in waves) == most


@pytest.mark.parametrize("response", ["", "I don't know."])
def test_a_response_that_states_nothing_is_measured_alike_however_claims_are_cut(
    response: str,
) -> None:
    row = replace(ROW, response=response)
    for name in (
        "answer_correctness_claims",
        "hallucination",
        "noise_sensitivity",
        "context_utilization",
    ):
        cut, listed = play(name, row, yes), play(f"{name}(claims=llm)", row, yes)
        assert (cut.value, cut.status, cut.reason, cut.flags) == (
            listed.value,
            listed.status,
            listed.reason,
            listed.flags,
        )
        assert cut.flags in (("empty_response",), ("abstention",))


def test_what_a_lost_verdict_hides_is_not_asked_again_by_the_metric() -> None:
    """Losses are retried by the judge; a metric that saw one asks nothing further about it."""
    lose = lambda r: Judgment(r.key, "j", r.rubric, Status.FAILED, reason="lost")  # noqa: E731
    for name in NAMES:
        _, waves = play_together([name], ROW, lose)
        assert len(waves) <= 1
