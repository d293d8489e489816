"""What is shown: on the terminal, on the page, and as JSON."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import ragassay
from ragassay.report.blocks_html import write_blocks_html
from ragassay.report.jsonable import as_json
from ragassay.report.notebook_page import as_text
from ragassay.report.tables import Chart, Table
from ragassay.stress.levels import Test
from ragassay.stress.noise import noise_result
from ragassay.stress.outcomes import Outcomes, outcome_of
from ragassay.stress.reports import stress_report
from ragassay.stress.result import StressResult
from stress.test_analysis import FACTS, plan_of
from stress.test_application import ROWS, read

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StressResult:
    """A whole test of a system that breaks on near duplicates, with hostile texts in it."""

    def system(question: str, contexts: list[str]) -> str:
        if len(contexts) == 3:
            raise ValueError(HOSTILE)
        return read(question, contexts) if "bridge" in question else " ".join(contexts)

    rows = [
        *ROWS,
        *FACTS,
        {"id": HOSTILE, "question": HOSTILE, "reference": "1", "contexts": ["2"]},
    ]
    store = tmp_path_factory.mktemp("stress") / "s.db"
    return ragassay.stress_test(system, rows, numbers=[1], store=store)


def test_the_terminal_gets_at_most_forty_lines_of_eighty_characters(result: StressResult) -> None:
    lines = as_text(result, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40


def test_both_arms_are_columns_of_one_table(result: StressResult) -> None:
    (table,) = [
        block
        for block in stress_report(result)
        if isinstance(block, Table) and block.head[0] == "distractors"
    ]
    assert table.head == ("distractors", "added 1", "matched 1")
    assert [row[0] for row in table.rows] == ["random", "same-topic", "changed-fact", "injected"]


def test_in_python_it_prints_itself(result: StressResult) -> None:
    first = str(result).splitlines()[0]
    assert first.startswith("Fails. It gives no answer in ")


def test_every_figure_has_the_rows_behind_it_in_json(result: StressResult) -> None:
    found = json.loads(json.dumps(as_json(result)))
    assert found["noise"]["cells"][0]["contrast"]["n"] > 0
    at = {(row["row"], row["level"]) for row in found["rows"]}
    assert len(at) == found["askings"]
    for cell in found["noise"]["cells"]:
        level = cell["level"]
        key = f"noise/{level['arm']}/{level['kind']}/{level['number']}/{level['position']}"
        assert {(row, key) for row in cell["contrast"]["broken"]} <= at
    assert found["left_out"][-1]["reason"]


def test_the_page_holds_curves_and_levels_and_executes_nothing(
    result: StressResult, tmp_path: Path
) -> None:
    page = tmp_path / "stress.html"
    blocks = stress_report(result, details=True)
    assert any(isinstance(block, Chart) for block in blocks)
    write_blocks_html("Stress test", blocks, page)
    text = page.read_text()
    assert HOSTILE not in text
    assert text.count("<polyline") == 8  # four kinds in two arms
    assert text.count('class="bar ') == 8  # of each the interval at one distractor
    write_blocks_html("Stress test", blocks, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_read_by_everybody(
    result: StressResult, tmp_path: Path, scheme: Any
) -> None:
    page = tmp_path / "stress.html"
    write_blocks_html("Stress test", stress_report(result, details=True), page)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser here")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in (1280, 320):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
            )
            opened = context.new_page()
            opened.goto(page.as_uri())
            found = Axe().run(opened)
            assert found.violations_count == 0, found.generate_report()
        browser.close()


def test_a_chart_breaks_where_a_value_is_missing(tmp_path: Path) -> None:
    chart = Chart("T", "S", "steps", ("0", "1", "2", "3"), (("a", (1.0, None, 0.5, 0.0)),))
    write_blocks_html("T", [chart], tmp_path / "t.html")
    text = (tmp_path / "t.html").read_text()
    # From the left: 46 to 466 in three steps; from the top: 12 at 100 %, 242 at 0 %.
    assert 'points="46.0,12.0"' in text
    assert 'points="326.0,127.0 466.0,242.0"' in text


def test_the_interval_of_a_point_is_that_of_its_paired_difference(tmp_path: Path) -> None:
    chart = Chart("T", "S", "steps", ("0", "1"), (("a", (1.0, 0.5)),), ((None, (0.25, 0.75)),))
    write_blocks_html("T", [chart], tmp_path / "t.html")
    # From the top: 12 at 100 %, 242 at 0 %.
    bar = '<line class="bar l1" x1="466.0" x2="466.0" y1="184.5" y2="69.5"/>'
    assert bar in (tmp_path / "t.html").read_text()


def test_a_curve_has_the_figures_of_its_paired_differences(result: StressResult) -> None:
    assert result.noise is not None
    first = result.noise.curve[0].contrast
    chart = next(b for b in stress_report(result, details=True) if isinstance(b, Chart))
    assert chart.series[0][1] == (first.base, first.value)
    assert first.base is not None
    assert first.interval is not None
    low, high = first.base + first.interval.low, min(1.0, first.base + first.interval.high)
    assert chart.intervals[0] == (None, (max(0.0, low), high))


def test_a_page_of_responses_without_a_verdict_has_no_curve(result: StressResult) -> None:
    plan = plan_of(Test.NOISE)
    outcomes = Outcomes(plan, [outcome_of(one, "So.", None, None) for one in plan.planned])
    unjudged = replace(result, noise=noise_result(outcomes))
    assert not any(isinstance(b, Chart) for b in stress_report(unjudged, details=True))


def test_a_system_that_is_never_right_is_not_called_without_weakness(tmp_path: Path) -> None:
    found = ragassay.stress_test(
        lambda question, contexts: "It was long ago.",
        ROWS,
        tests=["noise"],
        numbers=[1],
        kinds=["same-topic"],
        positions=["last"],
        arms=["added"],
        store=tmp_path / "s.db",
    )
    assert str(found).startswith("Nothing can be said of noise: with clean passages it is right")


def test_a_response_of_half_a_megabyte_holds_nothing_up(tmp_path: Path) -> None:
    started = time.monotonic()
    ragassay.stress_test(
        lambda question, contexts: "In 1800. " * 60_000,
        ROWS[:2],
        tests=["noise"],
        numbers=[1],
        kinds=["changed-fact"],
        positions=["last"],
        arms=["added"],
        store=tmp_path / "s.db",
    )
    assert time.monotonic() - started < 60
