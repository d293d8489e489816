"""What does a batch model hold, send and bill, whoever asks, stops or is refused? The server's
books say what was bought.
"""

import asyncio
from typing import Any

import pytest

from ragassay.core import ChatCall, ChatReply, Message, Spend
from ragassay.models import batch as batches
from support.batch_server import BatchServer


class Book:
    """Batches as a store keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def put_batch(self, run_id, batch) -> None:
        self.kept[batch.id] = batch

    def batches(self, run_id):
        return tuple(self.kept.values())


@pytest.fixture(autouse=True)
def _hasty(monkeypatch) -> None:
    monkeypatch.setattr(batches, "LINGER", 0.2)
    monkeypatch.setattr(batches, "FIRST_POLL", 0.05)


def ask(server, work):
    """What comes of `work(model)` with a model that was begun."""

    async def main():
        model = batches.BatchModel("mock", base_url=server.url, concurrency=4)
        try:
            await model.begin("run", Book())
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(main())


def calls(n):
    return [ChatCall((Message("user", f"Is case {i} true?"),)) for i in range(n)]


def test_calls_that_were_called_off_before_their_batch_went_out_are_not_bought() -> None:
    async def stop(model):
        tasks = [asyncio.ensure_future(model.call(call)) for call in calls(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.5)  # what a run does between its stop and the model's end
        return ends, model.status

    with BatchServer() as server:
        ends, status = ask(server, stop)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        assert (server.stats()["batches"], server.stats()["lines"], status) == (0, 0, "")


@pytest.mark.slow
def test_batches_that_the_provider_had_no_room_for_are_not_held() -> None:
    async def go(model):
        replies = await asyncio.gather(*map(model.call, calls(9)))
        return replies, list(model._submitted)

    with BatchServer(most_lines=2) as server:
        replies, held = ask(server, go)
        statuses = server.stats()["statuses_of_batches"]
        assert (server.stats()["lines"], server.stats()["bought_twice"]) == (9, 0)
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert statuses.count("failed") >= 3
    assert held == []


def test_the_same_call_asked_twice_has_one_bill() -> None:
    async def twice(model):
        return await asyncio.gather(*(model.call(call) for call in calls(1) * 3))

    with BatchServer() as server:
        replies = ask(server, twice)
        assert server.stats()["lines"] == 1
    assert len({reply.text for reply in replies}) == 1
    assert sorted(reply.spend.calls for reply in replies) == [0, 0, 1]
    assert [reply.spend for reply in replies if not reply.spend.calls] == [Spend(cost=0.0)] * 2
