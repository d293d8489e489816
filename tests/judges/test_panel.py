"""Several judges, one verdict: who votes, who wins, and what is no verdict."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    ChatCall,
    ChatReply,
    Evidence,
    Judgment,
    Keep,
    MatchCall,
    Recall,
    Reply,
    Request,
    SetupError,
    Status,
)
from ragassay.judges import (
    LLMJudge,
    OfflineJudge,
    PanelJudge,
    Point,
    RubricRegistry,
    Scale,
    composition,
)
from ragassay.judges.composed.panel import verdict

RUBRICS = RubricRegistry.default()
GRADES = Scale(tuple(Point(n, n / 3, f"grade {n}") for n in range(4)), 2)
KINDS = Scale(
    (Point("wrong", 0.0, ""), Point("open", 0.0, ""), Point("right", 1.0, "")), None, ("right",)
)


def graded(rating: int, **more: Any) -> Judgment:
    return Judgment(
        "k", "f", "r@1", Status.JUDGED, rating=rating, value=rating / 3, passes=rating >= 2, **more
    )


def kind(rating: str) -> Judgment:
    return Judgment(
        "k",
        "f",
        "r@1",
        Status.JUDGED,
        rating=rating,
        value=KINDS.value(rating),
        passes=rating == "right",
    )


def lost(status: Status = Status.FAILED) -> Judgment:
    return Judgment("k", "f", "r@1", status, reason="no luck")


def vote(*judgments: Judgment | None, scale: Scale = GRADES) -> Judgment:
    return verdict([(f"m{n}", judgment) for n, judgment in enumerate(judgments)], scale)


@pytest.mark.parametrize(
    ("ratings", "rating", "passes"),
    [
        ((3, 2, 0), 2, True),
        ((0, 1, 3), 0, False),
        ((3, 3, 2, 0), 3, True),
        ((3, 2, 2, 3, 0), 2, True),
    ],
)
def test_the_majority_decides_and_the_rating_is_the_winners_lower_median(
    ratings: tuple[int, ...], rating: int, passes: bool
) -> None:
    judgment = vote(*(graded(r) for r in ratings))
    assert (judgment.rating, judgment.passes, judgment.value) == (rating, passes, rating / 3)


def test_of_categories_the_one_named_most_often_on_the_winning_side_is_taken() -> None:
    assert vote(kind("open"), kind("wrong"), kind("open"), scale=KINDS).rating == "open"
    assert vote(kind("right"), kind("wrong"), kind("right"), scale=KINDS).rating == "right"


def test_a_tie_is_an_abstention_and_carries_no_rating() -> None:
    judgment = vote(graded(3), graded(0))
    assert (judgment.status, judgment.rating, judgment.value, judgment.passes) == (
        Status.ABSTAINED,
        None,
        None,
        None,
    )
    assert "tied, 1 to 1" in judgment.reason


def test_a_tie_with_a_member_missing_is_a_failure_that_may_be_asked_again() -> None:
    judgment = vote(graded(3), graded(0), lost())
    assert judgment.status is Status.FAILED
    assert "1 missing" in judgment.reason


def test_a_lost_member_has_no_vote_and_is_named() -> None:
    judgment = vote(graded(3), graded(2), lost())
    assert (judgment.passes, judgment.rating) == (True, 2)
    assert "1 gave no verdict" in judgment.rationale
    assert "[m2] failed: no luck" in judgment.rationale


@pytest.mark.parametrize("missing", [lost(), lost(Status.UNPARSED), None])
def test_without_more_than_half_of_the_members_there_is_no_verdict(
    missing: Judgment | None,
) -> None:
    assert vote(graded(3), missing).status is Status.FAILED
    assert vote(graded(3), graded(3), missing, missing).status is Status.FAILED


def test_what_all_members_say_is_not_applicable_is_so_for_the_panel() -> None:
    assert (
        vote(lost(Status.NOT_APPLICABLE), lost(Status.NOT_APPLICABLE)).status
        is Status.NOT_APPLICABLE
    )


def test_a_cap_leaves_the_verdict_open_even_with_a_majority() -> None:
    assert vote(graded(3), graded(3), lost(Status.OVER_BUDGET)).status is Status.OVER_BUDGET


def test_how_a_members_reply_was_read_is_said_of_the_panel_and_its_own_rationale_is_there() -> None:
    repaired = ("abstention", "no_rationale", "repaired:bare_list")
    votes = [graded(3, flags=repaired), graded(3, flags=("abstention",)), graded(3)]
    judgment = verdict([(f"m{n}", vote) for n, vote in enumerate(votes)], GRADES)
    assert judgment.flags == ("abstention", "repaired:bare_list")
    assert judgment.rationale


def test_evidence_flags_and_sources_are_the_winners() -> None:
    a, b = Evidence(0, 0, 1, "a"), Evidence(1, 0, 1, "b")
    judgment = vote(
        graded(3, evidence=(a,), flags=("abstention",), sources=(0,)),
        graded(3, evidence=(a, b), flags=("abstention", "odd"), sources=(0, 1)),
        graded(2, sources=(0, 2)),
        graded(0, evidence=(Evidence(2, 0, 1, "c"),), flags=("nothing_found",), sources=()),
    )
    assert (judgment.evidence, judgment.flags, judgment.sources) == ((a, b), ("abstention",), (0,))


def test_probabilities_are_averaged_only_where_every_voter_has_one() -> None:
    assert vote(
        graded(3, probability=0.9), graded(0, probability=0.2), graded(2, probability=0.7)
    ).probability == (pytest.approx(0.6))
    assert vote(graded(3, probability=0.9), graded(2), graded(2)).probability is None


# -- the judge over its members


def llm(name: str) -> LLMJudge:
    return LLMJudge(f"openai:{name}", RUBRICS)


OFFLINE = OfflineJudge("v1", {}, RUBRICS)
REQUEST = Request(
    "chunk_relevance",
    {"question": "When was the bridge built?", "context": "It was built in 1932."},
)


def panel(*members: Any) -> PanelJudge:
    return PanelJudge("panel:x", members, RUBRICS)


def play(
    judge: PanelJudge, requests: tuple[Request, ...], known: tuple[Judgment, ...] = ()
) -> tuple[list[Judgment], list[Judgment], list[ChatCall]]:
    """Play the runner with every call failing: settled, kept beside, and the chat calls."""
    settled, beside, calls = list[Judgment](), list[Judgment](), list[ChatCall]()
    flow: Generator[Any, Any, Any] = judge.answer(requests)
    try:
        step = next(flow)
        while True:
            sent: tuple[Any, ...] = ()
            if isinstance(step, Keep):
                (beside if step.beside else settled).extend(step.judgments)
            elif isinstance(step, Recall):
                sent = tuple(j for j in known if (j.judge, j.key) in step.addresses)
            else:
                assert isinstance(step, Ask)
                calls += [call for call in step.calls if isinstance(call, ChatCall)]
                sent = tuple[Reply](CallFailed("server", "down") for _ in step.calls)
            step = flow.send(sent)
    except StopIteration as end:
        settled += end.value
    return settled, beside, calls


def test_every_call_names_the_model_it_is_for_and_all_are_asked_at_once() -> None:
    judge = panel(llm("a"), llm("b"), llm("c"))
    settled, beside, calls = play(judge, (REQUEST, REQUEST))
    assert [call.model for call in calls] == ["openai:a", "openai:b", "openai:c"]
    assert [(j.status, j.judge, j.key) for j in settled] == [
        (Status.FAILED, judge.fingerprint("chunk_relevance"), REQUEST.key)
    ]
    assert [j.judge for j in beside] == [m.fingerprint("chunk_relevance") for m in judge.members]


def test_what_a_member_judged_before_is_not_asked_again() -> None:
    judge = panel(llm("a"), llm("b"), llm("c"))
    known = tuple(
        Judgment(
            REQUEST.key,
            llm(name).fingerprint("chunk_relevance"),
            "r@1",
            Status.JUDGED,
            rating="yes",
            value=1.0,
            passes=True,
        )
        for name in "ab"
    )
    (judgment,), beside, calls = play(judge, (REQUEST,), known)
    assert [call.model for call in calls] == ["openai:c"]
    assert (judgment.rating, judgment.passes, judgment.spend.calls) == ("yes", True, 0)
    assert len(beside) == 1


def test_a_member_that_raises_is_a_lost_member_and_not_the_end() -> None:
    class Broken:
        uri = "openai:broken"
        agreement = ""

        def rubric_version(self, rubric: str) -> str:
            return f"{rubric}@1"

        def fingerprint(self, rubric: str) -> str:
            return "broken"

        def groups(self, requests: Any) -> list[tuple[Request, ...]]:
            return [tuple(requests)]

        def answer(self, requests: tuple[Request, ...]) -> Any:
            raise RuntimeError("oops")
            yield

    settled, beside, _ = play(panel(Broken(), llm("b")), (REQUEST,))
    assert [j.status for j in settled] == [Status.FAILED]
    assert "RuntimeError: oops" in beside[0].reason


def test_the_fingerprint_follows_the_members_and_their_order() -> None:
    marks = {
        panel(*members).fingerprint("chunk_relevance")
        for members in (
            (llm("a"), llm("b")),
            (llm("b"), llm("a")),
            (llm("a"), llm("c")),
            (OFFLINE, llm("a")),
        )
    }
    assert len(marks) == 4


def test_texts_are_written_by_the_first_member_that_can() -> None:
    judge = panel(OFFLINE, llm("a"), llm("b"))
    request = Request("claims", {"question": "q", "response": "The bridge was built in 1932."})
    _, beside, calls = play(judge, (request,))
    assert [call.model for call in calls] == ["openai:a"]
    assert len(beside) == 1


def test_a_rubric_that_one_voter_cannot_answer_is_refused() -> None:
    with pytest.raises(SetupError, match="E0203"):
        panel(OFFLINE, llm("a")).rubric_version("safety")


# -- the URI


def test_a_panels_uri_names_its_members() -> None:
    composed = composition("Panel: offline + OpenAI:gpt-4o+openai:my/model@v1")
    assert composed is not None
    assert (composed.rule, composed.threshold) == ("panel", None)
    assert composed.members == ("offline", "openai:gpt-4o", "openai:my/model@v1")


@pytest.mark.parametrize("uri", ["offline", "openai:gpt-4o", "openai:a+b", "panels"])
def test_a_single_judges_uri_is_left_alone(uri: str) -> None:
    assert composition(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "panel:",
        "panel:offline",
        "panel:offline+",
        "panel:openai:a+openai:a",
        "panel:offline+OFFLINE",
        "panel:offline+panel:openai:a",
        "panel:offline+recorded:x",
        "cascade:offline",
        "cascade:offline@0.5",
        "cascade:offline>openai:a@",
        "cascade:offline>openai:a@high",
        "cascade:offline>openai:a@0",
        "cascade:offline>openai:a@1.01",
        "cascade:offline>openai:a@nan",
        "cascade:offline>openai:a>openai:b@0.5",
        "checked:openai:a,",
        "checked:openai:a@0.9",
        "checked:openai:a>cascade:offline>openai:b@0.9",
    ],
)
def test_what_cannot_be_read_is_refused_with_the_form(uri: str) -> None:
    with pytest.raises(SetupError) as caught:
        composition(uri)
    assert caught.value.code == "E0410"
    assert "panel:offline+openai:MODEL" in str(caught.value)


def test_replies_go_back_to_the_member_that_asked() -> None:
    judge = panel(llm("a"), llm("b"))
    flow: Generator[Any, Any, Any] = judge.answer((REQUEST,))
    assert isinstance(next(flow), Recall)
    asked = flow.send(())
    assert isinstance(asked, Ask)

    def reply(call: ChatCall | MatchCall, rating: str) -> ChatReply:
        assert isinstance(call, ChatCall)
        (name,) = call.schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]  # type: ignore[index]
        return ChatReply(
            f'{{"verdicts": [{{"id": "{name}", "reasoning": "{rating}", "rating": "{rating}"}}]}}'
        )

    kept = flow.send(
        tuple(reply(call, rating) for call, rating in zip(asked.calls, ("yes", "no"), strict=True))
    )
    assert [j.rating for j in kept.judgments] == ["yes", "no"]
    assert [j.judge for j in kept.judgments] == [
        m.fingerprint("chunk_relevance") for m in judge.members
    ]


def test_votes_off_the_scale_and_judgments_without_a_verdict_do_not_count() -> None:
    scale = RubricRegistry.default().get("groundedness").scale
    assert scale is not None
    odd = Judgment("k", "j", "groundedness@2", Status.JUDGED, 99, 1.0, passes=True)
    empty = Judgment("k", "j", "groundedness@2", Status.JUDGED)
    for votes in ([odd, odd], [empty, empty], [odd, empty]):
        found = verdict([(f"openai:{i}", judgment) for i, judgment in enumerate(votes)], scale)
        assert found.status is Status.FAILED
        assert found.rating is None
