"""The sentences on a judge beside people: no advice against its own figures."""

from __future__ import annotations

import pytest

from ragassay.core import Interval
from ragassay.scoring.calibration import CutChange
from ragassay.trust.judge_reports import _cut_lines


def change(figure: str, difference: float, low: float, high: float) -> CutChange:
    """A cut of .3 instead of .5 that is not adopted, with this difference and its interval."""
    return CutChange(
        figure=figure,
        old_cut=0.5,
        cut=0.3,
        cuts=(0.3,),
        n=100,
        clusters=100,
        old=0.3,
        new=0.3 + difference,
        difference=difference,
        interval=Interval(low, high, 0.95, "worked by hand"),
        p=None,
        adopt=False,
    )


@pytest.mark.parametrize(
    ("figure", "difference", "low", "high", "advice"),
    [
        ("kappa", 0.05, -0.02, 0.12, "keep the old one: the gain may be chance"),
        ("kappa", -0.05, -0.12, 0.02, "keep the old one: the other gains nothing"),
        ("kappa", 0.0, -0.1, 0.1, "keep the old one: the other gains nothing"),
        ("kappa", -0.129, -0.243, -0.015, "keep the old one: it is better"),
        ("cost", -0.05, -0.12, 0.02, "keep the old one: the gain may be chance"),
        ("cost", 0.05, -0.02, 0.12, "keep the old one: the other gains nothing"),
        ("cost", 0.129, 0.015, 0.243, "keep the old one: it is better"),
    ],
)
def test_a_cut_that_is_not_adopted_says_why(
    figure: str, difference: float, low: float, high: float, advice: str
) -> None:
    assert _cut_lines(change(figure, difference, low, high))[0].endswith(f": {advice}")
