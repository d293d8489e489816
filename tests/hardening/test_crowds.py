"""One process works on a run; others are refused at once, share the store without loss, and take
over what is left.
"""

from support.crowds import eight_runs, left_behind, twice


def test_a_second_start_is_refused_at_once_and_a_dead_ones_run_is_taken_over(tmp_path) -> None:
    found = twice(tmp_path, times=2)
    assert (
        found["refusal"] <= 3
    )  # 1 on a machine that is not shared; benchmarks/hardening measures it
    assert found["takeover"] <= 3


def test_runs_in_one_store_lose_nothing_and_double_nothing(tmp_path) -> None:
    found = eight_runs(tmp_path, rows=20, runs=4)
    assert (found["lost"], found["wrong"]) == (0, 0)


def test_a_lock_counts_as_long_as_its_owner_may_live(tmp_path) -> None:
    assert set(left_behind(tmp_path).values()) == {"taken over", "refused"}
