"""A provider that is down is looked at now and then, and retries are a share of the calls."""

import pytest

from ragassay.core import CallError
from ragassay.dispatch.throttle.breaker import Breaker, speaks_of_the_service
from ragassay.dispatch.throttle.retries import A_SECOND, MOST, SHARE, RetryBudget

DOWN = CallError("server", "503", retryable=True, status=503)


def failing(threshold=4, every=10.0):
    breaker = Breaker(threshold)
    for n in range(threshold):
        breaker.failed(100.0 + n, every, DOWN)
    return breaker


def test_it_opens_at_the_threshold_and_not_before() -> None:
    breaker = Breaker(4)
    for n in range(3):
        breaker.failed(100.0 + n, 10.0, DOWN)
    assert breaker.pause(103.0) == 0.0
    breaker.failed(103.0, 10.0, DOWN)
    assert breaker.open_since == 103.0
    assert breaker.pause(104.0) == 9.0


def test_an_answer_in_between_starts_the_count_anew() -> None:
    breaker = Breaker(2)
    for n in range(50):
        breaker.failed(n, 10.0, DOWN)
        breaker.answered(n)
    assert breaker.open_since is None


def test_answers_to_calls_that_were_sent_before_the_failures_began_prove_nothing() -> None:
    breaker = Breaker(2)
    breaker.failed(100.0, 10.0, DOWN)
    breaker.answered(99.0)
    breaker.failed(101.0, 10.0, DOWN)
    assert breaker.open_since == 101.0
    breaker.answered(99.5)
    assert breaker.open_since == 101.0


def test_while_it_is_open_one_call_in_ten_seconds_looks() -> None:
    breaker = failing()
    looks = [
        t
        for t in range(104, 205)
        if breaker.pause(float(t)) == 0.0 and breaker.open_since is not None
    ]
    assert looks == [113, 123, 133, 143, 153, 163, 173, 183, 193, 203]


def test_one_answer_closes_it_for_all() -> None:
    breaker = failing()
    assert breaker.pause(113.0) == 0.0
    breaker.answered(113.0)
    assert [breaker.pause(113.1), breaker.pause(113.1)] == [0.0, 0.0]


def test_nobody_looks_before_the_time_that_the_provider_asked_for() -> None:
    breaker = failing()
    breaker.failed(
        104.0, 10.0, CallError("server", "503", retryable=True, retry_after=60.0, status=503)
    )
    assert breaker.pause(150.0) == 14.0


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CallError("network", "refused", retryable=True), True),
        (DOWN, True),
        (CallError("server", "500", retryable=True, status=500), False),
        (CallError("timeout", "no answer", retryable=True), False),
    ],
)
def test_only_what_says_nothing_of_the_call_is_blamed_on_the_service(error, expected) -> None:
    assert speaks_of_the_service(error) is expected


def test_retries_are_a_share_of_the_calls_once_the_budget_is_spent() -> None:
    budget, made = RetryBudget(), 0
    for _ in range(1000):
        budget.add_call()
        made += budget.take(5.0) == 0.0
        made += budget.take(5.0) == 0.0  # each call would retry twice
    assert made == pytest.approx(MOST + 1000 * SHARE, abs=2)


def test_an_empty_budget_says_when_to_ask_again_and_never_dries_up() -> None:
    budget = RetryBudget()
    while budget.take(7.0) == 0.0:
        pass
    wait = budget.take(7.0)
    assert 0 < wait <= 1 / A_SECOND
    assert budget.take(7.0 + wait + 1e-9) == 0.0
