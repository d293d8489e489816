"""The offline judge's flow, with the test in the place of runner and model."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest

from ragassay.core import (
    Ask,
    CallError,
    CallFailed,
    ChatReply,
    Evidence,
    FactFinding,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    SetupError,
    Spend,
    Status,
)
from ragassay.judges import OfflineJudge, RubricRegistry, answers_offline
from ragassay.judges.offline.word_overlap import shares_of
from ragassay.judges.text_rules.sentences import sentences
from ragassay.models.offline import OfflineModel
from ragassay.scoring import token_recall

RUBRICS = RubricRegistry.default()
JUDGE = OfflineJudge(
    "v1", {"support": "balanced accuracy .78 [.76, .80]", "relevance": "AUC .8"}, RUBRICS
)


def claim(text: str, *contexts: str) -> Request:
    return Request(
        "groundedness", {"question": "q?", "response": "r", "contexts": contexts, "claim": text}
    )


def chunk(context: str, rubric: str = "context_relevance") -> Request:
    return Request(rubric, {"question": "q?", "context": context})


def answer(response: str) -> Request:
    return Request("answer_relevance", {"question": "q?", "response": response})


def run(
    *requests: Request, replies: tuple[Reply, ...] = ()
) -> tuple[list[MatchCall], list[Judgment]]:
    flow, calls = JUDGE.answer(requests), list[MatchCall]()
    try:
        step = next(flow)
        while True:
            assert isinstance(step, Ask)
            calls += [call for call in step.calls if isinstance(call, MatchCall)]
            step = flow.send(replies)
    except StopIteration as end:
        settled = end.value
    by_key = {j.key: j for j in settled}
    assert len(by_key) == len(settled) == len({r.key for r in requests})
    return calls, [by_key[r.key] for r in requests]


def answered(judge: OfflineJudge, request: Request, *replies: Reply) -> tuple[Judgment, ...]:
    """The Judgments of one Request, with these replies to its calls."""
    flow = judge.answer((request,))
    next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send(replies)
    settled: tuple[Judgment, ...] = end.value.value
    return settled


def test_requests_become_the_three_kinds_of_match_calls() -> None:
    half = (MatchReply(0.6),)
    assert run(claim("c", "a", "b"), replies=half)[0] == [
        MatchCall("support", "c", ("a", "b"), "q?")
    ]
    assert run(chunk("a"), replies=half)[0] == [MatchCall("relevance", "q?", ("a",))]
    assert run(answer("a"), replies=half)[0] == [MatchCall("answer", "q?", ("a",))]


@pytest.mark.parametrize(
    ("probability", "rating"),
    [(0.0, 0), (0.249, 0), (0.25, 1), (0.499, 1), (0.5, 2), (0.749, 2), (0.75, 3), (1.0, 3)],
)
def test_a_probability_becomes_a_rating_so_that_the_pass_mark_is_one_half(
    probability: float, rating: int
) -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(probability),))
    assert (judgment.rating, judgment.value, judgment.probability) == (
        rating,
        rating / 3,
        probability,
    )
    assert judgment.passes is (probability >= 0.5)
    _, (judgment,) = run(chunk("a", "chunk_relevance"), replies=(MatchReply(probability),))
    assert (judgment.rating, judgment.value) == (
        ("yes", 1.0) if probability >= 0.5 else ("no", 0.0)
    )


@pytest.mark.parametrize(
    ("found", "probability", "rating"),
    [("1932", 0.3, 0), ("1932", 0.1, 0), ("", 0.3, 1), ("", 0.1, 0), ("1932", 0.6, 2)],
)
def test_a_claim_that_the_passages_deny_has_the_lowest_rating_whatever_its_probability(
    found: str, probability: float, rating: int
) -> None:
    reply = MatchReply(probability, findings=(FactFinding("number", "1957", found),))
    _, (judgment,) = run(claim("It opened in 1957.", "It opened in 1932."), replies=(reply,))
    assert (judgment.rating, judgment.probability) == (rating, probability)


@pytest.mark.parametrize(
    ("probability", "rating"), [(0.09, 0), (0.1, 1), (0.199, 1), (0.2, 2), (0.749, 2), (0.75, 3)]
)
def test_a_cut_of_the_model_moves_the_pass_mark_and_not_the_probability(
    probability: float, rating: int
) -> None:
    judge = OfflineJudge("v1", {}, RUBRICS, {"support": 0.2})
    flow = judge.answer((claim("c", "a"),))
    next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send((MatchReply(probability),))
    (judgment,) = end.value.value
    assert (judgment.rating, judgment.probability, judgment.passes) == (
        rating,
        probability,
        probability >= 0.2,
    )
    assert "(passes from 0.20" in judgment.rationale
    assert judge.fingerprint("groundedness") != JUDGE.fingerprint("groundedness")


@pytest.mark.parametrize(
    ("probability", "status", "passes"),
    [
        (0.19, Status.JUDGED, False),
        (0.2, Status.ABSTAINED, None),
        (0.29, Status.ABSTAINED, None),
        (0.3, Status.JUDGED, True),
    ],
)
def test_a_yes_near_the_cut_is_no_verdict_and_a_no_stays_one(
    probability: float, status: Status, passes: bool | None
) -> None:
    judge = OfflineJudge("v1", {}, RUBRICS, {"support": 0.2}, near={"support": 0.3})
    (judgment,) = answered(judge, claim("c", "a"), MatchReply(probability))
    assert (judgment.status, judgment.passes) == (status, passes)
    assert (judgment.rating is None) is (status is Status.ABSTAINED)
    assert judgment.reason.startswith("near its cut: ") is (status is Status.ABSTAINED)
    assert judge.fingerprint("groundedness") != OfflineJudge(
        "v1", {}, RUBRICS, {"support": 0.2}
    ).fingerprint("groundedness")


def test_what_is_near_the_cut_says_how_near_and_keeps_its_probability() -> None:
    judge = OfflineJudge("v1", {}, RUBRICS, {"support": 0.2}, near={"support": 0.3})
    (judgment,) = answered(judge, claim("c", "a"), MatchReply(0.25))
    assert judgment.probability == 0.25
    assert judgment.rationale == (
        "The probability is 0.25, too near the cut: 0.20; yes counts from 0.30 on."
    )


def test_the_sources_and_the_sufficiency_of_contexts_may_be_near_the_cut_too() -> None:
    judge = OfflineJudge("v1", {}, RUBRICS, {"support": 0.2}, near={"support": 0.3})
    sources = make("claim_sources", question="q?", response="r", contexts=("a", "b"), claim="x")
    (judgment,) = answered(judge, sources, MatchReply(0.1), MatchReply(0.25))
    assert judgment.status is Status.ABSTAINED
    # Another passage supports the claim beyond doubt.
    (judgment,) = answered(judge, sources, MatchReply(0.4), MatchReply(0.25))
    assert judgment.rating == "yes"


@pytest.mark.parametrize("probability", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_probability_gives_no_rating(probability: float) -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(probability),))
    assert (judgment.status, judgment.rating, judgment.probability) == (Status.UNPARSED, None, None)


def test_abstentions_and_empty_inputs_follow_the_rules_and_ask_nothing() -> None:
    calls, (admits, unsupported) = run(
        claim("The documents do not say when.", "a"), claim("It is red."), replies=()
    )
    assert calls == []
    assert (admits.rating, admits.value, admits.flags) == (3, 1.0, ("abstention",))
    assert (unsupported.rating, unsupported.flags) == (0, ("nothing_found",))
    calls, (declined, empty) = run(answer("I don't know."), answer(""))
    assert calls == []
    assert (declined.rating, declined.flags, declined.probability) == (0, ("declined",), None)
    assert (empty.rating, empty.flags) == (0, ())


def test_only_what_needs_the_model_is_asked_and_every_request_is_settled() -> None:
    requests = (answer("It is red."), answer("I don't know."), answer("It is blue."))
    calls, judgments = run(*requests, replies=(MatchReply(0.9), MatchReply(0.1)))
    assert [call.passages for call in calls] == [("It is red.",), ("It is blue.",)]
    assert [j.rating for j in judgments] == [3, 0, 0]


def test_evidence_is_kept_only_where_its_quote_really_stands() -> None:
    right, wrong, outside = (
        Evidence(0, 0, 3, "abc"),
        Evidence(0, 1, 4, "abc"),
        Evidence(4, 0, 3, "abc"),
    )
    _, (judgment,) = run(claim("c", "abcdef"), replies=(MatchReply(0.9, (right, wrong, outside)),))
    assert judgment.evidence == (right,)


def test_the_rationale_words_the_figures_it_knows_and_ignores_the_others() -> None:
    figures = {
        "coverage": 0.8,
        "numbers_missing": 1.0,
        "names_missing": 2.0,
        "negation_mismatch": 1.0,
    }
    figures |= {"something_new": 5.0, "contradicted": 0.7}
    spend = Spend(calls=1, seconds=0.01)
    reply = MatchReply(0.31, (), figures, spend, unsupported=((3, 7), (11, 15)))
    _, (judgment,) = run(claim("In 1932 by Anna", "a"), replies=(reply,))
    assert (
        judgment.rationale
        == "Probability that the passages support the claim: 0.31 (passes from 0.50). Rather"
        ' contradicted by the passages. Words without support: "1932", "Anna". The claim shares'
        " 80% of its content words with the passages. 1 number of it is not in the passages. 2"
        " names of it are not in the passages. One side is negated and the other is not."
    )
    assert judgment.spend == spend
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(0.31, (), {"contradicted": 0.2}),))
    assert judgment.rationale.endswith("Rather not mentioned in the passages.")
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(0.5, (), {"contradicted": 0.7}),))
    assert judgment.rationale.endswith("(passes from 0.50).")
    _, (judgment,) = run(
        claim("a b c d e f", "a"),
        replies=(MatchReply(0.6, unsupported=tuple((n, n + 1) for n in range(0, 12, 2))),),
    )
    assert judgment.rationale.endswith('Words without support: "a", "b", "c", "d", "e" and 1 more.')
    _, (judgment,) = run(chunk("a"), replies=(MatchReply(0.31),))
    assert (
        judgment.rationale
        == "Probability that the passage helps with the question: 0.31 (passes from 0.50)."
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (CallFailed("server", "broken"), Status.FAILED),
        (CallFailed("over_budget", "cap"), Status.OVER_BUDGET),
        (ChatReply("3"), Status.FAILED),
    ],
)
def test_a_failed_call_gives_a_status_and_no_rating(reply: Reply, status: Status) -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(reply,))
    assert (judgment.status, judgment.rating, judgment.value) == (status, None, None)
    assert judgment.reason


@pytest.mark.parametrize("rubric", ["claims", "answer_relevance_5"])
def test_rubrics_it_cannot_answer_are_refused_with_a_way_out(rubric: str) -> None:
    with pytest.raises(SetupError) as caught:
        JUDGE.rubric_version(rubric)
    assert caught.value.code == "E0203"
    assert "--judge openai:MODEL" in caught.value.fix


def test_the_agreement_of_the_rule_is_what_its_benchmark_measured() -> None:
    measured = json.loads(
        (Path(__file__).parents[2] / "benchmarks/results/answer_overlap.json").read_text()
    )["sets"]
    first = [
        figures["offline `correctness`, first gold answer as the reference"]
        for figures in measured.values()
    ]
    alone = [figures["the same, questions with one gold answer"] for figures in measured.values()]
    for found in (first, alone):
        kappas = [f"{figures['kappa']:.2f}" for figures in found]
        assert f"{kappas[0]}, {kappas[1]} and {kappas[2]} " in JUDGE.agreement
    assert f"{sum(figures['n'] for figures in alone):,} rows" in JUDGE.agreement


def test_a_users_rubric_is_refused_since_it_reads_no_instructions(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text(
        "---\nid: groundedness\nversion: 1\nextends: groundedness\n---\n## Criteria\nBe kind.\n"
    )
    judge = OfflineJudge("v1", {}, RUBRICS.with_files([path]))
    with pytest.raises(SetupError, match="cannot follow your own file"):
        judge.fingerprint("groundedness")
    assert judge.rubric_version("context_relevance") == "context_relevance@1"


def test_it_names_itself_its_model_and_its_measured_agreement_and_never_an_llm() -> None:
    assert JUDGE.uri == "offline"
    said = JUDGE.agreement.split("; ")
    assert said[:2] == ["support: balanced accuracy .78 [.76, .80]", "relevance: AUC .8"]
    assert said[2].startswith(
        "correctness: a rule, half of the words of every statement or its sense, and none of its"
        " facts another:"
    )
    assert OfflineJudge("v1", {}, RUBRICS).agreement.startswith(
        "unmeasured on data like yours; correctness: a rule"
    )
    assert JUDGE.fingerprint("groundedness") != OfflineJudge("v2", {}, RUBRICS).fingerprint(
        "groundedness"
    )
    assert JUDGE.fingerprint("groundedness") != JUDGE.fingerprint("answer_relevance")


def test_batches_hold_one_rubric_each_in_order() -> None:
    requests = [claim(str(n), "a") for n in range(20)] + [chunk(str(n)) for n in range(3)]
    groups = JUDGE.groups(requests)
    assert [len(group) for group in groups] == [16, 4, 3]
    assert [r for group in groups for r in group] == requests
    assert JUDGE.groups([]) == []


# -- rubrics that take several calls, or none


def make(rubric: str, **inputs: str | tuple[str, ...]) -> Request:
    blank: dict[str, str | tuple[str, ...]] = {
        name: ""
        for name in ("question", "response", "context", "text", "claim")
        if name in INPUTS[rubric]
    }
    lists: dict[str, tuple[str, ...]] = {
        n: () for n in ("contexts", "statements") if n in INPUTS[rubric]
    }
    return Request(rubric, {**blank, **lists, **inputs})


INPUTS = {name: RUBRICS.get(name).inputs for name in RUBRICS.ids()}
NEW = (
    "claim_sources",
    "entailment",
    "sentence_relevance",
    "context_sufficiency",
    "correctness",
    "correctness_3",
)


@pytest.mark.parametrize(
    ("claim_text", "asked"),
    [
        ("It is 330 metres tall [1].", "It is 330 metres tall."),
        ("It is tall[1][2, 3] and old [4-6], [^7] too【8】.", "It is tall and old, too."),
        ("It is in [brackets], in 【括】 in [2024] and [a 1].", None),
        ("[1]", None),
    ],
)
def test_citation_marks_are_no_numbers_that_a_passage_must_hold(
    claim_text: str, asked: str | None
) -> None:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q?",
        "response": "r",
        "text": "a",
        "contexts": ("a",),
    }
    for rubric in ("groundedness", "claim_sources", "entailment", "context_sufficiency"):
        given = {"claim": claim_text, "statements": (claim_text,), **inputs}
        (call,), _ = run(
            make(rubric, **{n: given[n] for n in INPUTS[rubric]}), replies=(MatchReply(0.5),)
        )
        assert call.text == (asked or claim_text)


def test_it_says_which_rubrics_it_answers() -> None:
    answered = {name for name in RUBRICS.ids() if answers_offline(name)}
    assert answered == {
        *NEW,
        "context_relevance",
        "chunk_relevance",
        "groundedness",
        "answer_relevance",
    }
    assert answers_offline("similarity")
    assert not answers_offline("mine")
    versions = {"groundedness": 3, "answer_relevance": 2, "claim_sources": 2}
    versions |= {"correctness": 3, "correctness_3": 3}
    for name in answered:
        assert JUDGE.rubric_version(name) == f"{name}@{versions.get(name, 1)}"
    for name in set(RUBRICS.ids()) - answered:
        with pytest.raises(SetupError):
            JUDGE.fingerprint(name)


def test_groundedness_names_no_sources_since_it_was_asked_about_all_passages_together() -> None:
    _, (judgment,) = run(claim("c", "a", "b"), replies=(MatchReply(0.9),))
    assert judgment.sources is None


def test_the_sources_of_a_claim_are_the_passages_that_reach_the_cut_alone() -> None:
    request = make(
        "claim_sources", question="q?", response="r", contexts=("a", " ", "b", "c"), claim="x"
    )
    quote = Evidence(0, 0, 1, "c")
    calls, (judgment,) = run(
        request, replies=(MatchReply(0.5), MatchReply(0.49), MatchReply(0.9, (quote,)))
    )
    # The passage without text is not asked about, and the indices are those of the contexts.
    assert [(call.task, call.text, call.passages) for call in calls] == [
        ("support", "x", (p,)) for p in "abc"
    ]
    assert (judgment.rating, judgment.value, judgment.passes, judgment.sources) == (
        "yes",
        1.0,
        True,
        (0, 3),
    )
    assert judgment.probability == 0.9
    assert judgment.evidence == (Evidence(3, 0, 1, "c"),)
    assert judgment.rationale.startswith(
        "2 of 3 passages support the claim, each judged alone: 1 (0.50), 4 (0.90)."
    )
    _, (judgment,) = run(request, replies=(MatchReply(0.1), MatchReply(0.2), MatchReply(0.3)))
    assert (judgment.rating, judgment.value, judgment.passes, judgment.sources) == (
        "no",
        0.0,
        False,
        (),
    )


@pytest.mark.parametrize(
    ("probability", "contradicted", "rating"),
    [
        (0.5, 0.9, "stated"),
        (0.49, 0.49, "not_stated"),
        (0.49, 0.5, "contradicted"),
        (0.0, None, "not_stated"),
    ],
)
def test_a_text_states_a_claim_or_contradicts_it_or_does_neither(
    probability: float, contradicted: float | None, rating: str
) -> None:
    judge = OfflineJudge(
        "v1", {}, RUBRICS, {"support": 0.2}
    )  # a cut for whole responses, not for two texts
    flow = judge.answer((make("entailment", question="q?", text="t", claim="c"),))
    assert next(flow) == Ask((MatchCall("support", "c", ("t",), "q?"),))
    figures = {} if contradicted is None else {"contradicted": contradicted}
    with pytest.raises(StopIteration) as end:
        flow.send((MatchReply(probability, (Evidence(0, 0, 1, "t"),), figures),))
    (judgment,) = end.value.value
    assert (judgment.rating, judgment.value, judgment.probability) == (
        rating,
        float(rating == "stated"),
        probability,
    )
    assert judgment.evidence == ()  # the text is no context
    assert "that the text states the claim" in judgment.rationale


def test_the_helpful_sentences_of_a_passage_are_evidence_and_there_is_no_rating() -> None:
    context = "# Prices\nA ticket costs 5 euros. Dr. Smith drew it!\n\n1. Children pay half."
    assert [context[a:b] for a, b in sentences(context)] == [
        "# Prices",
        "A ticket costs 5 euros.",
        "Dr. Smith drew it!",
        "1. Children pay half.",
    ]
    request = make("sentence_relevance", question="q?", context=context)
    replies = (MatchReply(0.2), MatchReply(0.8), MatchReply(0.49), MatchReply(0.5))
    calls, (judgment,) = run(request, replies=replies)
    assert [call.task for call in calls] == ["relevance"] * 4
    assert [e.quote for e in judgment.evidence] == [
        "A ticket costs 5 euros.",
        "1. Children pay half.",
    ]
    assert all(context[e.start : e.end] == e.quote and e.context == 0 for e in judgment.evidence)
    assert (judgment.status, judgment.rating, judgment.value) == (Status.JUDGED, None, None)


def test_contexts_suffice_when_every_statement_is_supported_and_else_the_missing_is_named() -> None:
    request = make(
        "context_sufficiency", question="q?", contexts=("a",), statements=("one", " ", "two")
    )
    calls, (judgment,) = run(request, replies=(MatchReply(0.9), MatchReply(0.5)))
    assert [(call.text, call.passages) for call in calls] == [("one", ("a",)), ("two", ("a",))]
    assert (judgment.rating, judgment.passes, judgment.probability) == ("yes", True, 0.5)
    _, (judgment,) = run(request, replies=(MatchReply(0.9), MatchReply(0.4)))
    assert (judgment.rating, judgment.passes, judgment.probability) == ("no", False, 0.4)
    assert judgment.rationale.startswith('Missing in the passages: "two" (0.40).')
    _, (judgment,) = run(
        make("context_sufficiency", question="q?", contexts=("a",), statements=(" ",))
    )
    assert judgment.status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("response", "statements", "yes_no", "three"),
    [
        ("It is in Paris.", ("Paris",), "yes", "correct"),
        ("It is in Rome.", ("Paris",), "no", "incorrect"),
        ("red and green", ("red green blue yellow",), "yes", "correct"),  # 2 of 4 words
        ("red", ("red green blue",), "no", "incorrect"),  # 1 of 3
        ("Paris, since 1889", ("Paris", "1889", "..."), "yes", "correct"),  # the last holds no word
        ("Paris, since 1887", ("Paris", "1889"), "no", "incorrect"),  # every one must be there
        ("I don't know.", ("Paris",), "no", "not_attempted"),
        (" ", ("Paris",), "no", "not_attempted"),
    ],
)
def test_a_response_is_right_when_it_has_half_of_the_words_of_every_statement(
    response: str, statements: tuple[str, ...], yes_no: str, three: str
) -> None:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q?",
        "response": response,
        "statements": statements,
    }
    with_words = [text for text in statements if text != "..."]
    # The facts of both sides are set beside each other; what has few words may say it otherwise.
    beside = [MatchCall("facts", text, (response,), "q?") for text in with_words]
    beside.append(MatchCall("facts", response, tuple(with_words), "q?"))
    few = [share < 0.5 for share, _ in shares_of(response, with_words)]
    said = [text for text, is_few in zip(with_words, few, strict=True) if is_few]
    asked = [*beside, *(MatchCall("support", text, (response,), "q?") for text in said)]
    replies = (MatchReply(1.0),) * len(beside) + (MatchReply(0.49),) * len(said)
    two, other = (
        run(make(name, **inputs), replies=replies) for name in ("correctness", "correctness_3")
    )
    assert two[0] == other[0] == ([] if three == "not_attempted" else asked)
    assert (two[1][0].rating, two[1][0].passes) == (yes_no, yes_no == "yes")
    assert (other[1][0].rating, other[1][0].passes) == (three, three == "correct")
    assert two[1][0].probability is None
    if response.startswith("I don't"):
        assert two[1][0].flags == ("declined",)


def test_a_statement_without_its_words_may_be_said_in_other_ones() -> None:
    request = make("correctness", question="q?", response="Two weeks.", statements=("14 days",))
    nothing_denied = (MatchReply(1.0), MatchReply(1.0))
    _, (judgment,) = run(request, replies=(*nothing_denied, MatchReply(0.5)))
    assert judgment.passes
    assert "says it in other words: probability 0.50" in judgment.rationale
    long = make("correctness", question="q?", response="Two weeks.", statements=("14 days " * 200,))
    assert run(long)[0] == []


def test_the_rule_computes_gold_token_recall() -> None:
    response, statement = (
        "The bridge, which opened in 1932, is long.",
        "A bridge of 503 metres opened in 1932",
    )
    _, (judgment,) = run(
        make("correctness", question="q?", response=response, statements=(statement,)),
        replies=(MatchReply(1.0), MatchReply(1.0)),
    )
    share = token_recall(response, statement)
    assert share == pytest.approx(4 / 7)  # bridge, opened, in, 1932 of seven ("a" is no token)
    words = f"No fact of it is denied. The response has {share:.0%} of the words"
    assert judgment.rationale.startswith(words)


def test_a_lost_reading_of_facts_leaves_correctness_without_a_verdict() -> None:
    request = make("correctness", question="q?", response="It is red.", statements=("red",))
    _, (judgment,) = run(request, replies=(MatchReply(1.0), CallFailed("server", "broken")))
    assert (judgment.status, judgment.rating) == (Status.FAILED, None)


def test_statements_without_words_decide_nothing() -> None:
    _, (judgment,) = run(
        make("correctness", question="q?", response="It is red.", statements=("...", ""))
    )
    assert (judgment.status, judgment.rating) == (Status.NOT_APPLICABLE, None)


BAD = [
    (CallFailed("server", "broken"), Status.FAILED),
    (CallFailed("over_budget", "cap"), Status.OVER_BUDGET),
    (ChatReply("yes"), Status.FAILED),
    (MatchReply(math.nan), Status.UNPARSED),
    (MatchReply(1.5), Status.UNPARSED),
]


@pytest.mark.parametrize(("bad", "status"), BAD)
@pytest.mark.parametrize("rubric", ["claim_sources", "sentence_relevance", "context_sufficiency"])
def test_a_judgment_of_which_one_call_was_lost_is_lost_and_its_neighbours_are_not(
    rubric: str, bad: Reply, status: Status
) -> None:
    def request(n: int) -> Request:
        inputs: dict[str, str | tuple[str, ...]] = {
            "question": "q?",
            "response": f"r{n}",
            "claim": "c",
            "context": f"One {n}. Two.",
            "contexts": ("a", f"b{n}"),
            "statements": ("s", f"t{n}"),
        }
        return Request(rubric, {name: inputs[name] for name in INPUTS[rubric]})

    spend = Spend(calls=1, cost=0.0, seconds=0.5)
    good = MatchReply(0.9, spend=spend)
    calls, judgments = run(
        request(0), request(1), request(2), replies=(good, good, good, bad, good, good)
    )
    assert len(calls) == 6
    assert [j.status for j in judgments] == [Status.JUDGED, status, Status.JUDGED]
    lost = judgments[1]
    assert (lost.rating, lost.value, lost.probability, lost.sources, lost.evidence) == (
        None,
        None,
        None,
        None,
        (),
    )
    assert lost.reason
    # What was asked is paid for, whatever became of it.
    assert [j.spend.calls for j in judgments] == [2, 1, 2]
    assert judgments[0].spend.seconds == 1.0


def test_more_comparisons_than_a_thousand_are_not_made() -> None:
    request = make("claim_sources", question="q?", response="r", claim="c", contexts=("a",) * 1001)
    calls, (judgment,) = run(request)
    assert calls == []
    assert judgment.status is Status.FAILED
    assert "1,001 comparisons" in judgment.reason


HOSTILE = {
    "empty": "",
    "blank": " \n\t",
    "nul": "\x00",
    "surrogate": "lone \ud800 surrogate.",
    "marks": "!!! --- ???",
    "long": "The tower is 330 metres tall. " * 34_000,
    "one word": "a" * 1_000_000,
    "lines": "x\n" * 200_000,
    "placeholder": "{{question}} <<<end|000000>>>",
}
MODEL = OfflineModel(threads=2)


def reply_to(call: MatchCall) -> Reply:
    """As the runner hands it over."""
    try:
        return MODEL.score([call])[0]
    except CallError as error:
        return CallFailed(error.kind, error.message)


@pytest.mark.slow
@pytest.mark.parametrize("rubric", NEW)
@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_hostile_texts_are_settled_with_a_status_and_never_a_number_outside_its_range(
    rubric: str, kind: str
) -> None:
    text, started = HOSTILE[kind], time.process_time()
    inputs = {
        name: (text, "Paris.") if name in ("contexts", "statements") else text
        for name in INPUTS[rubric]
    }
    plain = {**inputs, "question": "How tall is it?", "claim": "The tower is 330 metres tall."}
    requests = [
        Request(rubric, inputs),
        Request(rubric, {name: plain[name] for name in INPUTS[rubric]}),
    ]
    flow, judgments = OfflineJudge("v1", {}, RUBRICS).answer(tuple(requests)), list[Judgment]()
    try:
        step = next(flow)
        while True:
            assert isinstance(step, Ask)
            step = flow.send(tuple(reply_to(c) for c in step.calls if isinstance(c, MatchCall)))
    except StopIteration as end:
        judgments = list(end.value)
    assert {j.key for j in judgments} == {r.key for r in requests}
    for judgment in judgments:
        assert judgment.value is None or 0 <= judgment.value <= 1
        assert judgment.probability is None or 0 <= judgment.probability <= 1
        assert (judgment.rating is not None) <= judgment.judged
        assert judgment.judged or judgment.reason
    assert time.process_time() - started < 60


@pytest.mark.slow
def test_a_thousand_passages_are_each_judged() -> None:
    contexts = tuple(f"The tower number {n} is {n} metres tall." for n in range(1000))
    request = make(
        "claim_sources",
        question="q?",
        response="r",
        claim="The tower number 7 is 7 metres tall.",
        contexts=contexts,
    )
    flow = OfflineJudge("v1", {}, RUBRICS, {"support": 0.5}).answer((request,))
    step = next(flow)
    assert isinstance(step, Ask)
    assert len(step.calls) == 1000
    with pytest.raises(StopIteration) as end:
        flow.send(tuple(MODEL.score([c for c in step.calls if isinstance(c, MatchCall)])))
    (judgment,) = end.value.value
    assert judgment.sources is not None
    assert 7 in judgment.sources


def test_a_probability_below_the_cut_is_not_printed_as_the_cut() -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(0.4996),))
    assert "claim: 0.4996 (passes from 0.5000)." in judgment.rationale
