"""Runs that ask in two opposite orders, against a judge that goes by an item's place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.report import summary_json
from ragassay.testing import Body, LLMServer, answer_by_words
from support.commands import run_in_process

ROWS = [
    {
        "id": f"r{n}",
        "question": f"How high is tower {n}?",
        "contexts": [f"Tower {n} is {n}00 metres high.", f"Trees {n}.", f"Birds {n}."],
        "response": f"Tower {n} is {n}00 metres high.",
    }
    for n in range(1, 4)
]
METRICS = "context_relevance, groundedness"


def first_is_best(body: Body) -> Any:
    """Of several items the one shown first gets the best rating and the others the worst; a single
    one is rated honestly.
    """
    reply = answer_by_words(body)
    assert isinstance(reply, dict)
    if len(reply["verdicts"]) > 1:
        for place, entry in enumerate(reply["verdicts"]):
            entry["rating"] = 0 if place else 3
    return reply


def command(folder: Path, *arguments: object) -> str:
    """What a command prints of the folder's store."""
    store = folder / "s.db"
    return run_in_process(folder, *arguments, "--store", store, environment=os.environ).stdout


def options(server: LLMServer, folder: Path, **more: Any) -> dict[str, Any]:
    common = {"judge": "openai:mock", "base_url": server.url, "store": folder / "s.db"}
    return common | {"price": "1,2"} | more


def test_place_is_averaged_out_and_how_far_it_counted_is_reported(tmp_path: Path) -> None:
    with LLMServer(answer=first_is_best) as server:
        shuffled = options(server, tmp_path, order="shuffled", store=tmp_path / "one.db")
        forecast_of_one = ragassay.forecast(ROWS, METRICS, **shuffled)
        both = options(server, tmp_path, order="both")
        forecast = ragassay.forecast(ROWS, METRICS, **both)
        with ragassay.evaluate(ROWS, METRICS, **both) as run:
            summary = run.summary
            relevance = [row.score("context_relevance") for row in run.rows()]
        # Three chunks a row: the first and the last of the order have 3 and 0, so 1/2 and 1/2, and
        # the one between them 0. One claim, of which the passages have two orders.
        assert [score.value for score in relevance if score] == pytest.approx([1 / 3] * 3)
        assert server.calls == forecast.calls == 2 * forecast_of_one.calls == 12
        assert forecast.bound is not None
        assert summary.ledger.confirmed.calls == 12
    orders = summary_json(summary)["orders"]
    assert orders == {
        "items": 12,
        "other_rating": 6,
        "other_verdict": 6,
        "one_order": 0,
        "metrics": {
            "context_relevance": {
                "items": 9,
                "other_rating": 6,
                "other_verdict": 6,
                "one_order": 0,
                "metrics": {},
            },
            "groundedness": {
                "items": 3,
                "other_rating": 0,
                "other_verdict": 0,
                "one_order": 0,
                "metrics": {},
            },
        },
    }
    words = (
        "6 of 12 items rated differently, 6 with another verdict"
        " (context_relevance 6 of 9, 6; groundedness 0 of 3, 0)"
    )
    assert f"two opposite orders: {words}" in " ".join(command(tmp_path, "show").split())
    page = tmp_path / "report.html"
    command(tmp_path, "export", "last", "--format", "html", "--output", page)
    assert f"<dt>Order</dt><dd>{words}</dd>" in page.read_text(encoding="utf-8")


def test_one_order_says_nothing_of_orders(tmp_path: Path) -> None:
    with (
        LLMServer(answer=first_is_best) as server,
        ragassay.evaluate(ROWS[:1], METRICS, **options(server, tmp_path)) as run,
    ):
        assert run.summary.orders is None
    assert "orders" not in command(tmp_path, "show")


def test_a_run_of_one_order_is_half_of_one_of_both(tmp_path: Path) -> None:
    with LLMServer(answer=first_is_best) as server:
        ragassay.evaluate(ROWS, METRICS, **options(server, tmp_path)).close()
        assert server.calls == 6
        ragassay.evaluate(ROWS, METRICS, **options(server, tmp_path, order="both")).close()
        assert server.calls == 12


def test_a_cap_between_the_orders_is_resumed_and_buys_nothing_twice(tmp_path: Path) -> None:
    with LLMServer(answer=first_is_best) as server:
        capped = options(server, tmp_path, order="both", max_calls=7, concurrency=1)
        with ragassay.evaluate(ROWS, METRICS, **capped) as run:
            assert run.state == "budget"
        with ragassay.resume(store=tmp_path / "s.db", rows=ROWS, max_calls=100) as resumed:
            assert resumed.state == "finished"
            assert resumed.summary.orders is not None
            assert resumed.summary.orders.items == 12
        assert server.calls == 12
        assert server.stats()["answered_twice"] == 0
