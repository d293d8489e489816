"""Two commands over the same rows at once buy each answer once, and wait for nobody who is gone.

Further ends of the first one, and other intervals between the two, are in benchmarks/hardening.
"""

import pytest

from support.two_commands import both_to_the_end, first_ends


def test_two_commands_over_the_same_rows_buy_each_answer_once(tmp_path) -> None:
    found = both_to_the_end(tmp_path, rows=60)
    assert found["purchases"] <= 1.02
    assert sum(found["reused"]) == 180  # three questions a row, each of them answered to one
    assert found["same_results"]


@pytest.mark.timing
@pytest.mark.parametrize("how", ["killed", "capped", "suspended"])
def test_where_the_first_ends_the_second_takes_over(tmp_path, how) -> None:
    found = first_ends(tmp_path, how, rows=40)
    assert found["bought_again"] <= 16  # what was in flight, or on its way to the disk
    assert found["seconds"] < 30
