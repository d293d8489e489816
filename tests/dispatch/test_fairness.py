"""Calls that come and go are first; of longer work one step a round of the event loop."""

import asyncio
import itertools

import pytest

from ragassay.dispatch.fairness import PATIENCE, FairnessQueue


class Rounds:
    """Counts the rounds of the running loop."""

    def __init__(self) -> None:
        self.n = 0
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self.n += 1
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


async def wait_all(queue, rounds, count):
    """In which round each of `count` steps had its turn, in the order in which they asked."""
    at = []

    async def step() -> None:
        await queue.turn()
        at.append(rounds.n)

    await asyncio.gather(*[step() for _ in range(count)])
    rounds.stop()
    return at


def test_of_steps_that_wait_one_is_made_ready_a_round_in_order() -> None:
    async def main() -> None:
        queue, order = FairnessQueue(lambda: True), []

        async def step(name) -> None:
            await queue.turn()
            order.append(name)

        await asyncio.gather(*[step(n) for n in range(5)])
        assert order == [0, 1, 2, 3, 4]
        at = await wait_all(queue, Rounds(), 6)
        assert [b - a for a, b in itertools.pairwise(at)] == [1] * 5

    asyncio.run(main())


def test_a_step_waits_while_calls_move_but_not_for_ever() -> None:
    async def main() -> None:
        queue, rounds = FairnessQueue(lambda: True), Rounds()

        def keep_moving() -> None:
            queue.moving()
            asyncio.get_running_loop().call_soon(keep_moving)

        keep_moving()
        started = rounds.n
        await queue.turn()
        rounds.stop()
        assert PATIENCE <= rounds.n - started <= PATIENCE + 3

    asyncio.run(asyncio.wait_for(main(), 10))


def test_where_no_call_waits_to_be_sent_nothing_is_held_back() -> None:
    async def main() -> None:
        queue, rounds = FairnessQueue(lambda: False), Rounds()
        queue.moving()
        started = rounds.n
        await queue.turn()
        rounds.stop()
        assert rounds.n - started <= 2

    asyncio.run(main())


def test_a_step_that_is_cancelled_takes_nobodys_turn() -> None:
    async def main() -> None:
        queue = FairnessQueue(lambda: True)
        gone = asyncio.ensure_future(queue.turn())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(queue.turn(), 5)
        with pytest.raises(asyncio.CancelledError):
            await gone
        await asyncio.wait_for(queue.turn(), 5)  # and the rounds begin again after a pause

    asyncio.run(main())


def test_when_the_run_stops_whoever_waits_goes_on_at_once() -> None:
    async def main() -> None:
        queue, rounds = FairnessQueue(lambda: True), Rounds()
        waiting = [asyncio.ensure_future(queue.turn()) for _ in range(100)]
        await asyncio.sleep(0)
        queue.end()
        started = rounds.n
        await asyncio.gather(*waiting)
        await queue.turn()
        rounds.stop()
        assert rounds.n - started <= 5  # of the hundred that each would have had

    asyncio.run(main())
