"""A store that cannot be written is said before a call is paid for; a disk that fills up stops the
sending.
"""

from support.disks import bad_places, full_before_the_first_call, full_disk


def test_a_disk_that_fills_up_stops_the_run_which_goes_on_when_there_is_room(tmp_path) -> None:
    found = full_disk(tmp_path, times=2, rows=40)
    assert found["sent_after_failure"] <= 8  # calls in flight


def test_a_full_disk_is_said_before_the_first_call(tmp_path) -> None:
    assert full_before_the_first_call(tmp_path)["calls"] == 0


def test_odd_places_work_and_impossible_ones_are_refused_before_the_first_call(tmp_path) -> None:
    found = bad_places(tmp_path)
    assert len(found) >= 20
