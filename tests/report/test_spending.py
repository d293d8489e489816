"""What the application spent on each row, as it spreads over the rows."""

from __future__ import annotations

import pytest

from ragassay.report.comparison import compare, paired_rows
from ragassay.report.spending import usage_spread


def test_quantiles_are_values_of_rows_and_bins_hold_every_row(make, save, store) -> None:
    # Latencies 1 ... 10 s: half of the rows take at most 5 s, nine in ten at most 9.
    run = save([make.row(n, latency=float(n + 1)) for n in range(10)])
    spread = {x.field: x for x in usage_spread(store, run)}
    latency = spread["latency"]
    assert latency.n == 10
    assert latency.mean == pytest.approx(5.5)
    assert latency.total == pytest.approx(55.0)
    assert latency.quantiles == (5.0, 9.0, 10.0, 10.0)
    assert sum(b.rows for b in latency.bins) == 10
    assert (latency.bins[0].low, latency.bins[-1].high) == (1.0, 10.0)
    assert latency.interval is not None
    assert latency.interval.low < 5.5 < latency.interval.high
    # All rows cost the same: one bin.
    assert [(b.low, b.high, b.rows) for b in spread["cost"].bins] == [(0.001, 0.001, 10)]


def test_what_no_row_states_is_left_out(make, save, store) -> None:
    run = save([make.bad(0)])
    assert usage_spread(store, run) == ()


def test_rows_that_broke_come_first_then_those_mended_then_by_the_change(make, save, store) -> None:
    wrong = (("The limit is 20 requests a minute.", 3), ("It was raised to 90 in May.", 0))
    worse = (*wrong, ("It is 100 in June.", 0))
    first = [make.row(n) for n in range(3)] + [make.row(3, sentences=wrong)]
    second = [
        make.row(0),
        make.row(1, sentences=wrong),
        make.row(2, sentences=worse),
        make.row(3),
    ]
    a, b = save(first, "a"), save(second, "b")
    pairs = paired_rows(store, a, b, "groundedness")
    # 1 -> 1/3 is the larger fall than 1 -> 1/2; then the row that was mended; then the same one.
    assert [pair.id for pair in pairs] == ["row-3", "row-2", "row-4", "row-1"]
    assert [pair.changed for pair in pairs] == [True, True, True, False]
    assert [pair.change for pair in pairs] == ["worse", "worse", "better", ""]
    comparison = compare(store, a, b)
    assert (comparison.broken, comparison.fixed) == (2, 1)
