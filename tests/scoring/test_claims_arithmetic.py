"""Shares, weights and what lost verdicts leave open."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Verdict
from ragassay.scoring import all_supported, claim_weight, decide, supported_share, weighted_share


def test_shares_of_three_claims_are_those_worked_by_hand() -> None:
    assert supported_share([True, True, False]) == 2 / 3
    assert all_supported([True, True, False]) == 0.0
    assert all_supported([True, True]) == 1.0
    assert weighted_share([True, False], [1.0, 3.0]) == 0.25


def test_no_judged_claim_has_no_share() -> None:
    assert supported_share([]) is None
    assert all_supported([]) is None
    assert weighted_share([], []) is None


@pytest.mark.parametrize(
    "weights", [[0.0, 1.0], [-1.0, 1.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0]]
)
def test_weights_must_be_positive_finite_and_one_a_claim(weights: list[float]) -> None:
    with pytest.raises(ValueError, match=r"weights|zip"):
        weighted_share([True, True], weights)


@pytest.mark.parametrize(
    ("claim", "weight", "holds"),
    [
        ("Water is wet.", 1.0, ()),
        ("It costs 40 euros.", 2.0, ("a number",)),
        ("It opened in 1999.", 2.0, ("a date",)),  # the year is not a number once more
        ("It opened on May 3 with 20 rooms.", 3.0, ("a date", "a number")),
        ("The tower was built by Gustave Eiffel.", 1.5, ("a name",)),
        ("Paris is old.", 1.0, ()),  # a capital at the beginning says nothing
        ("It isn't open.", 2.0, ("a negation",)),
        ("In 1999 NASA did not fly 3 times.", 4.5, ("a date", "a number", "a name", "a negation")),
        ("", 1.0, ()),
    ],
)
def test_a_claim_weighs_one_plus_what_it_holds(
    claim: str, weight: float, holds: tuple[str, ...]
) -> None:
    assert claim_weight(claim) == (weight, holds)


def test_the_verdict_is_certain_only_when_the_lost_ones_cannot_change_it() -> None:
    assert decide(9, 0, 10, 0.9) is Verdict.PASS
    assert decide(8, 0, 10, 0.9) is Verdict.FAIL
    assert decide(8, 1, 10, 0.9) is Verdict.UNDECIDED  # 8 or 9 of 10
    assert decide(7, 1, 10, 0.9) is Verdict.FAIL  # at most 8
    assert decide(9, 1, 10, 0.9) is Verdict.PASS  # at least 9
    with pytest.raises(ValueError, match="nothing to decide"):
        decide(0, 0, 0, 0.9)


@given(
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
)
def test_decide_equals_trying_every_outcome_of_the_lost_ones(
    good: int, bad: int, lost: int, mark: float
) -> None:
    total = good + bad + lost
    if total == 0:
        return
    outcomes = {
        (good + sum(extra)) / total >= mark for extra in itertools.product((0, 1), repeat=lost)
    }
    wanted = (
        {True: Verdict.PASS, False: Verdict.FAIL}[outcomes.pop()]
        if len(outcomes) == 1
        else Verdict.UNDECIDED
    )
    assert decide(good, lost, total, mark) is wanted


@given(st.lists(st.tuples(st.booleans(), st.floats(0.5, 5)), min_size=1, max_size=12), st.randoms())
def test_order_never_shows_and_one_more_supported_claim_never_lowers(
    claims: list[tuple[bool, float]], random: object
) -> None:
    good, weights = [ok for ok, _ in claims], [weight for _, weight in claims]
    value = weighted_share(good, weights)
    shuffled = list(claims)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert weighted_share([ok for ok, _ in shuffled], [w for _, w in shuffled]) == value
    more = weighted_share([*good, True], [*weights, 1.0])
    assert value is not None
    assert more is not None
    assert more >= value
