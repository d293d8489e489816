"""Applications as others build them: those of the frameworks' own tutorials, in words of our own,
run with the real libraries and a model on this machine.

The examples of `examples/frameworks` are written for RagAssay; these are not. What they return is
judged as it is. They run where the libraries are installed (`make test-frameworks`), and are
skipped elsewhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragassay
from frameworks.tutorials.library import PASSAGES, QUESTIONS, VAGUE, reply
from ragassay.core import Sample
from support.scripted_model import ScriptedModel

ROWS = [{"id": name, "question": asked} for name, (asked, _) in QUESTIONS.items()]
LIBRARIES = {
    "langchain": "langchain_openai",
    "langgraph": "langgraph",
    "llamaindex": "llama_index.llms.openai_like",
    "haystack": "haystack",
    "openai": "openai",
}
WITH_IDS = (
    ("langchain", "chain_with_sources"),
    ("langgraph", "two_steps"),
    ("langgraph", "conversation"),
    ("haystack", "replies_and_documents"),
    ("haystack", "embedded"),
    ("openai", "functions"),
)
"""Applications whose contexts have the ids of the documents."""
WITHOUT_IDS = (
    # A retriever's tool gives text and no more; LlamaIndex cuts documents into nodes of their own
    # ids.
    ("langgraph", "agentic"),
    ("llamaindex", "query_engine"),
    ("llamaindex", "streaming_engine"),
    ("llamaindex", "chat_engine"),
    ("llamaindex", "agent"),
    ("llamaindex", "agent_of_text"),
)
WITHOUT_CONTEXTS = (("langchain", "chain_of_text"), ("haystack", "replies_only"))

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ScriptedModel(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        # They would like to report home.
        monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
        monkeypatch.setenv("LANGSMITH_TRACING", "false")
        yield


def application(framework: str, name: str) -> Callable[[str], Any]:
    pytest.importorskip(LIBRARIES[framework])
    module = importlib.import_module(f"frameworks.tutorials.{framework}_tutorials")
    function: Callable[[str], Any] = getattr(module, name)
    return function


def judged(app: Callable[[str], Any], rows: list[dict[str, str]], folder: Path) -> dict[str, Any]:
    """Id -> the sample of a row and its score of groundedness."""
    with ragassay.evaluate(rows, "groundedness", app=app, store=folder / "s.db") as run:
        return {row.id: (row.sample, row.score("groundedness")) for row in run.rows()}


@pytest.mark.parametrize(("framework", "name"), [*WITH_IDS, *WITHOUT_IDS])
def test_what_a_tutorial_returns_is_read_and_judged(
    framework: str, name: str, tmp_path: Path
) -> None:
    found = judged(application(framework, name), ROWS, tmp_path)
    assert set(found) == set(QUESTIONS)
    for id_, (question, passage) in QUESTIONS.items():
        sample, grounded = found[id_]
        assert isinstance(sample, Sample)
        assert sample.error is None
        assert sample.question == question
        assert sample.response == PASSAGES[passage]
        assert sample.contexts
        first, *others = sample.contexts
        assert first.text == PASSAGES[passage]
        assert all(other.text in PASSAGES.values() for other in others)
        if (framework, name) in WITH_IDS:
            assert first.id == passage
        assert grounded is not None
        assert grounded.value == 1.0


@pytest.mark.parametrize(("framework", "name"), WITHOUT_CONTEXTS)
def test_a_tutorial_that_keeps_no_passages_has_its_answer_read_and_is_unscored_with_a_reason(
    framework: str, name: str, tmp_path: Path
) -> None:
    found = judged(application(framework, name), ROWS, tmp_path)
    for id_, (_, passage) in QUESTIONS.items():
        sample, grounded = found[id_]
        assert (sample.response, sample.contexts) == (PASSAGES[passage], None)
        assert grounded is None or grounded.value is None


def test_a_graph_that_asks_again_is_judged_by_what_it_found_last(tmp_path: Path) -> None:
    agentic = application("langgraph", "agentic")
    state = agentic(VAGUE)
    kinds = [message.type for message in state["messages"]]
    assert kinds == ["human", "ai", "tool", "human", "ai", "tool", "ai"]
    assert state["messages"][2].content != PASSAGES["fee"]
    found = judged(agentic, [{"id": "vague", "question": VAGUE}], tmp_path)
    sample, grounded = found["vague"]
    assert (sample.question, sample.response) == (VAGUE, PASSAGES["fee"])
    assert [context.text for context in sample.contexts] == [PASSAGES["fee"]]
    assert grounded.value == 1.0
