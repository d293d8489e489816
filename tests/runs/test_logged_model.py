"""A call is in the log from the moment at which it can be billed, not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragassay.core import CallError, ChatCall, ChatReply, EnvironmentFailure, Ledger, Message
from ragassay.dispatch import LocalBudget
from ragassay.models import NOT_SENT, JoinedModel
from ragassay.models.chat_model import ChatModel
from ragassay.runs import LoggedModel, ReplyLog
from ragassay.testing import LLMServer

FIRST, SECOND = (ChatCall((Message("user", text),), max_tokens=10) for text in "ab")
MakeLog = Callable[[], ReplyLog]


@pytest.fixture
def make_log(tmp_path: Path) -> MakeLog:
    """The log, opened once more."""
    return lambda: ReplyLog(tmp_path / "run.replies")


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(answer=lambda body: "yes") as running:
        yield running


def model_of(server: LLMServer, concurrency: int = 8) -> ChatModel:
    return ChatModel("mock", base_url=server.url, concurrency=concurrency)


def counted(log: ReplyLog) -> tuple[int, int]:
    """Calls that are confirmed and that are uncertain, by a log that was left by a kill."""
    ledger = log.ledger or Ledger()
    return ledger.confirmed.calls, ledger.uncertain_calls


def test_a_call_that_waits_for_a_connection_is_not_in_the_log(server, make_log) -> None:
    """The pool has one connection: the second call cannot have been sent."""

    async def main() -> None:
        model, log = model_of(server, concurrency=1), make_log()
        logged = LoggedModel(model, log, LocalBudget(model.price))
        log.begin(Ledger())
        server.latency = 30.0
        first = asyncio.create_task(logged.call(FIRST))
        while not server.calls:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(logged.call(SECOND))
        await asyncio.sleep(0.05)
        assert counted(make_log()) == (0, 1)  # as a kill would leave it now
        second.cancel()
        with pytest.raises(asyncio.CancelledError, match=NOT_SENT):
            await second
        first.cancel()
        with pytest.raises(asyncio.CancelledError) as sent:
            await first
        assert sent.value.args == ()
        await model.close()
        log.close(finished=False)

    asyncio.run(main())
    assert server.calls == 1
    assert counted(make_log()) == (0, 1)


def test_where_nothing_listens_nothing_is_in_the_log(make_log) -> None:
    async def main() -> None:
        model, log = ChatModel("mock", base_url="http://127.0.0.1:9/v1"), make_log()
        log.begin(Ledger())
        with pytest.raises(CallError):
            await LoggedModel(model, log, LocalBudget(model.price)).call(FIRST)
        await model.close()
        log.close(finished=False)

    asyncio.run(main())
    assert make_log().ledger is None


def test_a_log_that_cannot_be_written_keeps_the_request_from_being_sent(
    server, make_log, monkeypatch
) -> None:
    def full(*_: object) -> int:
        raise EnvironmentFailure("E0506", "The disk is full.")

    monkeypatch.setattr(ReplyLog, "sent", full)

    async def main() -> None:
        model, log = model_of(server), make_log()
        log.begin(Ledger())
        with pytest.raises(EnvironmentFailure):
            await LoggedModel(model, log, LocalBudget(model.price)).call(FIRST)
        await model.close()

    asyncio.run(main())
    assert server.calls == 0


def test_a_call_of_several_requests_is_one_in_the_log(server, make_log) -> None:
    """The server refuses the schema first; the request is sent again without it."""
    server.rejects = {"response_format"}
    call = ChatCall((Message("user", "a"),), schema={"type": "object"}, max_tokens=10)

    async def main() -> None:
        model, log = model_of(server), make_log()
        log.begin(Ledger())
        reply = await LoggedModel(model, log, LocalBudget(model.price)).call(call)
        assert isinstance(reply, ChatReply)
        await model.close()
        log.close(finished=False)

    asyncio.run(main())
    log = make_log()
    assert log.ledger is not None
    assert (log.ledger.confirmed.calls, log.ledger.uncertain_calls) == (server.calls, 0)


def test_models_joined_announce_what_they_send_where_all_of_them_do(server, make_log) -> None:
    class Silent:
        uri, concurrency = "openai:silent", None

    model = model_of(server)
    offline = JoinedModel(model, model)
    assert offline.announces_sending
    assert not JoinedModel(model, model, {"openai:silent": Silent()}).announces_sending  # type: ignore[dict-item]
