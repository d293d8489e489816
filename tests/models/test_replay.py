"""Recorded judgments: the same figures without a server and a key, and nothing asked anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragassay
from ragassay.core import EnvironmentFailure, SetupError
from ragassay.testing import LLMServer

ROWS = [
    {
        "id": "books",
        "question": "How long may a book be kept?",
        "contexts": ["Books may be kept for four weeks."],
        "response": "You can keep a book for six weeks.",
    }
]
METRICS = "groundedness,answer_relevance"


def judged(folder: Path, url: str, rows=ROWS, **options):
    return ragassay.evaluate(
        rows, METRICS, judge="openai:mock", base_url=url, store=folder / "s.db", **options
    )


def test_recorded_judgments_give_the_same_scores_and_nothing_is_sent(tmp_path: Path) -> None:
    with LLMServer() as server:
        with judged(tmp_path, server.url) as run:
            recorded = [score.value for score in run["books"].scores]
        asked = server.calls
        with judged(tmp_path, server.url, replay=True) as run:
            assert [score.value for score in run["books"].scores] == recorded
            assert run.ledger.confirmed.calls == 0
        assert server.calls == asked
    # The server is gone.
    with judged(tmp_path, server.url, replay=True, no_network=True) as run:
        assert [score.value for score in run["books"].scores] == recorded


def test_a_judgment_that_is_not_recorded_is_an_error_that_names_the_row(tmp_path: Path) -> None:
    with LLMServer() as server:
        judged(tmp_path, server.url).close()
        server.reset()
        other = [*ROWS, {**ROWS[0], "id": "new", "response": "Three weeks."}]
        with pytest.raises(EnvironmentFailure) as caught:
            judged(tmp_path, server.url, other, replay=True)
        assert caught.value.code == "E0606"
        assert caught.value.where.startswith("row new, rubric ")
        assert (server.calls, server.preflights) == (0, 0)


def test_no_key_is_needed_for_the_providers_own_service(tmp_path: Path) -> None:
    ragassay.evaluate(ROWS, METRICS, store=tmp_path / "s.db").close()
    with pytest.raises(EnvironmentFailure) as caught:
        ragassay.evaluate(ROWS, METRICS, judge="openai:x", store=tmp_path / "s.db", replay=True)
    assert caught.value.code == "E0606"


def test_the_offline_judge_judges_nothing_anew(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with ragassay.evaluate(ROWS, METRICS, store=store) as run:
        recorded = run["books"].scores
    with ragassay.evaluate(ROWS, METRICS, store=store, replay=True) as run:
        assert run["books"].scores == recorded
    changed = [{**ROWS[0], "response": "Three weeks."}]
    with pytest.raises(EnvironmentFailure, match="the store holds none by the offline model"):
        ragassay.evaluate(changed, METRICS, store=store, replay=True)


def test_a_recording_that_is_not_there_is_said_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        ragassay.evaluate(ROWS, METRICS, store=tmp_path / "s.db", replay=True)
    assert caught.value.code == "E0103"
    assert not (tmp_path / "s.db").exists()


def test_recorded_judgments_and_batches_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="need no batches"):
        ragassay.evaluate(
            ROWS, METRICS, judge="openai:x", store=tmp_path / "s.db", replay=True, batch=True
        )
