"""Marks that traffic is held to."""

from __future__ import annotations

import pytest

from ragassay.core import SetupError
from ragassay.watch.marks import read_mark

METRICS = ("groundedness", "ndcg_at_k(k=5)", "hallucination")


@pytest.mark.parametrize(
    ("text", "figures", "value"),
    [
        ("groundedness>=0.8", {"scores": {"groundedness": 0.4}}, 0.4),
        ("pass_rate(groundedness)>=0.8", {"verdicts": {"groundedness": "pass"}}, 1.0),
        ("pass_rate(groundedness)>=0.8", {"verdicts": {"groundedness": "undecided"}}, None),
        ("ndcg_at_k(k=5) >= .5", {"scores": {"ndcg_at_k(k=5)": 0.25}}, 0.25),
        ("hallucination<=0.1", {"scores": {"hallucination": 0.25}}, 0.75),
        ("error_rate<=0.02", {"error": 1}, 0.0),
        ("error_rate<=0.02", {}, 1.0),
        ("p95(latency)<=3", {"latency": 3.0}, 1.0),
        ("p95(latency)<=3", {"latency": 3.1}, 0.0),
        ("p95(latency)<=3", {}, None),
        ("groundedness>=0.8", {}, None),
    ],
)
def test_what_a_row_says_about_a_mark(text: str, figures: dict, value: float | None) -> None:
    assert read_mark(text, METRICS).value(figures) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("groundedness>=0.8", 0.9),
        ("hallucination<=0.1", 0.1),
        ("error_rate<=0.02", 0.1),
        ("p95(latency)<=3", 0.9),
    ],
)
def test_a_mean_is_shown_as_its_mark_is_written(text: str, shown: float) -> None:
    assert read_mark(text, METRICS).shown(0.9) == pytest.approx(shown)


def test_a_mark_below_every_rate_is_refused_in_these_words() -> None:
    with pytest.raises(SetupError) as caught:
        read_mark("error_rate<=-1", METRICS)
    assert caught.value.why == "no rate lies below 0"


def test_what_the_mean_is_held_to() -> None:
    assert read_mark("groundedness>=0.8", METRICS).held == 0.8
    assert read_mark("hallucination<=0.1", METRICS).held == pytest.approx(0.9)
    assert read_mark("p99.5(cost)<=0.01", METRICS).held == pytest.approx(0.995)


@pytest.mark.parametrize(
    "text",
    [
        "groundedness",
        "groundedness>0.8",
        "grounded>=0.8",
        "groundedness>=1.01",
        "groundedness>=0",
        "groundedness<=1",
        "error_rate>=0.1",
        "error_rate<=-0.1",
        "p95(latency)>=3",
        "p0(latency)<=3",
        "p95(speed)<=3",
        "pass_rate(groundedness)<=0.9",
    ],
)
def test_what_cannot_be_watched_or_never_reached_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="E1302"):
        read_mark(text, METRICS)
