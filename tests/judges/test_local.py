"""The judge over a local model, with the test in the place of runner and model."""

from __future__ import annotations

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    SetupError,
    Status,
)
from ragassay.judges import LocalJudge, RubricRegistry, answers_task

RUBRICS = RubricRegistry.default()
URI = "local:models/m"


def judge(task: str = "support", cut: float = 0.5) -> LocalJudge:
    return LocalJudge(URI, "v1", task, RUBRICS, cut)


def claim(text: str, *contexts: str, rubric: str = "groundedness", **more: object) -> Request:
    inputs = {"question": "q?", "response": "r", "contexts": contexts, "claim": text, **more}
    return Request(rubric, inputs)  # type: ignore[arg-type]


def run(
    asked: LocalJudge, *requests: Request, replies: tuple[Reply, ...] = ()
) -> tuple[list[MatchCall], list[Judgment]]:
    """The calls and, in the order of the Requests, the Judgments."""
    calls: list[MatchCall] = []
    flow = asked.answer(requests)
    try:
        step = next(flow)
        while True:
            assert isinstance(step, Ask)
            calls += [call for call in step.calls if isinstance(call, MatchCall)]
            step = flow.send(replies)
    except StopIteration as end:
        by_key = {judgment.key: judgment for judgment in end.value}
    return calls, [by_key[request.key] for request in requests]


def test_calls_name_the_model_that_they_are_for() -> None:
    calls, _ = run(judge(), claim("c", "a", "b"), replies=(MatchReply(0.9),))
    assert calls == [MatchCall("support", "c", ("a", "b"), "q?", URI)]
    relevance = judge("relevance")
    chunk = Request("context_relevance", {"question": "q?", "context": "a"})
    calls, _ = run(relevance, chunk, replies=(MatchReply(0.9),))
    assert calls == [MatchCall("relevance", "q?", ("a",), model=URI)]
    answer = Request("answer_relevance", {"question": "q?", "response": "a"})
    calls, _ = run(judge("answer"), answer, replies=(MatchReply(0.9),))
    assert calls == [MatchCall("answer", "q?", ("a",), model=URI)]
    sources = claim("c", "a", "b", rubric="claim_sources")
    calls, _ = run(judge(), sources, replies=(MatchReply(0.9), MatchReply(0.1)))
    assert [call.model for call in calls] == [URI, URI]


@pytest.mark.parametrize(
    ("cut", "probability", "rating"),
    [
        (0.5, 0.24, 0),
        (0.5, 0.25, 1),
        (0.5, 0.5, 2),
        (0.5, 0.75, 3),
        (0.3, 0.14, 0),
        (0.3, 0.3, 2),
        (0.8, 0.79, 1),
        (0.8, 0.8, 3),
    ],
)
def test_the_probability_is_cut_into_ratings(cut: float, probability: float, rating: int) -> None:
    _, (judgment,) = run(judge(cut=cut), claim("c", "a"), replies=(MatchReply(probability),))
    assert (judgment.rating, judgment.probability) == (rating, probability)
    assert judgment.passes == (rating >= 2)


def test_the_rationale_says_what_the_model_said() -> None:
    reply = MatchReply(0.2, features={"contradicted": 0.9, "windows": 3.0}, unsupported=((4, 9),))
    _, (judgment,) = run(judge(), claim("the tower", "a"), replies=(reply,))
    assert judgment.rationale == (
        "Probability that the passages support the claim: 0.20 (passes from 0.50). Rather"
        ' contradicted by the passages. Words without support: "tower". Read in 3 parts, of which'
        " the best counts."
    )
    # It quotes only where it read in parts: no quote does not mean that nothing was found.
    assert judgment.flags == ()


@pytest.mark.parametrize(
    ("probability", "contradicted", "rating"),
    [(0.6, 0.9, "stated"), (0.2, 0.9, "contradicted"), (0.2, 0.1, "not_stated")],
)
def test_two_texts_are_compared_at_its_cut(
    probability: float, contradicted: float, rating: str
) -> None:
    request = Request("entailment", {"question": "q?", "claim": "c", "text": "t"})
    reply = MatchReply(probability, features={"contradicted": contradicted})
    _, (judgment,) = run(judge(), request, replies=(reply,))
    assert judgment.rating == rating


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (CallFailed("too_long", "the passages take 99 windows"), Status.FAILED),
        (CallFailed("bad_reply", "no finite number"), Status.FAILED),
        (MatchReply(float("nan")), Status.UNPARSED),
        (MatchReply(1.5), Status.UNPARSED),
    ],
)
def test_a_row_that_the_model_cannot_answer_is_lost_with_the_reason(
    reply: Reply, status: Status
) -> None:
    _, (judgment,) = run(judge(), claim("c", "a"), replies=(reply,))
    assert (judgment.status, judgment.rating) == (status, None)
    if isinstance(reply, CallFailed):
        assert judgment.reason == reply.message


@pytest.mark.parametrize(
    ("task", "rubric"),
    [
        ("support", "context_relevance"),
        ("support", "correctness"),
        ("support", "claims"),
        ("relevance", "groundedness"),
        ("answer", "context_relevance"),
    ],
)
def test_a_rubric_of_another_task_is_an_error(task: str, rubric: str) -> None:
    with pytest.raises(SetupError) as caught:
        judge(task).rubric_version(rubric)
    assert caught.value.code == "E0203"
    assert f"classifier for {task}" in caught.value.why
    assert "--metrics" in caught.value.fix


def test_whether_a_response_declines_is_settled_by_rule_for_any_task() -> None:
    declines = Request("answer_relevance", {"question": "q?", "response": "I don't know."})
    answers = Request("answer_relevance", {"question": "q?", "response": "In Paris."})
    calls, (first, second) = run(judge(), declines, answers)
    assert calls == []
    assert (first.status, first.flags) == (Status.JUDGED, ("declined",))
    assert (second.status, second.rating) == (Status.NOT_APPLICABLE, None)
    assert "classifier for support" in second.reason


@pytest.mark.parametrize(
    ("task", "rubrics", "answered"),
    [
        ("support", ("groundedness", "answer_relevance"), True),
        ("support", ("groundedness", "entailment", "similarity"), True),
        ("support", ("answer_relevance",), False),
        ("support", ("groundedness", "context_relevance"), False),
        ("relevance", ("chunk_relevance",), True),
        ("answer", ("answer_relevance",), True),
        ("answer", ("similarity",), True),
        ("support", ("correctness",), False),
    ],
)
def test_which_metrics_a_model_of_a_task_can_judge(
    task: str, rubrics: tuple[str, ...], answered: bool
) -> None:
    assert answers_task(task, rubrics) is answered


def test_an_own_rubric_cannot_be_followed(tmp_path) -> None:
    from pathlib import Path

    import ragassay.judges.rubrics as packaged

    text = (Path(packaged.__path__[0]) / "groundedness.md").read_text(encoding="utf-8")
    (tmp_path / "groundedness.md").write_text(text.replace("version: ", "version: 9"))
    registry = RubricRegistry.default().with_files([tmp_path / "groundedness.md"])
    with pytest.raises(SetupError, match="your own file"):
        LocalJudge(URI, "v1", "support", registry).fingerprint("groundedness")


def test_the_fingerprint_is_of_the_model_the_task_and_the_cut_and_not_of_the_name() -> None:
    same = LocalJudge("local:elsewhere", "v1", "support", RUBRICS, 0.5)
    assert same.fingerprint("groundedness") == judge().fingerprint("groundedness")
    others = (
        LocalJudge(URI, "v2", "support", RUBRICS, 0.5),
        judge(cut=0.4),
        judge("answer"),
    )
    rubric = "answer_relevance"
    fingerprints = {each.fingerprint(rubric) for each in (judge(), *others)}
    assert len(fingerprints) == 4


def test_nothing_is_known_of_its_agreement() -> None:
    assert judge().agreement == "unmeasured on data like yours"
