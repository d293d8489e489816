"""What a run says of its judge: whether it favours the generator, and which hosts saw what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.report import summary_json
from ragassay.runs.governance import self_preference
from ragassay.testing import LLMServer

ROWS = [
    {
        "id": "r1",
        "question": "How high is the tower?",
        "contexts": ["The tower is 330 metres high.", "Trees grow there."],
        "response": "The tower is 330 metres high.",
        "reference": "330 metres",
    }
]
PANEL = "panel:openai:gpt-4o+anthropic:claude-sonnet-4-5"


@pytest.mark.parametrize(
    ("judge", "generator", "beginning"),
    [
        ("openai:gpt-4o", "openai/gpt-4o", "openai:gpt-4o judges the answers of its own model"),
        (
            "openai:gpt-4.1-mini",
            "gpt-4o",
            "openai:gpt-4.1-mini and the generator gpt-4o are of one family (OpenAI)",
        ),
        (
            PANEL,
            "claude-opus-4-1",
            "anthropic:claude-sonnet-4-5 and the generator claude-opus-4-1 are of one family",
        ),
        ("openai:my-model", "my-model", "openai:my-model judges the answers of its own model"),
    ],
)
def test_a_judge_of_the_generators_family_is_said(
    judge: str, generator: str, beginning: str
) -> None:
    assert self_preference(judge, generator).startswith(beginning)


def test_a_panel_of_several_families_is_named_unless_it_judges_already() -> None:
    assert "--judge panel:A+B+C" in self_preference("openai:gpt-4o", "gpt-4.1")
    assert "--judge panel:A+B+C" in self_preference("panel:openai:gpt-4o+openai:o3", "gpt-4.1")
    of_two = self_preference(PANEL, "gpt-4.1")
    assert of_two.endswith(f"other members of {PANEL} are of other families")


@pytest.mark.parametrize(
    ("judge", "generator"),
    [
        ("openai:gpt-4o", None),
        ("openai:gpt-4o", " "),
        ("openai:gpt-4o", "claude-sonnet-4-5"),
        ("openai:gpt-4o", "our-own-model"),
        ("offline", "gpt-4o"),
        ("local:/models/llama-checker", "llama-3.3-70b"),
    ],
)
def test_nothing_is_said_of_other_families_unknown_ones_and_models_that_write_nothing(
    judge: str, generator: str | None
) -> None:
    assert self_preference(judge, generator) == ""


def evaluated(server: LLMServer, folder: Path, metrics: str, **more: Any) -> Any:
    return ragassay.evaluate(
        ROWS,
        metrics,
        judge="openai:mock",
        base_url=server.url,
        store=folder / "s.db",
        controls="off",
        **more,
    )


def test_a_run_tells_and_keeps_both(tmp_path: Path) -> None:
    told: list[str] = []
    with LLMServer() as server:
        with evaluated(
            server, tmp_path, "answer_relevance", generator="mock", tell=told.append
        ) as run:
            summary = run.summary
            page = tmp_path / "report.html"
            run.html(page)
        host = server.url.split("/")[2]
    sentence = self_preference("openai:mock", "mock")
    assert sentence
    assert told.count(sentence) == 1
    stored: Any = summary_json(summary)["manifest"]
    assert stored["judge"]["self_preference"] == sentence
    assert stored["judge"]["sent"] == {host: ["question", "response"]}
    assert f"Sent to {host}</dt><dd>question, response" in page.read_text()


@pytest.mark.parametrize(
    ("metrics", "fields"),
    [
        ("answer_relevance", ("question", "response")),
        ("context_relevance", ("question", "contexts")),
        ("groundedness", ("question", "contexts", "response")),
        ("correctness", ("question", "response", "reference", "expected_facts")),
        ("ndcg_at_k", ()),
        ("semantic_similarity", ()),
    ],
)
def test_the_fields_are_those_that_the_metrics_may_send(
    tmp_path: Path, metrics: str, fields: tuple[str, ...]
) -> None:
    with LLMServer() as server, evaluated(server, tmp_path, metrics) as run:
        sent = run.summary.manifest.judge.sent
        bodies = server.bodies
    assert tuple(sent.values()) == ((fields,) if fields else ())
    assert bool(bodies) == bool(fields)


def test_the_offline_judge_sends_nothing(tmp_path: Path) -> None:
    with ragassay.evaluate(ROWS, "groundedness", store=tmp_path / "s.db") as run:
        assert run.summary.manifest.judge.sent == {}
