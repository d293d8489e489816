"""Corrected figures wherever a run is shown: its page, MLflow's metrics, and a comparison."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import CorrectedFigure, Interval, SetupError
from ragassay.report import check_gates, mlflow_metrics
from ragassay.report.gate import GateOutcome
from ragassay.trust.judge_reports import cascade_report

ROWS, LABELS = 120, 80


def rows(seed: int, good: float) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    made = []
    for number in range(ROWS):
        fact = f"The museum holds {1800 + number} paintings of sailing ships."
        other = f"Lawyer {number} mails judgments abroad every single night."
        response = fact if chance.random() < good else other
        made.append(
            {"id": f"r{number}", "question": "What?", "contexts": [fact], "response": response}
        )
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two runs with labels: people pass what the judge passes in four rows of five."""
    place = str(tmp_path_factory.mktemp("store") / "store.db")
    for name, good in (("first", 0.5), ("second", 0.9)):
        with ragassay.evaluate(rows(7, good), "groundedness", store=place, name=name) as run:
            chance = random.Random(3)
            labels = []
            for row in random.Random(5).sample(list(run), LABELS):
                score = row.score("groundedness")
                passes = score is not None and score.value is not None and score.value > 0.5
                agree = chance.random() < 0.8
                labels.append({"id": row.id, "label": int(passes if agree else not passes)})
        ragassay.import_labels(name, labels, store=place)
    return place


def test_the_page_of_a_run_shows_what_labels_make_of_it(store: str, tmp_path: Path) -> None:
    with ragassay.open_run("first", store=store) as run:
        page = run.html(tmp_path / "run.html").read_text(encoding="utf-8")
        (line,) = [line for line in run.summary.trust if line.corrected is not None]
    figure = line.corrected
    assert figure is not None
    assert figure.value is not None
    assert f"by {LABELS} labels" in page
    assert f"{figure.value:.3f}" in page
    assert figure.interval is not None
    assert f"[{figure.interval.low:.3f}, {figure.interval.high:.3f}]" in page


def test_mlflow_gets_the_corrected_figure_beside_the_judges(store: str) -> None:
    with ragassay.open_run("first", store=store) as run:
        summary = run.summary
        figures = mlflow_metrics(summary)
    (line,) = [line for line in summary.trust if line.corrected is not None]
    assert line.corrected is not None
    assert line.corrected.interval is not None
    assert figures["ragassay/groundedness/corrected"] == line.corrected.value
    assert figures["ragassay/groundedness/corrected_low"] == line.corrected.interval.low
    assert figures["ragassay/groundedness/labels"] == LABELS


def test_a_comparison_gives_the_difference_of_what_labels_set_right(store: str) -> None:
    (difference,) = ragassay.compare("first", "second", store=store).corrected
    first, second = difference.a, difference.b
    assert first.value is not None
    assert second.value is not None
    assert first.interval is not None
    assert second.interval is not None
    assert difference.difference == pytest.approx(second.value - first.value)
    assert difference.difference > 0.1
    # Square and add: below the difference as far as the second's lower and the first's upper reach.
    below = second.value - second.interval.low, first.interval.high - first.value
    low = math.hypot(*below)
    assert difference.interval is not None
    assert difference.interval.low == pytest.approx(difference.difference - low)


def test_two_judges_of_the_same_answers_have_no_corrected_difference(
    store: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(7, 0.5)), encoding="utf-8")
    place = tmp_path / "same.db"
    labels = [{"id": f"r{n}", "label": n % 2} for n in range(ROWS)]
    for name in ("one", "two"):
        ragassay.evaluate(file, "groundedness", store=place, name=name).close()
        ragassay.import_labels(name, labels, store=place)
    compared = ragassay.compare("one", "two", store=place)
    assert compared.same_answers
    assert compared.corrected == ()
    assert any("no corrected difference of groundedness" in text for text in compared.warnings)


def gated(store: str, figure: str, threshold: float, **changes: Any) -> GateOutcome:
    """The gate on the corrected figure of the first run, with a corrected figure of our own."""
    with ragassay.open_run("first", store=store) as run:
        summary = run.summary
    interval = Interval(0.7, 0.8, 0.95, "")
    corrected = CorrectedFigure("groundedness", "pass rate", 0.75, interval, 80, 120, 0.5)
    trust = replace(summary.trust[0], corrected=replace(corrected, **changes))
    gate = f"{figure}>={threshold}"
    return check_gates(replace(summary, trust=(trust,)), [gate]).outcomes[0]


@pytest.mark.parametrize(
    ("figure", "threshold", "passed"),
    [
        ("corrected(groundedness)", 0.75, True),
        ("lower(corrected(groundedness))", 0.75, False),
        ("upper(corrected(groundedness))", 0.8, True),
        ("interval(corrected(groundedness))", 0.7, True),
        ("interval(corrected(groundedness))", 0.75, None),
        ("interval(corrected(groundedness))", 0.81, False),
    ],
)
def test_a_gate_goes_by_the_corrected_figure_and_its_ends(
    store: str, figure: str, threshold: float, passed: bool | None
) -> None:
    assert gated(store, figure, threshold).passed is passed


def test_a_gate_stays_open_where_the_labels_decide_nothing(store: str) -> None:
    wide = Interval(0.5, 1.0, 0.95, "")
    for changes, words in (
        ({"interval": wide}, "to within 0.25 only"),
        ({"waiting": 12, "unseen": 0.12}, "no label (12) may move it by up to 0.12"),
        ({"interval": None}, "the labels give no interval"),
    ):
        outcome = gated(store, "corrected(groundedness)", 0.5, **changes)
        assert outcome.passed is None
        assert words in outcome.message
    assert gated(store, "corrected(groundedness)", 0.5, waiting=4, unseen=0.04).passed


def test_a_cut_holds_for_the_judge_that_it_names_alone(store: str) -> None:
    labelled = [
        {"id": f"r{n}", "label": int(n % 4 > 0), "a": n % 10 / 10, "b": n % 10 / 10}
        for n in range(60)
    ]
    result = ragassay.benchmark(
        labelled, "recorded:a,b", judge_cuts={"recorded:a": 0.5, "recorded:b": 0.1}, draws=200
    )
    cuts = {judge.judge: judge.judge_cut for judge in result.judges}
    assert cuts == {"recorded:a": 0.5, "recorded:b": 0.1}
    rates = [judge.figure("pass_rate") for judge in result.judges]
    assert [figure.value for figure in rates if figure is not None] == [0.5, 0.9]


def test_a_cascade_to_a_judge_that_agrees_less_is_called_no_gain() -> None:
    labelled = []
    for n in range(200):
        label = n % 2
        cheap = 0.9 if label else 0.1
        dear = 0.9 if (label if n % 5 else 1 - label) else 0.1
        labelled.append({"id": f"r{n}", "label": label, "cheap": cheap, "dear": dear})
    result = ragassay.cascade(labelled, "recorded:cheap", expensive="recorded:dear")
    lines = cascade_report(result, agreement=0.9, confidence=0.9, expensive="recorded:dear")
    told = " ".join(line for line in lines if isinstance(line, str))
    # The expensive one is wrong on every fifth row.
    assert "the expensive judge agrees with people less (80.0%) than the cheap one" in told
    turned = ragassay.cascade(labelled, "recorded:dear", expensive="recorded:cheap")
    lines = cascade_report(turned, agreement=0.9, confidence=0.9, expensive="recorded:cheap")
    assert "agrees with people less" not in " ".join(str(line) for line in lines)


def test_a_field_to_slice_by_may_be_named_as_evaluate_names_it() -> None:
    labelled = [
        {"id": f"r{n}", "label": n % 2, "a": n % 3 % 2, "kind": "xy"[n % 2]} for n in range(40)
    ]
    for slices in ("kind", ["kind"]):
        result = ragassay.benchmark(labelled, "recorded:a", slices=slices, draws=100)
        assert result.set_up.slice == "kind"
    with pytest.raises(SetupError, match="sliced by one field"):
        ragassay.benchmark(labelled, "recorded:a", slices=["kind", "b"], draws=100)
