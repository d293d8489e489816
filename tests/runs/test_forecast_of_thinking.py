"""A forecast counts what the model thinks, once it was asked here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.cli.output import print_forecast
from ragassay.runs.forecast import Forecast
from ragassay.testing import LLMServer

ROWS = [
    {
        "id": f"row-{n}",
        "question": f"When was library {n} founded?",
        "contexts": [f"Library {n} was founded in 19{n:02}."],
        "response": f"Library {n} was founded in 19{n:02}.",
    }
    for n in range(10, 34)
]


def arguments(server: LLMServer, folder: Path) -> dict[str, Any]:
    return {
        "metrics": "groundedness",
        "judge": "openai:mock",
        "base_url": server.url,
        "store": folder / "s.db",
        "price": "1,2",
    }


def test_what_a_model_was_seen_to_think_is_in_the_forecast_of_the_next_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LLMServer(thinks=1500) as server:
        settings = arguments(server, tmp_path)
        before = ragassay.forecast(ROWS, **settings)
        ragassay.evaluate(ROWS[:12], **settings).close()
        spent = server.cost
        server.reset()
        after = ragassay.forecast(ROWS[12:], **settings)
        ragassay.evaluate(ROWS[12:], **settings).close()
    assert before.thinking is None
    assert before.output_tokens == 24 * (15 + 70)
    assert after.thinking is not None
    assert 1450 <= after.thinking <= 1600
    assert after.cost == pytest.approx(server.cost, rel=0.15)
    assert spent > 0
    assert after.bound is not None
    assert after.bound > server.cost
    print_forecast(before, None, False)
    assert "what the model thinks is not in it" in " ".join(capsys.readouterr().out.split())
    print_forecast(after, None, False)
    assert f"({after.thinking:,} of them a call to think" in " ".join(
        capsys.readouterr().out.split()
    )


def test_what_the_known_example_showed_counts_before_any_row_was_asked(tmp_path: Path) -> None:
    from ragassay.runs.doctor import examine
    from ragassay.runs.options import make_options
    from ragassay.store import Store

    with LLMServer(thinks=6000) as server, Store.open(tmp_path / "s.db") as store:
        settings = arguments(server, tmp_path)
        examine(make_options({"judge": "openai:mock", "base_url": server.url}), store)
        estimate = ragassay.forecast(ROWS, **settings)
    assert estimate.thinking is not None
    assert 5000 <= estimate.thinking <= 8000  # room is about twice what was thought


def test_a_judge_of_this_machine_thinks_nothing(tmp_path: Path) -> None:
    estimate = ragassay.forecast(ROWS, "groundedness", store=tmp_path / "s.db")
    assert (estimate.thinking, estimate.cost) == (0, 0.0)
    assert isinstance(estimate, Forecast)
