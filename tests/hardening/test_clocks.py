"""A clock that jumps, goes back or stands still changes no result, no wait and no order of ids
.
"""

from support.clocks import under_wrong_clocks


def test_whatever_the_clock_shows_runs_keep_their_order_and_their_waits(tmp_path) -> None:
    found = under_wrong_clocks(tmp_path, times=6)
    assert found["in_order"]
    assert found["distinct"] == 6
    assert found["negative"] == 0
    assert found["slowest"] < 15  # they wait about a second
