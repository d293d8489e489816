"""The gate of calls in flight: order, cancellation, and how it narrows and widens."""

import asyncio

from ragassay.dispatch.throttle.concurrency import CUT, EASE, EPOCH_CALLS, ConcurrencyLimit


def epoch(window, now, *, latency=1.0, speed=200.0, failing=0.0):
    """One full look's worth of ends, all places taken. -> the time after it."""
    seconds = EPOCH_CALLS / speed
    window._full = True
    window.observe(now, latency)
    for n in range(1, EPOCH_CALLS + 1):
        failed = failing and n % round(1 / failing) == 0
        window.observe(now + max(seconds, 1.0) * n / EPOCH_CALLS, None if failed else latency)
    for _ in range(round(EPOCH_CALLS * failing) + 1):
        window.observe(now + max(seconds, 1.0), latency)
    return now + max(seconds, 1.0) + 0.01


def test_first_come_first_served_and_never_more_than_the_limit():
    async def main():
        window, order, most = ConcurrencyLimit(3), [], 0

        async def one(n):
            nonlocal most
            await window.enter()
            order.append(n)
            most = max(most, window.in_flight)
            await asyncio.sleep(0.001)
            window.leave()

        await asyncio.gather(*(one(n) for n in range(30)))
        return order, most, window.in_flight

    assert asyncio.run(main()) == (list(range(30)), 3, 0)


def test_a_caller_that_is_cancelled_while_it_waits_or_is_woken_loses_no_place():
    async def main():
        window = ConcurrencyLimit(1)
        await window.enter()
        waiting = [asyncio.create_task(window.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # while it waits
        window.leave()  # wakes the second
        waiting[1].cancel()  # while it is woken
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        await asyncio.wait_for(waiting[2], 1)
        window.leave()
        return window.in_flight

    assert asyncio.run(main()) == 0


def test_single_faults_do_not_narrow_it():
    window = ConcurrencyLimit(32)
    now = 0.0
    for _ in range(20):
        now = epoch(window, now, failing=0.05)
    assert window.limit == 32


def test_a_server_that_buckles_is_given_less_and_then_slowly_more():
    window = ConcurrencyLimit(100)
    now = epoch(window, 0.0, failing=0.5)
    assert window.limit <= 100 * CUT
    for _ in range(5):
        now = epoch(window, now, failing=0.5)
    assert window.limit < 20
    narrow = window.limit
    for _ in range(4):
        now = epoch(window, now)
    assert narrow < window.limit <= narrow + 4 * 5 + 1
    for _ in range(40):
        now = epoch(window, now)
    assert window.limit == 100


def test_calls_that_only_queue_at_the_server_are_sent_later():
    window = ConcurrencyLimit(100)
    now = epoch(window, 0.0, latency=1.0, speed=100)
    for _ in range(4):  # slower, and as many answers a second with fewer at once
        now = epoch(window, now, latency=4.0, speed=100)
    assert window.limit <= 100 * EASE**3


def test_calls_that_are_simply_longer_now_get_their_window_back():
    window = ConcurrencyLimit(100)
    now = epoch(window, 0.0, latency=1.0, speed=100)
    now = epoch(window, now, latency=3.0, speed=100)
    assert window.limit == 100 * EASE
    now = epoch(window, now, latency=3.0, speed=80)  # the narrower window costs speed
    assert window.limit == 100
    for _ in range(5):
        now = epoch(window, now, latency=3.0, speed=100)
    assert window.limit == 100
