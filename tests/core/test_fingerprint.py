"""The content address of a request: equal content, equal hash; anything else, another."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Request, digest

texts = st.text(max_size=30)
inputs = st.dictionaries(
    st.text(min_size=1, max_size=8), texts | st.lists(texts, max_size=3).map(tuple), max_size=4
)


@given(inputs, st.randoms())
def test_the_order_of_inputs_does_not_change_the_key(given_inputs, rnd) -> None:
    names = list(given_inputs)
    rnd.shuffle(names)
    assert Request("r", given_inputs).key == Request("r", {n: given_inputs[n] for n in names}).key


@given(inputs, inputs)
def test_different_inputs_have_different_keys(a, b) -> None:
    assert (a == b) == (Request("r", a).key == Request("r", b).key)


def test_a_rubric_is_part_of_the_key() -> None:
    assert Request("a", {"x": "1"}).key != Request("b", {"x": "1"}).key


def test_moving_text_between_inputs_changes_the_key() -> None:
    assert Request("r", {"x": "ab", "y": ""}).key != Request("r", {"x": "a", "y": "b"}).key


def test_one_text_is_not_a_list_of_one_text() -> None:
    assert Request("r", {"x": "a"}).key != Request("r", {"x": ("a",)}).key


def test_a_lone_surrogate_is_hashed_and_not_an_error() -> None:
    assert len(Request("r", {"x": "\ud800"}).key) == 32


def test_the_hash_of_a_value_never_changes_between_versions() -> None:
    # Caches on users' disks rest on this: a changed value here means that every judgment is paid
    # for again.
    assert (
        digest("groundedness", {"claim": "x", "contexts": ("a", "b")})
        == "c5ca5a3bf04541c4d6136cfde9da9152"
    )


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(bad) -> None:
    with pytest.raises(ValueError):
        digest(bad)


def test_reading_an_input_as_the_wrong_kind_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="list of texts"):
        Request("r", {"x": ("a",)}).text("x")
    assert Request("r", {"x": "a"}).texts("x") == ("a",)


# Written down when the format was fixed: another hash for one of these would void every cache and
# every certificate.
GOLDEN: list[tuple[object, str]] = [
    ((), "7ebb3c7c2a87b1a2f8a7ed729ecb040d"),
    (("a",), "f53b3155b302982e196b7645b7b614b1"),
    (("fence", "passage 1", "the text", 0), "22d931c5408703d70e16b287e7f3823d"),
    (
        ('ünï \ud83d\ude00 \U0001f600 \ud800 \x00\n"\\/\x7f\u2028',),
        "72b42d5628ad8bab9413b955e43423bf",
    ),
    ((1, -2, 0, 10**30), "2294cf4245bea5e4e7b4d96d6c6fec51"),
    ((1.5, -0.0, 1e300), "7624adc2c6301d6358676cee78fe3a60"),
    ((True, False, None), "b3d8670a7055ba86b1588cebe67d64a3"),
    (({"b": "x", "a": ("y", "z"), "é": ["1", "2"]},), "bc5b683f2ac3e21dda220cc9de43ed4b"),
    (
        ("llm", 2, 1, {"x": [1, {"y": None}]}, (0.0, None, False, {}), ()),
        "6ec99b0b18e8189f91f8c3dafe5a1076",
    ),
    (((), [], {}, ("a", ("b", [1]))), "cb6e57966d610f4414381ae0d533b1b2"),
    (({"1": 1, "10": 2, "2": 3},), "e6f3d73ad461e6ba686d3b809d3437b9"),
    (({1: "a", 2: "b"},), "2bf6cc083b303289b0ba05cf7b8b5307"),
]


@pytest.mark.parametrize(("parts", "expected"), GOLDEN)
def test_the_hash_of_a_content_is_what_it_always_was(
    parts: tuple[object, ...], expected: str
) -> None:
    assert digest(*parts) == expected


def test_the_key_of_a_request_is_what_it_always_was() -> None:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "Who?",
        "response": "A met B.",
        "contexts": ("one \u2028", "two"),
        "claim": "A met B.",
    }
    assert Request("groundedness", inputs).key == "f0002578e079f5f0c082cfc8d88799f1"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.lists(values))
def test_texts_that_are_written_by_hand_hash_as_the_json_encoder_writes_them(
    parts: list[object],
) -> None:
    plain = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    assert digest(*parts) == hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()
