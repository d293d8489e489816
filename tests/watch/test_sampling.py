"""The sample: known chances, whole sessions, the same rows each time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import Context
from ragassay.watch.sampling import chance_of, place, session_key, suspicion

KEYS = [session_key(f"s{n}", b"", 1) for n in range(20_000)]


def test_a_tenth_of_the_sessions_lies_below_a_tenth() -> None:
    # The standard deviation of the share is sqrt(.1 * .9 / 20,000) = 0.0021.
    share = sum(place(key, 0, "sample") < 0.1 for key in KEYS) / len(KEYS)
    assert abs(share - 0.1) < 0.0085


def test_purposes_and_seeds_draw_independently() -> None:
    inside = [key for key in KEYS if place(key, 0, "sample") < 0.1]
    for seed, purpose in ((0, "label"), (1, "sample")):
        share = sum(place(key, seed, purpose) < 0.1 for key in inside) / len(inside)
        assert abs(share - 0.1) < 0.03


@settings(max_examples=50)
@given(st.text(max_size=8), st.text(max_size=8), st.integers(0, 9))
def test_rows_of_a_session_share_its_number_and_others_do_not(a: str, b: str, seed: int) -> None:
    first, again = session_key(a, b"1", 1), session_key(a, b"2", 2)
    assert (first == again) == bool(a)
    assert (place(first, seed, "x") == place(session_key(b, b"3", 1), seed, "x")) == (
        bool(a) and a == b
    )


def test_suspicious_rows_have_a_larger_chance_of_at_most_one() -> None:
    assert chance_of(0.1, 5.0, True) == 0.5
    assert chance_of(0.1, 5.0, False) == 0.1
    assert chance_of(0.5, 5.0, True) == 1.0


def test_what_is_suspicious_without_a_judge() -> None:
    said = "The library opened its doors in the year 1911."
    passage = (Context(said),)
    assert suspicion({"response": said}, passage) == ""
    assert suspicion({"response": said}, None) == "", "unknown contexts accuse nobody"
    assert suspicion({"response": said, "error": "boom"}, passage) == "error"
    assert suspicion({"response": " "}, passage) == "no response"
    assert suspicion({}, passage) == "no response"
    assert suspicion({"response": said}, ()) == "nothing retrieved"
    assert suspicion({"response": said}, passage, rated_bad=True) == "rated bad"
    other = "Parking costs five euros for every started hour downtown."
    assert suspicion({"response": other}, passage) == "shares few words"
