"""A second judge that disputes verdicts: when it speaks up, what stands unchanged, and what is
said.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    ChatCall,
    Judgment,
    Keep,
    MatchReply,
    Recall,
    Request,
    Status,
)
from ragassay.judges import CheckedJudge, LLMJudge, OfflineJudge, RubricRegistry, composition
from ragassay.judges.composed.cross_check import DISPUTED

RUBRICS = RubricRegistry.default()
MAIN, CHECK = (
    OfflineJudge("main", {}, RUBRICS),
    OfflineJudge("check", {}, RUBRICS, {"relevance": 0.4}),
)
JUDGE = CheckedJudge("checked:a>offline@0.9", MAIN, CHECK, 0.9, RUBRICS)
REQUEST = Request(
    "chunk_relevance",
    {"question": "When was the bridge built?", "context": "It was built in 1932."},
)


def play(
    judge: CheckedJudge, request: Request, *answers: float | None
) -> tuple[Judgment, list[Judgment], int]:
    """Play the runner: the members' calls come in their order, and get these probabilities; None
    fails.
    """
    beside, chats, left = list[Judgment](), 0, list(answers)
    flow: Generator[Any, Any, Any] = judge.answer((request,))
    try:
        step = next(flow)
        while True:
            sent: tuple[Any, ...] = ()
            if isinstance(step, Keep):
                assert step.beside
                beside += step.judgments
            elif isinstance(step, Ask):
                replies: list[MatchReply | CallFailed] = []
                for call in step.calls:
                    chats += isinstance(call, ChatCall)
                    given = left.pop(0)
                    replies.append(
                        CallFailed("server", "down") if given is None else MatchReply(given)
                    )
                sent = tuple(replies)
            else:
                assert isinstance(step, Recall)
            step = flow.send(sent)
    except StopIteration as end:
        (settled,) = end.value
    return settled, beside, chats


@pytest.mark.parametrize(
    ("main", "check", "disputed"),
    [
        (0.6, 0.1, True),
        (0.6, 0.11, False),
        (0.6, 0.95, False),
        (0.2, 0.9, True),
        (0.2, 0.89, False),
        (0.2, 0.3, False),
    ],
)
def test_only_a_sure_opposite_disputes_and_the_verdict_stands(
    main: float, check: float, disputed: bool
) -> None:
    settled, beside, _ = play(JUDGE, REQUEST, main, check)
    assert (settled.rating, settled.probability) == ("yes" if main >= 0.5 else "no", main)
    assert settled.flags == ((DISPUTED,) if disputed else ())
    assert ("Disputed: offline says" in settled.rationale) is disputed
    assert settled.judge == JUDGE.fingerprint("chunk_relevance")
    assert {j.judge for j in beside} == {m.fingerprint("chunk_relevance") for m in (MAIN, CHECK)}
    assert settled.spend.calls == 0


def test_a_verdict_that_one_of_them_lost_is_neither_made_up_nor_disputed() -> None:
    settled, _, _ = play(JUDGE, REQUEST, None, 0.01)
    assert (settled.status, settled.rating, settled.flags) == (Status.FAILED, None, ())
    settled, _, _ = play(JUDGE, REQUEST, 0.9, None)
    assert (settled.rating, settled.flags) == ("yes", ())


def test_what_the_second_judge_cannot_answer_is_the_main_ones_alone() -> None:
    llm = LLMJudge("openai:m", RUBRICS)
    judge = CheckedJudge("checked:openai:m>offline@0.9", llm, CHECK, 0.9, RUBRICS)
    settled, beside, chats = play(
        judge, Request("safety", {"question": "q", "response": "It was built in 1932."}), None
    )
    assert (settled.status, chats, len(beside)) == (Status.FAILED, 1, 1)
    assert judge.rubric_version("safety") == llm.rubric_version("safety")


def test_the_threshold_is_part_of_the_fingerprint_only_where_it_decides() -> None:
    llm = LLMJudge("openai:m", RUBRICS)
    one, other = (CheckedJudge("x", llm, CHECK, threshold, RUBRICS) for threshold in (0.9, 0.8))
    assert one.fingerprint("chunk_relevance") != other.fingerprint("chunk_relevance")
    assert one.fingerprint("claims") == other.fingerprint("claims")


def test_its_uri_names_the_judge_the_second_one_and_the_confidence() -> None:
    composed = composition("checked:openai:my@model > offline@0.9")
    assert composed is not None
    assert (composed.rule, composed.members, composed.threshold) == (
        "checked",
        ("openai:my@model", "offline"),
        0.9,
    )
