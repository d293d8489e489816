"""The content address of a request: equal content, equal hash; anything else, another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Request, digest

texts = st.text(max_size=30)
inputs = st.dictionaries(st.text(min_size=1, max_size=8), texts | st.lists(texts, max_size=3).map(tuple), max_size=4)


@given(inputs, st.randoms())
def test_the_order_of_inputs_does_not_change_the_key(given_inputs, rnd):
    names = list(given_inputs)
    rnd.shuffle(names)
    assert Request("r", given_inputs).key == Request("r", {n: given_inputs[n] for n in names}).key


@given(inputs, inputs)
def test_different_inputs_have_different_keys(a, b):
    assert (a == b) == (Request("r", a).key == Request("r", b).key)


def test_a_rubric_is_part_of_the_key():
    assert Request("a", {"x": "1"}).key != Request("b", {"x": "1"}).key


def test_moving_text_between_inputs_changes_the_key():
    assert Request("r", {"x": "ab", "y": ""}).key != Request("r", {"x": "a", "y": "b"}).key


def test_one_text_is_not_a_list_of_one_text():
    assert Request("r", {"x": "a"}).key != Request("r", {"x": ("a",)}).key


def test_a_lone_surrogate_is_hashed_and_not_an_error():
    assert len(Request("r", {"x": "\ud800"}).key) == 32


def test_the_hash_of_a_value_never_changes_between_versions():
    # Caches on users' disks rest on this: a changed value here means that every judgment is paid for again.
    assert digest("groundedness", {"claim": "x", "contexts": ("a", "b")}) == "c5ca5a3bf04541c4d6136cfde9da9152"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(bad):
    with pytest.raises(ValueError):
        digest(bad)


def test_reading_an_input_as_the_wrong_kind_is_a_type_error():
    with pytest.raises(TypeError, match="list of texts"):
        Request("r", {"x": ("a",)}).text("x")
    assert Request("r", {"x": "a"}).texts("x") == ("a",)
