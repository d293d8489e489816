"""A rate that refusals teach, and that processes of one machine share."""

import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.dispatch.throttle import rate as module
from ragassay.dispatch.throttle.rate import BLIND, DOWN, LATELY, LEAST, RateLimiter, _State


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def simulate(
    state,
    seconds,
    limit,
    burst=50.0,
    latency=0.05,
    pause=1.0,
    start=1000.0,
    odds=0.0,
    at_once=1000,
    seed=1,
):
    """One client that sends whenever it may, against a token bucket that also refuses a share
    `odds` of the calls for no reason. -> (accepted, refused), and the state goes on.
    """
    now, bucket, filled, accepted, refused = start, burst, start, 0, 0
    pending: list[tuple[float, bool]] = []
    chance = random.Random(seed)
    while now < start + seconds:
        now += max(state.claim(now), 0.0005)
        while pending and (pending[0][0] <= now or len(pending) >= at_once):
            then, fine = pending.pop(0)
            now = max(now, then)
            state.accept(then) if fine else state.refuse(then, pause)
        if now < state.blocked_until:
            now = state.blocked_until
            continue
        bucket = min(burst, bucket + (now - filled) * limit)
        filled = now
        fine = bucket >= 1
        bucket -= fine
        fine = fine and chance.random() >= odds
        accepted, refused = accepted + fine, refused + (not fine)
        pending.append((now + latency, fine))
    return accepted, refused


def test_nothing_is_held_back_until_a_provider_refuses() -> None:
    limiter = RateLimiter.of("k")
    assert [limiter.claim() for _ in range(1000)] == [0.0] * 1000
    assert limiter.rate is None
    limiter.close()


def state(rate, accepted_before, accepted_now):
    """A key in full use, in the second that began at 10."""
    return _State(
        rate=rate,
        second_began=10.0,
        flow_began=1.0,
        before_accepted=accepted_before,
        now_accepted=accepted_now,
    )


def test_a_refusal_takes_the_rate_to_what_was_accepted_between_five_percent_and_half_down() -> None:
    slow = state(100.0, 40.0, 40.0)  # 80 accepted in 1.99 seconds: 40 a second
    slow.refuse(10.99, 0.0)
    assert slow.rate == 50.0
    near = state(100.0, 90.0, 89.0)
    near.refuse(10.99, 0.0)
    assert near.rate == pytest.approx(LATELY * 179 / 1.99)
    full = state(100.0, 99.0, 99.0)
    full.refuse(10.99, 0.0)
    assert full.rate == DOWN * 100


def test_where_many_calls_show_how_few_are_accepted_the_rate_falls_to_that_at_once() -> None:
    flood = state(600.0, 10.0, 10.0)
    flood.now_sent, flood.before_sent = 590.0, 600.0
    flood.refuse(10.99, 0.0)
    assert flood.rate == 60.0, (
        "a tenth at least: the next event takes it to the ten a second that are accepted"
    )


def test_right_after_a_pause_nothing_is_known_of_what_is_accepted() -> None:
    early = _State(rate=100.0, second_began=10.0, flow_began=10.0, now_accepted=1.0)
    early.refuse(10.1, 0.0)
    assert early.rate == BLIND * 100


def test_refusals_of_calls_that_were_under_way_together_count_once() -> None:
    full = state(100.0, 99.0, 99.0)
    for after in (0.0, 0.2, 0.9):
        full.refuse(10.99 + after, 0.0)
    assert full.rate == DOWN * 100


def test_what_the_provider_asks_for_holds_back_everybody() -> None:
    state = _State(rate=10.0)
    state.refuse(100.0, 7.0)
    assert state.claim(101.0) == pytest.approx(6.0)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [5.0, 50.0, 300.0])
def test_in_the_long_run_a_limit_is_used_to_95_percent_with_few_refusals(limit) -> None:
    state = _State()
    simulate(state, 30, limit)  # warming up
    accepted, refused = simulate(state, 300, limit, start=1030.0)
    assert accepted >= 0.95 * 300 * limit
    assert refused <= 0.02 * (accepted + refused)


def test_a_halved_limit_is_met_within_15_seconds_and_a_doubled_one_within_60() -> None:
    state = _State()
    simulate(state, 60, 50.0)
    simulate(state, 15, 25.0, start=1060.0)
    accepted, refused = simulate(state, 15, 25.0, burst=1.0, start=1075.0)
    assert (
        accepted >= 0.85 * 15 * 25
    )  # a bucket of one: each refusal costs the second that it asks for
    assert refused <= 0.03 * accepted
    simulate(state, 60, 50.0, start=1090.0)
    accepted, _ = simulate(state, 20, 50.0, start=1150.0)
    assert accepted >= 0.9 * 20 * 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_call_in_a_hundred_refused_whatever_the_rate_is_does_not_slow_the_run_to_a_crawl(
    seed,
) -> None:
    state = _State()
    options = {"odds": 0.011, "at_once": 32, "seed": seed}
    simulate(state, 60, 1e9, pause=0.0, **options)
    accepted, refused = simulate(state, 300, 1e9, pause=0.0, start=1060.0, **options)
    assert accepted >= 0.6 * 300 * 32 / 0.05, (
        "32 calls of 50 ms are 640 a second, where a rate by AIMD alone falls to 32"
    )
    assert refused <= 0.013 * accepted


@pytest.mark.parametrize("pause", [0.0, 1.0])
@pytest.mark.parametrize("burst", [1.0, 50.0, 200.0])
def test_a_limit_is_not_taken_for_refusals_without_a_reason_whatever_its_bucket_holds(
    burst, pause
) -> None:
    state = _State()
    simulate(state, 60, 50.0, burst=burst, pause=pause, at_once=32)
    simulate(state, 15, 25.0, burst=burst, pause=pause, at_once=32, start=1060.0)
    accepted, refused = simulate(
        state, 300, 25.0, burst=burst, pause=pause, at_once=32, start=1075.0
    )
    assert refused <= 0.02 * (accepted + refused)
    assert accepted >= 0.9 * 300 * 25


def test_few_refusals_lower_the_rate_only_down_to_a_share_of_where_they_were_as_few() -> None:
    calm = _State(
        rate=100.0, calls=400.0, refusals=3.0, refused_at=1.0, second_began=9.0, flow_began=1.0
    )
    seen = []
    for event in range(10):
        calm.before_accepted, calm.now_accepted, calm.second_began = 0.0, 200.0, 10.0 + 2 * event
        calm.flow_began = 1.0
        calm.calls, calm.refusals = 400.0, 3.0
        calm.refuse(11.0 + 2 * event, 0.0)
        seen.append(round(calm.rate, 2))
    assert seen[:5] == [95.0, 90.25, 85.74, 81.45, 77.38]
    assert set(seen[5:]) == {77.38}, "below 80: the refusals are as few as they were at 100"
    asked_to_wait = replace(calm)
    asked_to_wait.refuse(40.0, 1.0)
    assert asked_to_wait.rate < 77.0, "a provider that says when to come back means the rate"
    calm.calls, calm.refusals = 400.0, 40.0
    calm.refuse(40.0, 0.0)
    assert calm.rate < 77.0, "many are due to the rate"


@given(
    st.lists(
        st.tuples(st.sampled_from(["claim", "accept", "refuse"]), st.floats(0, 5)), max_size=60
    )
)
def test_whatever_happens_the_rate_is_finite_and_positive_and_no_wait_is_negative(events) -> None:
    state, now = _State(), 1.0
    for kind, passed in events:
        now += passed
        if kind == "claim":
            assert state.claim(now) >= 0
        elif kind == "accept":
            state.accept(now)
        else:
            state.refuse(now, passed)
            assert state.rate >= LEAST
        assert 0 <= state.rate < 1e6


CLAIMS = """
import time
from ragassay.dispatch.throttle.rate import RateLimiter
limiter, n, end = RateLimiter.of("shared"), 0, time.monotonic() + 3.0
while time.monotonic() < end:
    time.sleep(limiter.claim())
    n += 1
limiter.close()
print(n)
"""


@pytest.mark.slow
def test_processes_of_one_key_share_its_rate_and_take_turns(own_folder) -> None:
    limiter = RateLimiter.of("shared")
    limiter.refused(0.0)
    assert limiter._shared is not None
    with limiter._shared.locked() as shared:
        shared.rate, shared.next_place, shared.refused_at = 40.0, 0.0, time.monotonic()
    each = [
        subprocess.Popen([sys.executable, "-c", CLAIMS], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    counts = [int(process.communicate(timeout=300)[0]) for process in each]
    # Each process counts in three seconds of its own: alone it would have 120 places, so that both
    # would have 240.
    assert sum(counts) <= 1.6 * 3.0 * 40
    assert min(counts) >= 0.5 * max(counts)
    limiter.close()
    assert list(own_folder.rglob("pace-*")) == []


def test_the_file_is_the_users_alone_holds_no_key_and_the_last_user_removes_it(own_folder) -> None:
    first, second = RateLimiter.of("abc"), RateLimiter.of("abc")
    assert first is second
    first.refused(0.0)
    (file,) = own_folder.rglob("pace-*")
    assert file.name == "pace-abc"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    first.close()
    assert file.exists()
    second.close()
    assert list(own_folder.iterdir()) == []


def test_a_file_that_a_kill_left_behind_tells_nothing_after_a_minute(own_folder) -> None:
    limiter = RateLimiter.of("k")
    limiter.refused(500.0)
    assert limiter._shared is not None
    with limiter._shared.locked() as state:
        state.blocked_until = time.monotonic() + 500
    now = time.monotonic
    later = SimpleNamespace(monotonic=lambda: now() + module.STALE + 1)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "time", later)
            assert limiter.claim() == 0.0
            assert limiter.rate is None
    finally:
        limiter.close()


def test_a_folder_that_is_not_ours_alone_is_not_used(own_folder) -> None:
    folder = Path(own_folder) / f"ragassay-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    limiter = RateLimiter.of("k")
    limiter.refused(0.2)
    assert limiter.blocked() > 0  # it limiters itself
    limiter.close()
    assert list(folder.iterdir()) == []
