"""How single questions are asked from a notebook: `ragassay.judge.groundedness(...)`, synchronous
and asynchronous.
"""

import asyncio
from typing import Any

import pytest

import ragassay
from ragassay.core import DataError, SetupError, Status, Verdict
from ragassay.metrics import catalogue
from ragassay.testing import LLMServer

BRIDGE = {
    "response": "The bridge was opened in 1937.",
    "contexts": ["The bridge was opened in 1937."],
}


@pytest.fixture(autouse=True)
def _own_store(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RAGASSAY_STORE", str(tmp_path / "store.db"))


def test_a_score_comes_back_as_a_run_would_hold_it() -> None:
    score = ragassay.judge.groundedness(**BRIDGE)
    assert (score.metric, score.status, score.verdict) == (
        "groundedness",
        Status.JUDGED,
        Verdict.PASS,
    )
    assert score.parts[0].evidence[0].quote == "The bridge was opened in 1937."
    with ragassay.evaluate([{"id": "a", **BRIDGE}], "groundedness") as run:
        assert run["a"].score("groundedness") == score


def test_every_metric_of_the_catalogue_is_a_function_with_its_formula_as_documentation() -> None:
    for name, kind in catalogue().items():
        function = getattr(ragassay.judge, name)
        assert kind.declaration.formula in function.__doc__
        assert name in dir(ragassay.judge)
        assert callable(getattr(ragassay.judge.aio, name))


def test_parameters_of_the_metric_are_arguments() -> None:
    assert ragassay.judge.groundedness(pass_mark=0.25, **BRIDGE).pass_mark == 0.25
    found = ragassay.judge.ndcg_at_k(contexts=[{"text": "", "id": "a"}], relevant_ids=["a"], k=3)
    assert (found.metric, found.value) == ("ndcg_at_k(k=3)", 1.0)


def test_it_works_in_a_running_loop_and_can_be_awaited() -> None:
    async def notebook():
        blocking = ragassay.judge.groundedness(**BRIDGE)
        awaited = await ragassay.judge.aio.groundedness(**BRIDGE)
        return blocking, awaited

    blocking, awaited = asyncio.run(notebook())
    assert blocking == awaited


def test_asking_again_asks_nobody_and_a_run_finds_it_too() -> None:
    with LLMServer() as server:
        asked: dict[str, Any] = {"judge": "openai:mock", "base_url": server.url}
        ragassay.judge.groundedness(**BRIDGE, **asked)
        ragassay.judge.groundedness(**BRIDGE, **asked)
        assert server.stats()["calls"] == 1
        ragassay.evaluate([{"id": "a", **BRIDGE}], "groundedness", **asked).close()
        assert server.stats()["calls"] == 1
        ragassay.judge.groundedness(**BRIDGE, **asked, cache=False)
        assert server.stats()["calls"] == 2


def test_a_call_that_fails_is_a_status_with_a_reason_and_raises_nothing() -> None:
    with LLMServer(fault_rates={"500": 1.0}) as server:
        score = ragassay.judge.answer_relevance(
            question="q?", response="r", judge="openai:mock", base_url=server.url, attempts=1
        )
    assert (score.status, score.value, score.verdict) == (Status.FAILED, None, Verdict.UNDECIDED)
    assert score.reason


def test_a_field_that_lacks_makes_it_not_applicable() -> None:
    score = ragassay.judge.answer_relevance(response="r")
    assert (score.status, score.reason) == (Status.NOT_APPLICABLE, "the row has no question")


def test_own_metrics_and_printed_names_are_taken_by_score() -> None:
    @ragassay.metric
    def short(response):
        return len(response) < 10

    assert ragassay.judge.score(short, response="yes").value == 1.0
    assert ragassay.judge.score("faithfulness(mode=binary)", **BRIDGE).value == 1.0


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: ragassay.judge.groundednes, AttributeError, "groundedness"),
        (lambda: ragassay.judge.groundedness(respons="x"), SetupError, "response"),
        (lambda: ragassay.judge.groundedness(response=3, contexts=["a"]), DataError, "response"),
        (lambda: ragassay.judge.groundedness(pass_mark=7, **BRIDGE), SetupError, "from 0 to 1"),
        (lambda: ragassay.judge.groundedness(judge="nobody", **BRIDGE), SetupError, "nobody"),
    ],
)
def test_a_mistake_says_what_was_meant(ask, error, said) -> None:
    with pytest.raises(error, match=said):
        ask()


def test_judges_and_arguments_may_be_called_as_mlflow_calls_them() -> None:
    ours = ragassay.judge.answer_relevance(
        question="When was the bridge opened?", response="In 1937."
    )
    theirs = ragassay.judge.relevance_to_query(
        request="When was the bridge opened?", response="In 1937."
    )
    assert theirs == ours
    context = [{"doc_uri": "a", "content": "The bridge was opened in 1937."}]
    for given in (
        {"request": "When?", "retrieved_context": context},
        {"user_input": "When?", "retrieved_contexts": [context[0]["content"]]},
    ):
        found = ragassay.judge.chunk_relevance(**given)
        assert (found.metric, len(found.parts)) == ("chunk_relevance", 1)
    matched = ragassay.judge.exact_match(response="1937", expected_response="1937")
    assert matched.value == 1.0
    assert "relevance_to_query" in dir(ragassay.judge)
    assert ragassay.judge.is_grounded(**BRIDGE) == ragassay.judge.groundedness(**BRIDGE)
    assert "kept" in (ragassay.judge.guideline_adherence.__doc__ or "")


def test_the_judges_of_mlflow_take_the_arguments_that_mlflow_documents() -> None:
    with LLMServer(keep_bodies=True) as server:
        asked = {"model": "openai:/mock", "base_url": server.url, "extra_headers": {"X-Team": "a"}}
        safe = ragassay.judge.is_safe(content="I am a happy person.", name="calm", **asked)
        assert (safe.metric, safe.value) == ("calm", 1.0)
        assert "I am a happy person." in str(server.bodies[-1])
        context = {"request": "Who?", "response": "Hello.", "tier": {"level": "gold"}}
        polite = ragassay.judge.meets_guidelines(guidelines="Be kind.", context=context, **asked)
        assert [part.text for part in polite.parts] == ["Be kind."]
        body = str(server.bodies[-1])
        assert "Who?" in body
        assert "tier: " in body
        assert "gold" in body
        named = ragassay.judge.guideline_adherence(
            request="Who?",
            guidelines={"tone": ["Be kind."], "length": ["Be short.", "One sentence."]},
            guidelines_context={"lookup": "3 rows"},
            assessment_name="rules",
            **asked,
        )
        assert (named.metric, len(named.parts)) == ("rules", 3)
        # Without a response the context is what is judged.
        assert "lookup: 3 rows" in str(server.bodies[-1])


def test_a_field_under_two_names_is_refused() -> None:
    with pytest.raises(SetupError, match="content and response say the same"):
        ragassay.judge.is_safe(content="a", response="b")
    with pytest.raises(SetupError, match="Two arguments give the row's question"):
        ragassay.judge.answer_relevance(question="a", request="b", response="c")
