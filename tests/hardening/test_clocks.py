"""A clock that jumps, goes back or stands still changes no result, no wait and no order of ids
.
"""

import pytest

from support.clocks import under_wrong_clocks


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_whatever_the_clock_shows_runs_keep_their_order_and_their_waits(tmp_path, times) -> None:
    found = under_wrong_clocks(tmp_path, times=times)
    assert found["in_order"]
    assert found["distinct"] == times
    assert found["negative"] == 0
    assert found["slowest"] < 15  # they wait about a second
