"""Labels that a judge spares: by hand, beside a simulation, and back."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.scoring import ppi
from ragassay.scoring.design import plan
from ragassay.scoring.design_with_judge import plan_with_judge, worth_of


def test_labels_are_worth_more_by_the_correlation_and_never_more_than_the_run() -> None:
    # r = .8: 1 - .64 = .36 of the variance is left, and over 400 rows .64 * 100 / 400 = .16 more
    assert worth_of(100, 0.64, None) == pytest.approx(100 / 0.36)
    assert worth_of(100, 0.64, 400) == pytest.approx(100 / 0.52)
    assert worth_of(400, 0.64, 400) == pytest.approx(400)


def test_a_judge_that_spares_nothing_is_not_said_to_help() -> None:
    useless = plan_with_judge("width", half_width=0.07, rate=0.78, correlation=0.0, rows=400)
    assert useless.sentence.endswith("correlate by 0.00 with people's spares no label.")
    useful = plan_with_judge("width", half_width=0.07, rate=0.78, correlation=0.5, rows=400)
    assert "helps: without it" in useful.sentence


def test_the_plan_is_that_of_the_labels_worth_and_is_kept() -> None:
    alone = plan("width", half_width=0.07, rate=0.78)
    judged = plan_with_judge("width", half_width=0.07, rate=0.78, correlation=0.528, rows=400)
    # 1 / (1 / 133 - .2788 / 400) * .7212 = 106 for the 133 that the labels alone would take
    left = 1 - 0.528**2 * alone.labels / 400
    assert judged.labels == int(np.ceil((1 - 0.528**2) * alone.labels / left))
    # A judge of 80 % agreement at a rate of .78, whose verdicts correlate by .528: the interval
    # that so many labels give is as narrow as planned.
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(200):
        label = (rng.random(400) < 0.78).astype(float)
        score = np.where(rng.random(400) < 0.8, label, 1 - label)
        at = np.arange(judged.labels)
        got = ppi.estimate(label[at], score[at], score, units=(at, np.arange(400)))
        assert got.interval is not None
        widths.append(got.interval.high - got.interval.low)
    assert np.mean(widths) / 2 == pytest.approx(0.07, abs=0.004)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"question": "paired", "difference": 0.1, "correlation": 0.5}, "one rate"),
        ({"question": "width", "half_width": 0.1, "correlation": 1.5}, "between -1 and 1"),
        ({"question": "width", "half_width": 0.01, "correlation": 0.5, "rows": 100}, "all of them"),
        ({"question": "width", "labels": 200, "correlation": 0.5, "rows": 100}, "more than"),
    ],
)
def test_what_cannot_be_planned_is_said(options: dict[str, object], words: str) -> None:
    question = options.pop("question")
    with pytest.raises(ValueError, match=words):
        plan_with_judge(question, **options)  # type: ignore[arg-type]


def test_below_fifty_labels_the_judge_is_left_out() -> None:
    few = plan_with_judge("width", half_width=0.14, rate=0.5, correlation=0.9)
    assert few.labels == plan("width", half_width=0.14, rate=0.5).labels < 50
    more = plan_with_judge("width", half_width=0.12, rate=0.5, correlation=0.95)
    assert more.labels == 50
