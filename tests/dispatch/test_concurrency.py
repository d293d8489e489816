"""The gate of calls in flight: order, cancellation, and how it narrows and widens."""

import asyncio

from ragassay.dispatch.throttle.concurrency import CUT, EASE, EPOCH_CALLS, ConcurrencyLimit


def epoch(limit, now, *, latency=1.0, speed=200.0, failing=0.0):
    """One full look's worth of ends, all places taken. -> the time after it."""
    seconds = EPOCH_CALLS / speed
    limit._full = True
    limit.observe(now, latency)
    for n in range(1, EPOCH_CALLS + 1):
        failed = failing and n % round(1 / failing) == 0
        limit.observe(now + max(seconds, 1.0) * n / EPOCH_CALLS, None if failed else latency)
    for _ in range(round(EPOCH_CALLS * failing) + 1):
        limit.observe(now + max(seconds, 1.0), latency)
    return now + max(seconds, 1.0) + 0.01


def test_first_come_first_served_and_never_more_than_the_limit() -> None:
    async def main():
        limit, order, most = ConcurrencyLimit(3), [], 0

        async def one(n) -> None:
            nonlocal most
            await limit.enter()
            order.append(n)
            most = max(most, limit.in_flight)
            await asyncio.sleep(0.001)
            limit.leave()

        await asyncio.gather(*(one(n) for n in range(30)))
        return order, most, limit.in_flight

    assert asyncio.run(main()) == (list(range(30)), 3, 0)


def test_a_caller_that_is_cancelled_while_it_waits_or_is_woken_loses_no_place() -> None:
    async def main():
        limit = ConcurrencyLimit(1)
        await limit.enter()
        waiting = [asyncio.create_task(limit.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # while it waits
        limit.leave()  # wakes the second
        waiting[1].cancel()  # while it is woken
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        await asyncio.wait_for(waiting[2], 1)
        limit.leave()
        return limit.in_flight

    assert asyncio.run(main()) == 0


def test_single_faults_do_not_narrow_it() -> None:
    limit = ConcurrencyLimit(32)
    now = 0.0
    for _ in range(20):
        now = epoch(limit, now, failing=0.05)
    assert limit.limit == 32


def test_a_server_that_buckles_is_given_less_and_then_slowly_more() -> None:
    limit = ConcurrencyLimit(100)
    now = epoch(limit, 0.0, failing=0.5)
    assert limit.limit <= 100 * CUT
    for _ in range(5):
        now = epoch(limit, now, failing=0.5)
    assert limit.limit < 20
    narrow = limit.limit
    for _ in range(4):
        now = epoch(limit, now)
    assert narrow < limit.limit <= narrow + 4 * 5 + 1
    for _ in range(40):
        now = epoch(limit, now)
    assert limit.limit == 100


def test_calls_that_only_queue_at_the_server_are_sent_later() -> None:
    limit = ConcurrencyLimit(100)
    now = epoch(limit, 0.0, latency=1.0, speed=100)
    for _ in range(4):  # slower, and as many answers a second with fewer at once
        now = epoch(limit, now, latency=4.0, speed=100)
    assert limit.limit <= 100 * EASE**3


def test_calls_that_are_simply_longer_now_get_their_window_back() -> None:
    limit = ConcurrencyLimit(100)
    now = epoch(limit, 0.0, latency=1.0, speed=100)
    now = epoch(limit, now, latency=3.0, speed=100)
    assert limit.limit == 100 * EASE
    now = epoch(limit, now, latency=3.0, speed=80)  # the narrower limit costs speed
    assert limit.limit == 100
    for _ in range(5):
        now = epoch(limit, now, latency=3.0, speed=100)
    assert limit.limit == 100
