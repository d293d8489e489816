"""What the pages say of the offline judge: figures measured of the weights that are shipped."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from benchmarks.offline_judge import pages  # noqa: E402
from benchmarks.offline_judge.bars import bars  # noqa: E402
from benchmarks.offline_judge.markdown import markdown  # noqa: E402

from ragassay.models.offline import OfflineModel  # noqa: E402

RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    held: dict[str, Any] = json.loads((RESULTS / "offline_judge.json").read_text(encoding="utf-8"))
    return held


def test_the_results_are_of_the_weights_that_are_shipped(result: dict[str, Any]) -> None:
    assert result["conditions"]["model"] == OfflineModel().version


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_figure_of_a_page_is_the_measured_one(page: str, result: dict[str, Any]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert pages.PLACE.search(text)
    assert pages.filled(text, result) == text


def test_the_table_is_made_of_the_figures_beside_it(result: dict[str, Any]) -> None:
    assert (RESULTS / "offline_judge.md").read_text(encoding="utf-8") == markdown(result)


def test_a_bar_says_reached_only_where_its_figure_is_on_the_good_side_of_its_mark(
    result: dict[str, Any],
) -> None:
    assert result["bars"] == bars(result)
    for bar in result["bars"]:
        if bar["figure"] is None:
            assert bar["reached"] is None
        elif bar["side"] == "at least":
            assert bar["reached"] == (bar["figure"] >= bar["mark"])
        else:
            assert bar["reached"] == (bar["figure"] <= bar["mark"])


def test_the_mean_over_the_sets_is_the_mean_of_the_nine_figures_and_its_interval_holds_it(
    result: dict[str, Any],
) -> None:
    own = result["tasks"]["support"]["judges"]["offline"]
    assert set(own["sets"]) == {
        "wice",
        "factcheck_gpt",
        "summedits",
        "begin",
        "faithdial_audit",
        "q2_wow",
        "scifact",
        "summac_val",
        "ragtruth_qa",
    }
    for figure in ("balanced_accuracy", "auroc"):
        mean = sum(one[figure] for one in own["sets"].values()) / len(own["sets"])
        assert own["macro"][figure] == pytest.approx(mean, abs=1e-12)
        low, high = own["macro"][f"{figure}_interval"]
        assert low <= mean <= high


def test_the_agreement_that_runs_print_is_that_of_the_shipped_cut(result: dict[str, Any]) -> None:
    for task, figures in result["tasks"].items():
        macro = figures["judges"]["offline_shipped_cut"]["macro"]
        assert (
            f"balanced accuracy {round(macro['balanced_accuracy'], 4):.2f} ["
            in OfflineModel().agreement(task)
        )
