"""The offline judge's flow, with the test in the place of runner and model."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    ChatReply,
    Evidence,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    SetupError,
    Spend,
    Status,
)
from ragassay.judges import OfflineJudge, RubricBook

BOOK = RubricBook.default()
JUDGE = OfflineJudge("v1", {"support": "balanced accuracy .78 [.76, .80]", "relevance": "AUC .8"}, BOOK)


def claim(text: str, *contexts: str) -> Request:
    return Request("groundedness", {"question": "q?", "response": "r", "contexts": contexts, "claim": text})


def chunk(context: str, rubric: str = "context_relevance") -> Request:
    return Request(rubric, {"question": "q?", "context": context})


def answer(response: str) -> Request:
    return Request("answer_relevance", {"question": "q?", "response": response})


def run(*requests: Request, replies: tuple[Reply, ...] = ()) -> tuple[list[MatchCall], list[Judgment]]:
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


def test_requests_become_the_three_kinds_of_match_calls() -> None:
    half = (MatchReply(0.6),)
    assert run(claim("c", "a", "b"), replies=half)[0] == [MatchCall("support", "c", ("a", "b"), "q?")]
    assert run(chunk("a"), replies=half)[0] == [MatchCall("relevance", "q?", ("a",))]
    assert run(answer("a"), replies=half)[0] == [MatchCall("answer", "q?", ("a",))]


@pytest.mark.parametrize(
    ("probability", "rating"),
    [(0.0, 0), (0.249, 0), (0.25, 1), (0.499, 1), (0.5, 2), (0.749, 2), (0.75, 3), (1.0, 3)],
)
def test_a_probability_becomes_a_rating_so_that_the_pass_mark_is_one_half(probability: float, rating: int) -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(probability),))
    assert (judgment.rating, judgment.value, judgment.probability) == (rating, rating / 3, probability)
    assert judgment.passes is (probability >= 0.5)
    _, (judgment,) = run(chunk("a", "chunk_relevance"), replies=(MatchReply(probability),))
    assert (judgment.rating, judgment.value) == (("yes", 1.0) if probability >= 0.5 else ("no", 0.0))


@pytest.mark.parametrize(("probability", "rating"), [(0.09, 0), (0.1, 1), (0.199, 1), (0.2, 2), (0.749, 2), (0.75, 3)])
def test_a_cut_of_the_model_moves_the_pass_mark_and_not_the_probability(probability: float, rating: int) -> None:
    judge = OfflineJudge("v1", {}, BOOK, {"support": 0.2})
    flow = judge.answer((claim("c", "a"),))
    next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send((MatchReply(probability),))
    (judgment,) = end.value.value
    assert (judgment.rating, judgment.probability, judgment.passes) == (rating, probability, probability >= 0.2)
    assert "(passes from 0.20)" in judgment.rationale
    assert judge.fingerprint("groundedness") != JUDGE.fingerprint("groundedness")


@pytest.mark.parametrize("probability", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_probability_gives_no_rating(probability: float) -> None:
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(probability),))
    assert (judgment.status, judgment.rating, judgment.probability) == (Status.UNPARSED, None, None)


def test_abstentions_and_empty_inputs_follow_the_rules_and_ask_nothing() -> None:
    calls, (admits, unsupported) = run(claim("The documents do not say when.", "a"), claim("It is red."), replies=())
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
    right, wrong, outside = Evidence(0, 0, 3, "abc"), Evidence(0, 1, 4, "abc"), Evidence(4, 0, 3, "abc")
    _, (judgment,) = run(claim("c", "abcdef"), replies=(MatchReply(0.9, (right, wrong, outside)),))
    assert judgment.evidence == (right,)


def test_the_rationale_words_the_figures_it_knows_and_ignores_the_others() -> None:
    figures = {"coverage": 0.8, "numbers_missing": 1.0, "names_missing": 2.0, "negation_mismatch": 1.0, "cosine": 0.71}
    figures["something_new"] = 5.0
    spend = Spend(calls=1, seconds=0.01)
    _, (judgment,) = run(claim("c", "a"), replies=(MatchReply(0.31, (), figures, spend),))
    assert judgment.rationale == (
        "Probability that the passages support the claim: 0.31 (passes from 0.50). The claim shares 80% of its content words with the "
        "passages. 1 number of it is not in the passages. 2 names of it are not in the passages. One side is negated "
        "and the other is not. Closeness of meaning: 0.71."
    )
    assert judgment.spend == spend
    _, (judgment,) = run(chunk("a"), replies=(MatchReply(0.31),))
    assert judgment.rationale == "Probability that the passage helps with the question: 0.31 (passes from 0.50)."


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


def test_a_users_rubric_is_refused_since_it_reads_no_instructions(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("---\nid: groundedness\nversion: 1\nextends: groundedness\n---\n## Criteria\nBe kind.\n")
    judge = OfflineJudge("v1", {}, BOOK.with_files([path]))
    with pytest.raises(SetupError, match="cannot follow your own file"):
        judge.fingerprint("groundedness")
    assert judge.rubric_version("context_relevance") == "context_relevance@1"


def test_it_names_itself_its_model_and_its_measured_agreement_and_never_an_llm() -> None:
    assert JUDGE.uri == "offline"
    assert JUDGE.agreement == "support: balanced accuracy .78 [.76, .80]; relevance: AUC .8"
    assert OfflineJudge("v1", {}, BOOK).agreement == "unmeasured on data like yours"
    assert JUDGE.fingerprint("groundedness") != OfflineJudge("v2", {}, BOOK).fingerprint("groundedness")
    assert JUDGE.fingerprint("groundedness") != JUDGE.fingerprint("answer_relevance")


def test_batches_hold_one_rubric_each_in_order() -> None:
    requests = [claim(str(n), "a") for n in range(20)] + [chunk(str(n)) for n in range(3)]
    groups = JUDGE.batches(requests)
    assert [len(group) for group in groups] == [16, 4, 3]
    assert [r for group in groups for r in group] == requests
    assert JUDGE.batches([]) == []
