"""After `kill -9` at any moment a resume ends with the same results, and pays at most for the calls
in flight.
"""

from support.kills import kill_runs


def test_a_run_killed_again_and_again_ends_as_if_nothing_had_happened(tmp_path) -> None:
    found = kill_runs(tmp_path, rows=30, kills=8, seed=3, last=0.2)
    assert found["kills"] >= 8
    assert found["resent_worst"] <= 8  # calls in flight
    assert found["resent"] <= 8 * found["kills"]
