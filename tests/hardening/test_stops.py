"""A run that is stopped makes no new call, keeps what was paid for and says how to go on."""

from support.stops import stop_once, stop_twice


def test_one_signal_stops_cleanly_and_the_printed_command_goes_on(tmp_path) -> None:
    found = stop_once(tmp_path, times=2)
    assert found["late_calls"] == 0
    assert found["slowest"] <= 5


def test_a_second_signal_ends_at_once(tmp_path) -> None:
    found = stop_twice(tmp_path, times=2)
    assert (
        found["slowest"] <= 0.6
    )  # 0.3 on a machine that is not shared; benchmarks/hardening measures it
