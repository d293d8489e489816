"""The arithmetic of the claim graph: a row worked by hand, and laws that hold for every graph."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import (
    Unsupported,
    average_precision,
    f_beta,
    noise,
    precision_of_ranking,
    supported_share,
    unsupported_shares,
    utilization,
)

# Five claims. Chunk 0 holds a statement of the reference, chunks 1 and 2 hold none.
RIGHT = [True, False, False, False, True]
SOURCES = [(0,), (0, 1), (1, 2), (), ()]
RELEVANT = {0}
HELD = [bool(chunks) for chunks in SOURCES]


def test_a_row_of_five_claims_is_that_worked_by_hand() -> None:
    assert (
        noise(RIGHT, SOURCES, RELEVANT, "relevant") == 1 / 5
    )  # the second: chunk 0 is among its sources
    assert noise(RIGHT, SOURCES, RELEVANT, "irrelevant") == 1 / 5  # the third
    assert unsupported_shares(RIGHT, HELD) == Unsupported(hallucination=1 / 5, self_knowledge=1 / 5)
    assert utilization([True, True, True, False], [True, False, True, True]) == 2 / 3


def test_average_precision_of_judged_chunks_is_that_worked_by_hand() -> None:
    assert precision_of_ranking([True, False, True, False]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert precision_of_ranking([False, True]) == 1 / 2
    assert precision_of_ranking([False, False]) == 0.0
    assert precision_of_ranking([]) is None


def test_it_differs_from_average_precision_by_what_was_not_retrieved() -> None:
    assert precision_of_ranking([True, False]) == 1.0
    assert average_precision(["a", "x"], {"a": 1.0, "b": 1.0}) == 0.5
    assert average_precision(["a", "x"], {"a": 1.0}) == precision_of_ranking([True, False])


def test_f_beta_is_that_worked_by_hand() -> None:
    assert f_beta(0.5, 0.5) == 0.5
    assert f_beta(1.0, 0.5) == pytest.approx(2 / 3)
    assert f_beta(1.0, 0.5, 2.0) == pytest.approx(5 * 0.5 / (4 + 0.5))  # leans to recall
    assert f_beta(0.0, 0.0) == 0.0
    assert f_beta(1.0, 0.0) == 0.0
    assert f_beta(None, 0.5) is None
    assert f_beta(0.5, None) is None
    assert f_beta(1.0, 0.5, 1e200) == 0.5
    assert f_beta(5e-324, 1.0) == pytest.approx(0.0)


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_beta_must_be_positive_and_finite(beta: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        f_beta(None, None, beta)


@pytest.mark.parametrize(("precision", "recall"), [(1.1, 0.5), (0.5, -0.1), (float("nan"), 0.5)])
def test_precision_and_recall_must_be_shares(precision: float, recall: float) -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        f_beta(precision, recall)


def test_what_has_no_verdict_is_left_out_and_never_counts_for_either_side() -> None:
    assert precision_of_ranking([None, True, None]) == 1.0
    assert precision_of_ranking([None]) is None
    # The second claim has no verdict against the reference, the third none against the chunks: one
    # of one is noise.
    assert noise([False, None, False], [(1,), (1,), None], {0}, "irrelevant") == 1.0
    assert noise([None], [(1,)], {0}, "irrelevant") is None
    assert unsupported_shares([False, None, False], [False, False, None]) == Unsupported(1.0, 0.0)
    assert unsupported_shares([], []) == Unsupported(None, None)
    assert utilization([True, None, True], [True, True, None]) == 1.0
    assert utilization([False, None], [True, True]) is None  # nothing was there to use


def test_lists_of_different_lengths_and_other_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        noise([True], [], set(), "relevant")
    with pytest.raises(ValueError, match="zip"):
        unsupported_shares([True], [])
    with pytest.raises(ValueError, match="zip"):
        utilization([True], [])
    with pytest.raises(ValueError, match="mode"):
        noise([], [], set(), "all")  # type: ignore[arg-type]


CHUNKS = st.frozensets(st.integers(0, 4), max_size=5)
GRAPHS = st.tuples(st.lists(st.tuples(st.booleans(), CHUNKS), min_size=1, max_size=12), CHUNKS)


@given(GRAPHS)
def test_right_claims_hallucinations_and_both_kinds_of_noise_are_all_there_is(
    graph: tuple[list[tuple[bool, frozenset[int]]], frozenset[int]],
) -> None:
    claims, relevant = graph
    right, sources = [ok for ok, _ in claims], [chunks for _, chunks in claims]
    supported = [bool(chunks) for chunks in sources]
    hallucination, self_knowledge = unsupported_shares(right, supported)
    shares = [
        supported_share(right),
        hallucination,
        noise(right, sources, relevant, "relevant"),
        noise(right, sources, relevant, "irrelevant"),
    ]
    assert all(share is not None and 0 <= share <= 1 for share in shares)
    assert sum(share or 0.0 for share in shares) == pytest.approx(1.0)
    assert (supported_share(supported) or 0.0) + (hallucination or 0.0) + (
        self_knowledge or 0.0
    ) == pytest.approx(1.0)


VERDICT = st.none() | st.booleans()
OPEN = st.lists(st.tuples(VERDICT, st.none() | CHUNKS, VERDICT, VERDICT), max_size=12)


def figures(
    claims: list[tuple[bool | None, frozenset[int] | None, bool | None, bool | None]],
) -> list[float | None]:
    right, sources = [c[0] for c in claims], [c[1] for c in claims]
    a, b = [c[2] for c in claims], [c[3] for c in claims]
    return [
        noise(right, sources, {0, 1}, "relevant"),
        noise(right, sources, {0, 1}, "irrelevant"),
        *unsupported_shares(a, b),
        utilization(a, b),
    ]


@given(OPEN, st.randoms(use_true_random=False))
def test_the_order_of_claims_never_shows_and_claims_without_a_verdict_change_nothing(
    claims: list[tuple[bool | None, frozenset[int] | None, bool | None, bool | None]],
    chance: random.Random,
) -> None:
    shuffled = list(claims)
    chance.shuffle(shuffled)
    assert figures(shuffled) == figures(claims)
    assert figures([*claims, (None, None, None, None)]) == figures(claims)
    assert all(value is None or 0 <= value <= 1 for value in figures(claims))


@given(GRAPHS)
def test_one_more_right_claim_never_raises_noise_or_hallucination(
    graph: tuple[list[tuple[bool, frozenset[int]]], frozenset[int]],
) -> None:
    claims, relevant = graph
    right, sources = [ok for ok, _ in claims], [chunks for _, chunks in claims]
    supported = [bool(chunks) for chunks in sources]
    for mode in ("relevant", "irrelevant"):
        more = noise([*right, True], [*sources, frozenset({0})], relevant, mode)
        before = noise(right, sources, relevant, mode)
        assert more is not None
        assert before is not None
        assert more <= before
    before, more = (
        unsupported_shares(right, supported)[0],
        unsupported_shares([*right, True], [*supported, True])[0],
    )
    assert more is not None
    assert before is not None
    assert more <= before


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_moving_a_relevant_chunk_up_never_lowers_the_precision_of_the_ranking(
    relevance: list[bool], data: st.DataObject
) -> None:
    value = precision_of_ranking(relevance)
    assert value is not None
    assert 0 <= value <= 1
    at = data.draw(st.integers(0, len(relevance) - 1))
    if at and relevance[at] and not relevance[at - 1]:
        better = list(relevance)
        better[at - 1 : at + 1] = [True, False]
        assert (precision_of_ranking(better) or 0.0) > value
    assert (
        precision_of_ranking([*relevance, False]) == value
    )  # an irrelevant tail says nothing about the order


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 100))
def test_f_beta_lies_between_precision_and_recall_and_grows_with_either(
    p: float, r: float, beta: float
) -> None:
    value = f_beta(p, r, beta)
    assert value is not None
    assert (min(p, r) <= value <= max(p, r)) or value == 0.0
    higher = f_beta(min(1.0, p + 0.1), r, beta)
    assert higher is not None
    assert higher >= value - 1e-12
    assert f_beta(r, p, 1 / beta) == pytest.approx(value, abs=1e-9)
