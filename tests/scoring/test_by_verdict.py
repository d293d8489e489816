"""A rate taken apart by the judge's verdict: its value by hand, its interval by another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import by_verdict, ppi


def test_the_rate_is_the_parts_rates_by_their_shares_of_the_run() -> None:
    # 70 % of the run pass by the judge. Of 40 labelled ones that it passes people pass 36, of 20
    # that it fails 5: .7 * .9 + .3 * .25 = .705
    value, interval = by_verdict.rate_by_verdict((0.3, 0.7), (0.25, 0.9), (20, 40), 1000, 0.95)
    assert value == pytest.approx(0.705)
    # The same by draws: each part's rate from the beta distribution of its labels and PRIOR more
    # on each side, the shares from a normal one.
    rng = np.random.default_rng(0)
    extra = by_verdict.PRIOR
    shares = rng.normal(0.7, (0.7 * 0.3 / 1000) ** 0.5, 400_000)
    good = rng.beta(36 + extra, 4 + extra, 400_000)
    bad = rng.beta(5 + extra, 15 + extra, 400_000)
    low, high = np.quantile(shares * good + (1 - shares) * bad, (0.025, 0.975))
    assert interval.low == pytest.approx(low, abs=0.004)
    assert interval.high == pytest.approx(high, abs=0.004)


def test_a_judge_that_never_erred_on_the_labels_may_yet_have_erred() -> None:
    value, interval = by_verdict.rate_by_verdict((0.5, 0.5), (0.0, 1.0), (50, 50), 10_000, 0.95)
    assert value == 0.5
    assert 0.03 < interval.high - interval.low < 0.07
    assert (interval.low + interval.high) / 2 == pytest.approx(0.5)


@given(
    share=st.floats(0.001, 0.999),
    rates=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    worth=st.tuples(st.floats(2, 500), st.floats(2, 500)),
)
def test_the_interval_holds_the_rate_and_narrows_with_more_labels(
    share: float, rates: tuple[float, float], worth: tuple[float, float]
) -> None:
    shares = (1 - share, share)
    value, interval = by_verdict.rate_by_verdict(shares, rates, worth, 500, 0.95)
    assert 0 <= interval.low <= value <= interval.high <= 1
    wider = by_verdict.rate_by_verdict(shares, rates, worth, 500, 0.99)[1]
    assert wider.low <= interval.low
    assert wider.high >= interval.high


def test_two_judges_of_two_verdicts_are_taken_apart_together() -> None:
    rng = np.random.default_rng(3)
    label = (rng.random(1000) < 0.6).astype(float)
    first = np.where(rng.random(1000) < 0.8, label, 1 - label)
    second = np.where(rng.random(1000) < 0.8, label, 1 - label)
    at = np.arange(100)
    units = (at, np.arange(1000))
    alone = ppi.estimate(label[at], first[at], first, units=units)
    both = ppi.estimate(label[at], first[at], first, units=units, second=(second[at], second))
    assert both.method == alone.method == "judge's verdict, beta"
    assert both.interval is not None
    assert alone.interval is not None
    width = both.interval.high - both.interval.low
    assert width < 0.97 * (alone.interval.high - alone.interval.low)
    assert both.second is not None
    # Two judges that are as good and err apart count alike.
    assert both.weight == pytest.approx(both.second, abs=0.25)
