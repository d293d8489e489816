"""An application is guarded: a bad chunk is left out, a made-up answer is held back, and a judge
that hangs holds nobody up.
"""

import asyncio
import time
from typing import Any

import pytest

import ragassay
from ragassay.testing import LLMServer

CHUNKS = [
    "The harbour bridge opened to traffic in May 1932.",
    "The zoo feeds its two red pandas at noon.",
    "The harbour bridge opened after eight years of work.",
]
QUESTION = "When did the harbour bridge open?"


def test_the_bad_chunk_and_the_made_up_number_do_not_get_through(monkeypatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    given: list[list[str]] = []

    @ragassay.guard.context_filter(
        "context_relevance", at_least=0.5, on_error="pass", deadline_ms=20_000
    )
    def retrieve(question: str) -> list[str]:
        return CHUNKS

    def generate(question: str, contexts: list[str], figure: str) -> str:
        given.append(contexts)
        return f"The harbour bridge opened in {figure}."

    @ragassay.guard.block_output("groundedness", at_least=0.5, on_error="block", deadline_ms=20_000)
    def answer(question: str, figure: str) -> str:
        return generate(question, retrieve(question), figure)

    ragassay.guard.warm()
    assert answer(QUESTION, "1932") == "The harbour bridge opened in 1932."
    assert given == [[CHUNKS[0], CHUNKS[2]]]  # the bad one is gone, the others keep their order
    with pytest.raises(ragassay.guard.Blocked) as blocked:
        answer(QUESTION, "1957")
    result = blocked.value.result
    assert (result.verdict, result.judged, result.score) == ("block", True, 0.0)
    assert result.reason.startswith("groundedness is 0.00, at least 0.5 is asked: ")
    assert "1957" in result.reason


def test_a_judge_that_hangs_is_not_waited_for_and_on_error_decides() -> None:
    with LLMServer(latency=30) as server:
        judge: dict[str, Any] = {"judge": "openai:mock", "base_url": server.url}

        @ragassay.guard.context_filter(
            "context_relevance", at_least=0.5, on_error="pass", deadline_ms=200, **judge
        )
        async def retrieve(question: str) -> list[str]:
            return CHUNKS

        @ragassay.guard.block_output(
            "groundedness",
            at_least=0.5,
            on_error="block",
            deadline_ms=300,
            instead="I cannot answer this now.",
            **judge,
        )
        async def answer(question: str) -> dict[str, object]:
            contexts = await retrieve(question)
            return {"answer": "It opened in 1932.", "contexts": contexts}

        results: list[ragassay.guard.GuardResult] = []
        check = ragassay.guard.block_output(
            "groundedness",
            at_least=0.5,
            on_error="pass",
            deadline_ms=300,
            on_result=results.append,
            **judge,
        ).check
        # The first call of a process also sets the judge up.
        check(response="It opened in 1932.", contexts=CHUNKS)
        started = time.perf_counter()
        assert asyncio.run(retrieve(QUESTION)) == CHUNKS
        said: object = asyncio.run(answer(QUESTION))
        assert said == "I cannot answer this now."
        assert time.perf_counter() - started < 10
        result = check(response="It opened in 1932.", contexts=CHUNKS)
        assert (result.verdict, result.judged, result.score) == ("pass", False, None)
        assert result.reason == (
            "not judged, so on_error='pass' decides: the judge gave no verdict within 300 ms"
        )
        assert 300 <= result.latency_ms < 5000
        assert results[-1] is result


def test_a_streamed_answer_ends_before_the_sentence_that_is_made_up() -> None:
    pieces = ["The harbour bri", "dge opened in May 1932. It cost ", "77 million pounds", ". Bye."]
    released: list[str] = []
    sentences = ragassay.guard.stream(
        iter(pieces),
        "groundedness",
        at_least=0.5,
        on_error="block",
        deadline_ms=20_000,
        contexts=CHUNKS,
    )
    with pytest.raises(ragassay.guard.Blocked, match="stream with groundedness"):
        released.extend(sentences)
    assert "".join(released) == "The harbour bridge opened in May 1932. "
