"""A call is retried, bounded, delayed and stopped. The model here is a script; real HTTP is in
tests/end_to_end.
"""

import asyncio
import time
from dataclasses import replace

import pytest

from ragassay.core import (
    CallError,
    CallFailed,
    ChatCall,
    ChatReply,
    EnvironmentFailure,
    Message,
    ProviderError,
    Spend,
)
from ragassay.dispatch import CallPolicy, LocalBudget
from ragassay.dispatch.dispatcher import MOST_REJECTIONS, Dispatcher, Stopped
from ragassay.models import NOT_SENT

CALL = ChatCall((Message("user", "x"),), max_tokens=10)
FAST = CallPolicy(timeout=0.2, attempts=3, patience=5, backoff=0.001)


class Script:
    """A model that does what the script says, one entry a call; the last entry goes on for ever."""

    uri, concurrency = "openai:script", None

    def __init__(self, *steps) -> None:
        self.steps = list(steps)
        self.times: list[float] = []
        self.at_once = 0
        self.most = 0

    async def call(self, call):
        self.times.append(time.monotonic())
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif isinstance(step, Exception):
                raise step
            return ChatReply("ok", spend=Spend(1, 5, 2))
        finally:
            self.at_once -= 1

    def lane(self, call) -> str:
        return ""

    def price(self, tokens_in, tokens_out) -> float:
        return 0.001

    async def close(self) -> None:
        pass


def run(model, calls=1, policy=FAST, budget=None, concurrency=8):
    budget = budget or LocalBudget(model.price)
    seen = []

    async def main():
        dispatcher = Dispatcher(
            model, budget, policy, concurrency, on_budget=lambda: seen.append("budget")
        )
        return await asyncio.gather(*(dispatcher.call(CALL) for _ in range(calls))), dispatcher

    replies, dispatcher = asyncio.run(main())
    return replies, dispatcher, budget, seen


def test_a_retryable_failure_is_tried_again_and_counted() -> None:
    model = Script(CallError("server", "500", retryable=True), 0.0)
    (reply,), dispatcher, budget, _ = run(model)
    assert isinstance(reply, ChatReply)
    assert (len(model.times), dispatcher.traffic.retries, budget.sent, budget.ledger().retries) == (
        2,
        1,
        2,
        1,
    )


def test_what_cannot_be_retried_fails_at_once() -> None:
    model = Script(CallError("too_long", "prompt too long"))
    (reply,), *_ = run(model)
    assert reply == CallFailed("too_long", "prompt too long")
    assert len(model.times) == 1


def test_after_the_last_attempt_the_failure_says_how_often_it_was_tried() -> None:
    model = Script(0.0, CallError("server", "500 from the server", retryable=True))
    (first, second), *_ = run(model, calls=2, concurrency=1)
    assert isinstance(first, ChatReply)
    assert second == CallFailed("server", "500 from the server (tried 3 times)")
    assert len(model.times) == 4


def test_retry_after_is_kept_never_early_and_holds_back_every_call() -> None:
    model = Script(CallError("rate_limit", "429", retryable=True, retry_after=0.4), 0.0)
    started = time.monotonic()
    replies, dispatcher, *_ = run(model, calls=4, concurrency=1)
    assert all(isinstance(r, ChatReply) for r in replies)
    assert model.times[0] - started < 0.3
    assert min(t - model.times[0] for t in model.times[1:]) >= 0.4
    assert dispatcher.traffic.rate_limited == 1


@pytest.mark.parametrize("kind", ["rate_limit", "server"])
def test_a_wait_beyond_patience_ends_the_run_and_no_call_is_lost_as_failed(kind) -> None:
    model = Script(CallError(kind, "come back", retryable=True, retry_after=600))
    with pytest.raises(
        ProviderError, match=r"go out again in 6\d\d s; a run waits 5 s at most"
    ) as caught:
        run(model)
    assert (caught.value.code, len(model.times)) == ("E0409", 1)


def test_that_holds_for_a_calls_last_try_too() -> None:
    last = CallError("server", "come back", retryable=True, retry_after=600)
    for first in ([], [CallError("server", "500", retryable=True)] * 2):
        model = Script(*first, last)
        with pytest.raises(ProviderError) as caught:
            run(
                model,
                policy=CallPolicy(timeout=0.2, attempts=len(first) + 1, patience=5, backoff=0.001),
            )
        assert (caught.value.code, len(model.times)) == ("E0409", len(first) + 1)


@pytest.mark.timing
def test_a_call_without_an_answer_ends_at_its_deadline_and_may_have_been_billed() -> None:
    model = Script(60.0)
    started = time.monotonic()
    (reply,), _, budget, _ = run(model, policy=CallPolicy(timeout=0.1, attempts=2, backoff=0.001))
    assert isinstance(reply, CallFailed)
    assert reply.kind == "timeout"
    assert time.monotonic() - started < 2
    assert budget.ledger().uncertain_calls == 2


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    model = Script(0.02)
    run(model, calls=20, concurrency=3)
    assert model.most == 3


def test_a_cap_on_calls_answers_over_budget_and_tells_the_run() -> None:
    model = Script(0.0)
    replies, _, budget, seen = run(model, calls=5, budget=LocalBudget(model.price, max_calls=2))
    assert sorted(type(r).__name__ for r in replies) == ["CallFailed"] * 3 + ["ChatReply"] * 2
    assert {r.kind for r in replies if isinstance(r, CallFailed)} == {"over_budget"}
    assert seen
    assert len(model.times) == 2
    assert budget.sent == 2


@pytest.mark.parametrize(
    ("kind", "code"),
    [("auth", "E0403"), ("no_model", "E0404"), ("quota", "E0408"), ("bad_request", "E0408")],
)
def test_a_wrong_set_up_ends_the_run_with_what_to_do(kind, code) -> None:
    with pytest.raises(ProviderError) as caught:
        run(Script(CallError(kind, "the server's words", fatal=True)))
    assert caught.value.code == code
    about = {"auth": "key", "no_model": "model", "quota": "account", "bad_request": "--base-url"}[
        kind
    ]
    assert about in caught.value.fix, "a redirect is no matter of the account"
    assert "the server's words" in caught.value.why


def test_a_server_that_was_never_reached_ends_the_run() -> None:
    with pytest.raises(ProviderError) as caught:
        run(Script(CallError("network", "connection refused", retryable=True)))
    assert caught.value.code == "E0405"


def test_a_server_that_answered_before_and_is_gone_now_fails_the_call_only() -> None:
    model = Script(0.0, CallError("network", "connection reset", retryable=True))
    (first, second), *_ = run(model, calls=2, concurrency=1)
    assert isinstance(first, ChatReply)
    assert isinstance(second, CallFailed)


def test_a_server_that_rejects_everything_ends_the_run_after_a_few_calls() -> None:
    model = Script(CallError("bad_request", "no such route"))
    with pytest.raises(ProviderError) as caught:
        run(model, calls=50, concurrency=2)
    assert caught.value.code == "E0408"
    assert len(model.times) <= MOST_REJECTIONS + 2


def test_a_call_that_was_not_sent_because_its_log_could_not_be_written_costs_nothing() -> None:
    model, budget = (
        Script(EnvironmentFailure("E0506", "The disk is full.")),
        LocalBudget(lambda *_: 0.001),
    )
    with pytest.raises(EnvironmentFailure):
        run(model, budget=budget)
    assert (budget.sent, budget.ledger().uncertain_cost, budget.ledger().uncertain_calls) == (
        0,
        0,
        0,
    )


@pytest.mark.timing
def test_after_stop_no_call_is_made_and_waiting_ones_give_up_at_once() -> None:
    model = Script(CallError("rate_limit", "429", retryable=True, retry_after=30))

    async def main():
        dispatcher = Dispatcher(
            model, LocalBudget(model.price), CallPolicy(), 4, on_budget=lambda: None
        )
        task = asyncio.create_task(dispatcher.call(CALL))
        await asyncio.sleep(0.05)
        waiting, now = dispatcher.traffic.waiting, time.time()
        dispatcher.stop()
        started = time.monotonic()
        with pytest.raises(Stopped):
            await task
        return time.monotonic() - started, waiting, now

    took, waiting, now = asyncio.run(main())
    assert took < 0.5
    assert len(model.times) == 1
    ends = [time.strftime("%H:%M:%S", time.localtime(now + after)) for after in range(28, 34)]
    assert waiting in [f"rate limit, calls go out again at {end}" for end in ends], (
        "it is said how long that takes"
    )


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.parametrize("retry_after", [None, 0.0])
def test_a_server_that_refuses_for_ever_is_not_asked_for_ever(retry_after) -> None:
    refused = CallError("rate_limit", "429", retryable=True, retry_after=retry_after)
    model, started = Script(refused), time.monotonic()
    policy = CallPolicy(timeout=1, attempts=3, patience=1.0, backoff=0.05)
    replies, *_ = run(
        model, calls=4, policy=policy
    )  # so few may be rows that it always refuses: they are lost
    assert {reply.kind for reply in replies} == {"rate_limit"}
    assert time.monotonic() - started < 6
    with pytest.raises(ProviderError, match="refused all calls") as caught:  # of many, none is lost
        run(Script(refused), calls=12, policy=policy)
    assert caught.value.code == "E0409"


@pytest.mark.slow
def test_a_call_that_is_always_refused_while_others_get_through_ends_no_run() -> None:
    class Picky(Script):
        async def call(self, call):
            if call.messages[0].content == "poison":
                raise CallError("rate_limit", "429", retryable=True)
            return await super().call(call)

    model = Picky(0.0)
    policy = CallPolicy(timeout=1, attempts=3, patience=1.0, backoff=0.05)

    async def main():
        dispatcher = Dispatcher(model, LocalBudget(model.price), policy, 32, on_budget=lambda: None)
        poison = [replace(CALL, messages=(Message("user", "poison"),)) for _ in range(3)]
        return await asyncio.gather(*(dispatcher.call(call) for call in [*poison, *[CALL] * 20]))

    replies = asyncio.run(main())
    assert [type(reply) for reply in replies] == [CallFailed] * 3 + [ChatReply] * 20


def test_that_a_provider_which_is_down_is_still_down_narrows_no_window() -> None:
    model = Script(0.0, CallError("network", "refused", retryable=True))

    async def main():
        dispatcher = Dispatcher(
            model,
            LocalBudget(model.price),
            CallPolicy(probe_interval=0.01, backoff=0.001, outage_limit=1.2),
            8,
            on_budget=lambda: None,
        )
        await dispatcher.call(CALL)
        ends = await asyncio.gather(
            *(dispatcher.call(CALL) for _ in range(16)), return_exceptions=True
        )
        return ends, dispatcher._concurrency.limit

    ends, limit = asyncio.run(main())
    assert {type(end) for end in ends} == {ProviderError, Stopped}
    assert len(model.times) > 50, "it was looked at all the while"
    assert limit >= 8 * 0.7


def test_a_server_of_which_nothing_can_be_read_any_more_is_not_called_down() -> None:
    garbled = CallError("bad_reply", "the reply is not JSON: 'x'", retryable=True, status=200)
    quick = CallPolicy(probe_interval=0.01, backoff=0.001, outage_limit=0.1)
    with pytest.raises(ProviderError, match="No reply of the server could be read for") as ended:
        run(Script(0.0, garbled), calls=200, policy=quick)
    assert ended.value.code == "E0411"
    assert "not JSON" in ended.value.why


@pytest.mark.parametrize(("words", "uncertain"), [((), 1), ((NOT_SENT,), 0)])
def test_a_call_that_was_not_sent_when_its_time_was_over_costs_nothing(words, uncertain) -> None:
    class Slow(Script):
        async def call(self, call):
            try:
                return await super().call(call)
            except asyncio.CancelledError:
                raise asyncio.CancelledError(*words) from None

    once = replace(FAST, timeout=0.05, attempts=1)
    (reply,), _, budget, _ = run(Slow(30.0), policy=once)
    assert reply.kind == "timeout"
    assert budget.ledger().uncertain_calls == uncertain
