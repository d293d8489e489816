"""A damaged store says so, or shows exactly what was stored; a cut journal loses nothing that was
committed.
"""

from support.rot import cut_journal, rot, rotten_journal


def test_whatever_is_damaged_no_wrong_value_is_shown(tmp_path) -> None:
    found = rot(tmp_path, times=150, seed=1)
    assert (found["wrong"], found["untyped"], found["problems"]) == (0, 0, [])
    assert found["said"] > 20


def test_a_journal_cut_at_any_byte_gives_exactly_what_was_committed(tmp_path) -> None:
    found = cut_journal(tmp_path, times=80)
    assert found["commits"] >= 60
    assert found["wrong"] == 0


def test_a_rotten_journal_gives_a_prefix_of_what_was_committed(tmp_path) -> None:
    assert rotten_journal(tmp_path, times=60)["wrong"] == 0
