"""The examples of five frameworks, run with the real libraries and a model on this machine.

What RagAssay reads of their outputs is what they were asked, retrieved and answered. They run where
the libraries are installed (`make test-frameworks`), and are skipped elsewhere.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.testing import LLMServer

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "examples" / "frameworks" / "questions.jsonl"
LIBRARIES = {
    "langchain_app": "langchain_openai",
    "langgraph_app": "langgraph",
    "llamaindex_app": "llama_index.llms.openai_like",
    "haystack_app": "haystack",
    "openai_app": "openai",
}
HAS_SCORES = ("llamaindex_app", "haystack_app", "openai_app")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    monkeypatch.syspath_prepend(str(ROOT))
    from examples.frameworks.local_model import first_passage

    with LLMServer(answer=first_passage) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        # They would like to report home.
        monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
        monkeypatch.setenv("LANGSMITH_TRACING", "false")
        yield server


def passages() -> dict[str, str]:
    from examples.frameworks.handbook import PASSAGES

    return PASSAGES


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_an_example_returns_is_read_as_question_response_and_contexts(
    name: str, model: LLMServer, tmp_path: Path
) -> None:
    pytest.importorskip(LIBRARIES[name])
    application: Any = importlib.import_module(f"examples.frameworks.{name}")
    with ragassay.evaluate(
        str(QUESTIONS),
        "groundedness,document_recall,app_latency",
        app=application.answer,
        store=tmp_path / "s.db",
    ) as run:
        rows = {row.id: row for row in run.rows()}
        assert [row.sample.error for row in rows.values() if row.sample] == [None] * 3
        expected = {"founded": "founding", "books": "loans", "card": "card"}
        for id_, document in expected.items():
            sample = rows[id_].sample
            assert sample is not None
            assert sample.response == passages()[document]
            assert sample.contexts is not None
            assert len(sample.contexts) == 2
            first = sample.contexts[0]
            assert (first.id, first.text) == (document, passages()[document])
            assert (first.score is not None) == (name in HAS_SCORES)
            assert sample.usage is not None
            assert sample.usage.latency is not None
            recall = rows[id_].score("document_recall")
            grounded = rows[id_].score("groundedness")
            assert recall is not None
            assert grounded is not None
            assert (recall.value, grounded.value) == (1.0, 1.0)
    assert model.calls == 3
    if name == "openai_app":
        usage = rows["books"].sample.usage  # type: ignore[union-attr]
        assert usage is not None
        assert usage.total_tokens == (usage.input_tokens or 0) + (usage.output_tokens or 0) > 0


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_example_runs_from_the_command_line_as_its_readme_says(
    name: str, model: LLMServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(LIBRARIES[name])
    import os
    import subprocess

    done = subprocess.run(
        [
            *(sys.executable, "-m", "ragassay", "evaluate", str(QUESTIONS)),
            *("--app", f"examples.frameworks.{name}:answer", "--metrics", "groundedness"),
            *("--store", str(tmp_path / "s.db"), "--judge", "openai:mock"),
            *("--base-url", model.url),
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 of 3 rows pass")


def test_the_pinned_versions_are_those_that_are_installed() -> None:
    from importlib.metadata import PackageNotFoundError, version

    lines = (QUESTIONS.parent / "requirements.txt").read_text().split()
    for line in lines:
        package, _, pinned = line.partition("==")
        try:
            installed = version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed here")
        assert installed == pinned
