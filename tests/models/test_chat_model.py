"""What the OpenAI client sends and makes of every kind of answer, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import CallError, ChatCall, ChatReply, MatchCall, Message, SetupError, Spend
from ragassay.dispatch import worst_case_tokens
from ragassay.models import connect
from ragassay.models.capabilities import Capabilities
from ragassay.models.chat_model import ChatModel
from ragassay.models.prices import Rate
from ragassay.models.retry_after import retry_after
from ragassay.models.server_reply import MAX_BODY
from ragassay.testing import LLMServer

T = TypeVar("T")
KEY = "sk-canary-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["rating"],
    "additionalProperties": False,
}
CALL = ChatCall(
    (Message("system", "You judge."), Message("user", "Is it so?")), schema=SCHEMA, seed=7
)


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer() as running:
        yield running


def with_model(server: LLMServer, use: Callable[[ChatModel], Awaitable[T]], **options: Any) -> T:
    async def main() -> T:
        model = ChatModel("mock", base_url=options.pop("base_url", server.url), **options)
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(main())


def ask(server: LLMServer, call: ChatCall = CALL, **options: Any) -> ChatReply:
    reply = with_model(server, lambda model: model.call(call), **options)
    assert isinstance(reply, ChatReply)
    return reply


def fail(server: LLMServer, fault: str = "", call: ChatCall = CALL, **options: Any) -> CallError:
    if fault:
        server.faults.append(fault)
    with pytest.raises(CallError) as caught:
        ask(server, call, **options)
    return caught.value


# -- what is sent, what comes back


def test_a_call_is_sent_as_the_protocol_says_and_its_answer_read_with_its_usage(
    server: LLMServer,
) -> None:
    reply = ask(server, key=KEY, rate=Rate(Decimal(1), Decimal(2)))
    (body,) = server.bodies
    assert body == {
        "model": "mock",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "Is it so?"},
        ],
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 2048,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
        },
    }
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert orjson.loads(reply.text).keys() == {"rating"}
    assert (reply.finish, reply.model, reply.spend.calls) == ("stop", "mock", 1)
    spend = reply.spend
    assert (spend.input_tokens, spend.output_tokens) == (server.input_tokens, server.output_tokens)
    assert spend.cached_tokens == server.input_tokens // 2
    assert spend.cost == pytest.approx(server.cost)
    assert spend.seconds > 0


def test_what_is_not_wanted_is_left_out_of_the_request(server: LLMServer) -> None:
    ask(server, ChatCall((Message("user", "hi"),), temperature=None, max_tokens=5))
    assert server.bodies[0].keys() == {"model", "messages", "max_tokens"}
    assert "Authorization" not in server.headers[0]


def test_half_a_surrogate_pair_reaches_the_server_as_a_replacement_character(
    server: LLMServer,
) -> None:
    ask(server, ChatCall((Message("user", "a\ud800b \ud83d\ude00"),)))
    assert server.bodies[0]["messages"][0]["content"] == "a\ufffdb \U0001f600"


def test_connections_are_kept_and_their_number_is_the_concurrency(server: LLMServer) -> None:
    server.latency = 0.02

    async def burst(model: ChatModel) -> None:
        await asyncio.gather(*(model.call(CALL) for _ in range(12)))

    with_model(server, burst, concurrency=3)
    assert (server.calls, server.peak) == (12, 3)


def test_one_model_serves_several_event_loops_one_after_another(server: LLMServer) -> None:
    model = ChatModel("mock", base_url=server.url)

    async def once() -> None:
        await model.call(CALL)
        await model.close()
        await model.close()

    asyncio.run(once())
    asyncio.run(once())
    assert server.calls == 2


def test_a_call_that_no_chat_model_answers_is_refused(server: LLMServer) -> None:
    error = None
    try:
        with_model(server, lambda model: model.call(MatchCall("support", "a", ("b",))))
    except CallError as caught:
        error = caught
    assert error is not None
    assert (error.kind, error.fatal, server.calls) == ("bad_request", True, 0)


# -- answers that are not plain


@pytest.mark.parametrize(
    ("fault", "finish", "text"),
    [
        ("length", "length", None),
        ("null", "stop", ""),
        ("refusal", "refusal", "I cannot help with that."),
    ],
)
def test_a_cut_empty_or_refused_answer_is_a_reply_with_its_finish(
    server: LLMServer, fault: str, finish: str, text: str | None
) -> None:
    server.faults = [fault]
    reply = ask(server)
    assert reply.finish == finish
    assert text is None or reply.text == text
    assert reply.spend.input_tokens > 0


def test_a_prompt_that_the_server_filters_is_a_reply_with_that_finish(server: LLMServer) -> None:
    server.faults = ["filter"]
    assert ask(server).finish == "content_filter"


@pytest.mark.parametrize(
    ("message", "reason", "text", "finish"),
    [
        ({"content": "yes", "tool_calls": [{"id": "x"}]}, "tool_calls", "yes", "tool_calls"),
        ({"content": "yes", "reasoning_content": "hm"}, None, "yes", "stop"),
        (
            {"content": [{"text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            "stop",
            "ab",
            "stop",
        ),
        ({"content": "yes"}, "MAX_TOKENS", "yes", "length"),
        ({"content": "yes"}, "SAFETY", "yes", "content_filter"),
        ({"content": 7}, 3, "", "stop"),
    ],
)
def test_only_the_text_of_a_message_counts_and_finishes_have_one_name(
    message: dict[str, Any], reason: object, text: str, finish: str
) -> None:
    body = orjson.dumps({"choices": [{"message": message, "finish_reason": reason}]})
    reply = canned(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert isinstance(reply, ChatReply)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    ("content", "arguments", "text"),
    [
        ("Let me answer.", '{"rating": 1}', '{"rating": 1}'),
        ('{"total": 42}', '{"rating": 1}', '{"rating": 1}'),  # the JSON of another
        ('{"rating": 2}', "{}", '{"rating": 2}'),  # a tool that has nothing to do with it
        ('{"rating": 2}', '{"rating": 1}', '{"rating": 2}'),
        ('[{"x": 1}]', '{"city": "Paris"}', '[{"x": 1}]'),
        ("", '{"rating": 1}', '{"rating": 1}'),
    ],
)
def test_beside_a_tool_call_the_text_counts_that_has_the_fields_of_the_schema(
    server: LLMServer, content: str, arguments: str, text: str
) -> None:
    message = {"content": content, "tool_calls": [{"function": {"arguments": arguments}}]}
    body = orjson.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    reply = canned(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert isinstance(reply, ChatReply)
    assert reply.text == text


def test_what_a_gateway_charges_by_its_header_is_the_cost() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    body = orjson.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage})
    head = b"HTTP/1.1 200 OK\r\nx-litellm-response-cost: 0.25\r\nContent-Length: %d\r\n\r\n"
    reply = canned(head % len(body) + body)
    assert isinstance(reply, ChatReply)
    assert reply.spend.cost == 0.25


def test_an_answer_without_usage_has_no_cost_and_is_counted(server: LLMServer) -> None:
    server.faults = ["no_usage", None]

    async def two(model: ChatModel) -> tuple[ChatReply, int]:
        first = await model.call(CALL)
        await model.call(CALL)
        assert isinstance(first, ChatReply)
        return first, model.replies_without_usage

    reply, counted = with_model(server, two, rate=Rate(Decimal(1), Decimal(1)))
    assert (reply.spend.input_tokens, reply.spend.output_tokens, reply.spend.cost) == (0, 0, None)
    assert counted == 1


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        {"prompt_tokens": 1e9, "completion_tokens": 2},
        {"prompt_tokens": 10**18, "completion_tokens": 1},
        {"total_tokens": 3},
        "x",
    ],
)
def test_nonsense_in_the_usage_is_no_usage(usage: object) -> None:
    body = orjson.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage})
    reply = canned(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert isinstance(reply, ChatReply)
    assert (reply.spend.input_tokens, reply.spend.output_tokens) == (0, 0)


# -- failures by status


@pytest.mark.parametrize(
    ("fault", "kind", "fatal", "retryable", "maybe_billed"),
    [
        ("401", "auth", True, False, False),
        ("402", "quota", True, False, False),
        ("403", "refused", True, False, False),
        ("403:quota", "quota", True, False, False),
        ("404", "no_model", True, False, False),
        ("408", "timeout", False, True, False),
        ("409", "server", False, True, False),
        ("413", "too_long", False, False, False),
        ("too_long", "too_long", False, False, False),
        ("425", "server", False, True, False),
        ("429-none", "rate_limit", False, True, False),
        ("quota", "quota", True, False, False),
        ("500", "server", False, True, False),
        ("502", "server", False, True, True),
        ("503", "server", False, True, False),
        ("504", "server", False, True, True),
        ("529", "server", False, True, False),
        ("error200:502", "server", False, True, True),
        ("error200:429", "rate_limit", False, True, False),
    ],
)
def test_each_status_says_whether_to_stop_to_retry_and_what_it_may_have_cost(
    server: LLMServer, fault: str, kind: str, fatal: bool, retryable: bool, maybe_billed: bool
) -> None:
    error = fail(server, fault)
    assert (error.kind, error.fatal, error.retryable, error.maybe_billed) == (
        kind,
        fatal,
        retryable,
        maybe_billed,
    )
    assert server.calls == 1


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ("429:3", 3.0),
        ("429:0.25", 0.25),
        ("429-ms:150", 0.15),
        ("429-date:8", 8.0),
        ("429-reset:1m2s", 62.0),
        ("429-none", None),
        ("503:7", 7.0),
        ("429:soon", None),
        ("429:-5", None),
        ("429:1e999", None),
    ],
)
def test_the_pause_that_the_server_asks_for_is_read(
    server: LLMServer, fault: str, seconds: float | None
) -> None:
    assert fail(server, fault).retry_after == (
        pytest.approx(seconds, abs=1.01) if seconds == 8.0 else seconds
    )


def test_a_date_to_retry_at_is_compared_with_the_clock_of_the_server() -> None:
    headers = {
        "Retry-After": "Fri, 20 Nov 2026 10:00:30 GMT",
        "Date": "Fri, 20 Nov 2026 10:00:00 GMT",
    }
    assert retry_after(headers, now=0.0) == 30.0
    assert retry_after({"Retry-After": "Thu, 01 Jan 1970 00:00:10 GMT"}, now=4.0) == 6.0
    assert retry_after({"Retry-After": "Thu, 01 Jan 1970 00:00:10 GMT"}, now=40.0) == 0.0


@given(st.text(max_size=40))
def test_whatever_stands_in_the_header_the_pause_is_none_or_finite_and_not_negative(
    text: str,
) -> None:
    headers = {"Retry-After": text, "retry-after-ms": text, "x-ratelimit-remaining-tokens": "0"}
    pause = retry_after(headers | {"x-ratelimit-reset-tokens": text}, limited=True)
    assert pause is None or 0 <= pause < float("inf")


def test_an_unknown_model_names_the_nearest_one_that_the_server_has() -> None:
    with LLMServer(models=["mocks-large", "other"], strict_models=True) as server:
        error = fail(server)
    assert (error.kind, error.fatal) == ("no_model", True)
    assert "does not exist" in error.message
    assert "mocks-large, other" in error.message
    with LLMServer(models=["mock-1", "other"], strict_models=True) as server:
        assert "Did you mean 'mock-1'?" in fail(server).message


def test_a_wrong_path_is_told_apart_by_the_missing_list_of_models(server: LLMServer) -> None:
    error = fail(server, base_url=server.url.removesuffix("/v1"))
    assert error.kind == "no_address"
    assert f"those at {server.url} are listed: give that as --base-url" in error.message


def test_words_about_a_missing_model_do_not_stop_a_run_once_the_model_has_answered() -> None:
    said = "model x not found"
    with LLMServer(
        fault_for=lambda body: "echo" if body["messages"][0]["content"] == said else None
    ) as server:

        async def two(model: ChatModel) -> CallError:
            await model.call(CALL)
            with pytest.raises(CallError) as caught:
                await model.call(ChatCall((Message("user", said),)))
            return caught.value

        error = with_model(server, two)
    assert (error.kind, error.fatal) == ("bad_request", False)


def test_redirects_are_not_followed_so_that_the_key_stays_with_its_host(server: LLMServer) -> None:
    with LLMServer() as elsewhere:
        error = fail(server, f"redirect:{elsewhere.url}/chat/completions", key=KEY)
        assert elsewhere.calls == 0
    assert (error.kind, error.fatal) == ("bad_request", True)
    assert "redirects to" in error.message


# -- failures of the reply and of the network


@pytest.mark.parametrize(
    "fault", ["empty", "bad_json", "gzip", "truncated", "no_choices", "huge:33"]
)
def test_a_damaged_reply_is_worth_a_retry_and_may_have_cost_something(
    server: LLMServer, fault: str
) -> None:
    error = fail(server, fault)
    assert (error.kind, error.retryable, error.maybe_billed, error.fatal) == (
        "bad_reply",
        True,
        True,
        False,
    )


def test_a_web_page_before_any_answer_is_a_wrong_address(server: LLMServer) -> None:
    error = fail(server, "html")
    assert (error.kind, error.retryable, error.maybe_billed) == ("web_page", True, False)
    assert server.url in error.message


def test_a_web_page_after_an_answer_is_a_damaged_reply(server: LLMServer) -> None:
    server.faults = [None, "html"]

    async def two(model: ChatModel) -> CallError:
        await model.call(CALL)
        with pytest.raises(CallError) as caught:
            await model.call(CALL)
        return caught.value

    error = with_model(server, two)
    assert (error.kind, error.retryable, error.maybe_billed) == ("bad_reply", True, True)


def test_after_a_damaged_reply_the_next_call_is_answered(server: LLMServer) -> None:
    server.faults = ["truncated", "reset", "gzip", None]

    async def four(model: ChatModel) -> list[str]:
        kinds = []
        for _ in range(4):
            try:
                reply = await model.call(CALL)
                assert isinstance(reply, ChatReply)
                kinds.append(reply.finish)
            except CallError as error:
                kinds.append(error.kind)
        return kinds

    assert with_model(server, four) == ["bad_reply", "network", "bad_reply", "stop"]


def test_a_reset_connection_is_worth_a_retry_and_may_have_cost_something(server: LLMServer) -> None:
    error = fail(server, "reset")
    assert (error.kind, error.retryable, error.maybe_billed) == ("network", True, True)


def test_a_server_that_does_not_listen_has_cost_nothing(server: LLMServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = fail(server, base_url=f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    assert (error.kind, error.retryable, error.maybe_billed) == ("network", True, False)


def test_a_host_without_an_address_has_cost_nothing(server: LLMServer) -> None:
    error = fail(server, base_url="http://no-such-host.invalid/v1")
    assert (error.kind, error.retryable, error.maybe_billed) == ("network", True, False)


def test_a_server_without_tls_has_cost_nothing(server: LLMServer) -> None:
    error = fail(server, base_url=server.url.replace("http:", "https:"))
    assert (error.kind, error.retryable, error.maybe_billed) == ("network", True, False)


@pytest.mark.timing
@pytest.mark.parametrize("fault", ["silence", "slow:20"])
def test_an_answer_that_does_not_come_in_time_may_have_cost_something(
    server: LLMServer, fault: str
) -> None:
    started = time.monotonic()
    error = fail(server, fault, timeout=0.3)
    assert time.monotonic() - started < 1.3
    assert (error.kind, error.retryable, error.maybe_billed) == ("timeout", True, True)


def test_a_cancelled_call_stops_at_once_and_leaves_the_pool_whole(server: LLMServer) -> None:
    server.faults = ["silence"]

    async def cancelled(model: ChatModel) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await model.call(CALL)
        await model.call(CALL)

    with_model(server, cancelled, concurrency=1)
    assert server.calls == 2


def test_bytes_that_are_not_http_are_a_damaged_reply() -> None:
    error = canned(b"hello, this is not HTTP at all\r\n\r\n")
    assert isinstance(error, CallError)
    assert (error.kind, error.retryable) == ("bad_reply", True)


def test_a_reply_that_announces_more_than_the_limit_is_refused() -> None:
    error = canned(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY * 4) + b" " * (MAX_BODY + 1)
    )
    assert isinstance(error, CallError)
    assert "longer than 32 MB" in error.message


def canned(reply: bytes) -> object:
    """What a model makes of exactly these bytes."""

    async def main() -> object:
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line[15:])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            writer.write(reply)
            try:
                await writer.drain()
            except ConnectionError:  # the client has had enough
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        model = ChatModel(
            "mock", base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        )
        try:
            return await model.call(CALL)
        except CallError as error:
            return error
        finally:
            await model.close()
            server.close()
            await server.wait_closed()
            # What is still to be written must not outlive the loop.
            for writer in writers:
                writer.transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(main())


# -- learning what the server supports


@pytest.mark.parametrize(
    ("rejects", "sent", "left"),
    [
        (["json_schema"], 2, {"response_format": {"type": "json_object"}}),
        (["response_format"], 3, {"response_format": None}),
        (["max_tokens"], 2, {"max_tokens": None, "max_completion_tokens": 2048}),
        (["temperature"], 2, {"temperature": None}),
        (["seed"], 2, {"seed": None}),
        (
            ["response_format", "max_tokens", "temperature", "seed"],
            6,
            {"seed": None, "temperature": None},
        ),
    ],
)
def test_what_the_server_refuses_is_left_out_and_learnt_once(
    server: LLMServer, rejects: list[str], sent: int, left: dict[str, Any]
) -> None:
    server.rejects = set(rejects)

    async def two(model: ChatModel) -> list[int]:
        replies = [await model.call(CALL), await model.call(CALL)]
        return [reply.spend.calls for reply in replies]

    assert with_model(server, two) == [sent, 1]
    assert server.calls == sent + 1
    assert {name: server.bodies[-1].get(name) for name in left} == left


@pytest.mark.parametrize("rejects", ["json_schema", "response_format"])
def test_a_server_that_takes_no_schema_reads_it_at_the_end_of_the_prompt(
    server: LLMServer, rejects: str
) -> None:
    ask(server)
    assert server.bodies[-1]["messages"][-1]["content"] == "Is it so?"
    server.rejects = {rejects}
    ask(server)
    system, user = (message["content"] for message in server.bodies[-1]["messages"])
    assert system == "You judge."
    question, shown = user.split("\n\nThe JSON Schema of the reply: ")
    assert (question, orjson.loads(shown)) == ("Is it so?", SCHEMA)
    assert len((system + user).encode()) <= worst_case_tokens(CALL)[0]


def test_calls_that_learn_at_the_same_time_all_get_their_answer(server: LLMServer) -> None:
    server.rejects, server.latency = {"response_format", "max_tokens"}, 0.01

    async def many(model: ChatModel) -> None:
        await asyncio.gather(*(model.call(CALL) for _ in range(8)))
        before = server.calls
        await asyncio.gather(*(model.call(CALL) for _ in range(8)))
        assert server.calls == before + 8

    with_model(server, many)
    assert server.answered.total() == 16


def test_what_was_accepted_before_is_left_out_for_one_call_only(server: LLMServer) -> None:
    odd = ChatCall((Message("user", "odd"),), schema=SCHEMA)

    async def three(model: ChatModel) -> None:
        await model.call(CALL)
        server.rejects = {"json_schema"}
        await model.call(odd)
        server.rejects = set()
        await model.call(CALL)

    with_model(server, three)
    assert [body["response_format"]["type"] for body in server.bodies] == [
        "json_schema",
        "json_schema",
        "json_object",
        "json_schema",
    ]


def test_a_prompt_that_is_too_long_teaches_nothing_even_if_it_speaks_of_formats(
    server: LLMServer,
) -> None:
    assert fail(server, "too_long").kind == "too_long"
    ask(server)
    assert server.bodies[-1]["response_format"]["type"] == "json_schema"


# -- secrets, key and address


def test_the_key_is_never_shown_even_when_the_server_says_it_back(server: LLMServer) -> None:
    error = fail(server, "echo_key", key=KEY)
    chain = [error, error.__cause__, error.__context__]
    assert KEY not in "".join(map(repr, chain)) + error.message
    assert "[key]" in error.message
    assert KEY not in repr(ChatModel("m", base_url=server.url, key=KEY))
    server.answer = lambda body: f"your key is {KEY}"
    assert ask(server, key=KEY).text == "your key is [key]"


def escaped(text: str, slashes: str = "\\") -> str:
    return "".join(f"{slashes}u{ord(char):04x}" for char in text)


LEAKS = {
    "as it is": KEY,
    "in capitals": KEY.upper(),
    "in mixed case": KEY.title(),
    "escaped": escaped(KEY),
    "one letter escaped": escaped("s") + KEY[1:],
    "escaped in capitals": escaped("S") + KEY[1:].upper(),
    "escaped within JSON": escaped(KEY, "\\\\"),
    "cut short": KEY[:-1],
    "cut to half": KEY[:13],
    "cut and escaped": escaped(KEY[:14]),
    "twice": KEY[:13] + KEY,
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_the_key_in_a_reply_is_gone_before_anyone_decodes_it(server: LLMServer, leak: str) -> None:
    server.answer = lambda body: f'{{"rating": 2, "reasoning": "see {leak}"}}'
    text = ask(server, key=KEY).text
    assert orjson.loads(text) == {"rating": 2, "reasoning": text.split('"')[-2]}
    assert text.split('"')[-2] in ("see [key]", "see [key][key]")


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("before", [0, 10, 150, 185, 190, 495])
def test_the_key_in_a_failure_is_gone_before_the_text_is_cut(leak: str, before: int) -> None:
    model = ChatModel("m", key=KEY)
    body = ("x" * before + " " + leak).encode()
    with pytest.raises(CallError) as caught:
        model._reply(body, {}, Spend())
    for text in (
        caught.value.message,
        model._error_text(body),
        model._error_text(orjson.dumps({"error": leak})),
    ):
        assert "canary-" not in text.lower()
        assert "u0073" not in text


def test_the_key_is_gone_from_the_finish_and_the_model_before_they_are_cut() -> None:
    body = {
        "choices": [{"message": {"content": "x"}, "finish_reason": "y" * 20 + KEY}],
        "model": "z" * 180 + KEY,
    }
    reply = ChatModel("m", key=KEY)._reply(orjson.dumps(body), {}, Spend())
    assert (reply.finish, reply.model) == ("y" * 20 + "[key]", "z" * 180 + "[key]")


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning": "a \\u00e9 \\/ \\n b"}',
        KEY[:12],
        "sk-canary",
        "C:\\u0073ers",
        "\\" * 9,
        "\\u",
        "\\ud83d\\ude00",
    ],
)
def test_a_text_without_the_key_is_left_as_it_is(text: str) -> None:
    assert ChatModel("m", key=KEY)._redact(text) == text
    assert ChatModel("m", key="EMPTY")._redact("EMPTY") == "EMPTY"


@given(
    st.text(st.sampled_from("sk-cary012\\u7/"), max_size=40),
    st.integers(13, len(KEY)),
    st.text(max_size=9),
)
def test_no_text_around_it_hides_the_key(before: str, length: int, after: str) -> None:
    shown = ChatModel("m", key=KEY)._redact(before + KEY[:length] + after)
    assert KEY[:13] not in shown
    assert "[key]" in shown


@pytest.mark.slow
def test_the_key_is_looked_for_in_time_that_grows_with_the_text() -> None:
    model = ChatModel("m", key=KEY)
    for text in (
        "\\" * 1_000_000,
        KEY[:12] * 80_000,
        "\\u0073" * 160_000,
        KEY * 40_000,
        (KEY[:13] + "\\") * 70_000,
    ):
        start = time.process_time()
        model._redact(text)
        assert time.process_time() - start < 1.5


def test_an_error_nested_deeper_than_python_recurses_is_a_failed_call() -> None:
    body = b'{"error": ' + b"[" * 1_000 + b"]" * 1_000 + b"}"
    with pytest.raises(CallError) as caught:
        ChatModel("m")._reply(body, {}, Spend())
    assert caught.value.kind == "bad_reply"


@pytest.mark.parametrize("fault", ["reset", "truncated", "gzip", "silence"])
def test_a_failed_call_carries_no_exception_that_holds_the_request(
    server: LLMServer, fault: str
) -> None:
    error = fail(server, fault, key=KEY, timeout=0.3)
    assert error.__cause__ is None
    assert error.__context__ is None


def opened(**options: Any) -> ChatModel:
    model = connect("openai:m", **options)
    assert isinstance(model, ChatModel)
    return model


def test_the_hosted_service_needs_a_key_and_other_servers_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError) as caught:
        opened()
    assert (caught.value.code, caught.value.where) == ("E0402", "OPENAI_API_KEY")
    assert opened(base_url="http://127.0.0.1:1/v1").hosts == ("127.0.0.1:1",)
    assert opened(base_url="https://gateway.example/v1/").base_url == "https://gateway.example/v1"
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert opened().hosts == ("api.openai.com",)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    assert opened().hosts == ("gateway.example",)
    with pytest.raises(SetupError) as caught:
        opened(api_key_env="OTHER_KEY")
    assert "OTHER_KEY is not set" in caught.value.what
    monkeypatch.setenv("OTHER_KEY", f"{KEY}\nX-Evil: 1")
    with pytest.raises(SetupError) as caught:
        opened(api_key_env="OTHER_KEY")
    assert caught.value.code == "E0101"
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://x/v1", "begin with http"),
        ("localhost:8000", "begin with http"),
        ("http://", "not an address"),
        ("http://u:secretword@h/v1", "user name or password"),
        ("http://h/v1?key=secretword", "without ?"),
        ("http://h:99999999/v1", "not an address"),
        ("file:///etc/passwd", "begin with http"),
        (
            "",
            "begin with http",
        ),  # a variable that was not set: the texts must not go to the hosted service instead
    ],
)
def test_an_address_that_cannot_be_is_refused_before_anything_is_sent(url: str, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        opened(base_url=url)
    assert caught.value.code == "E0101"
    assert says in caught.value.what
    assert "secretword" not in str(caught.value)


def test_netrc_and_proxy_settings_of_the_environment_are_not_used(
    server: LLMServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ask(server)
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("is_told", [False, True])
def test_a_schema_that_was_accepted_elsewhere_is_not_what_crashes_a_server(
    server: LLMServer, is_told: bool
) -> None:
    server.faults += ["500", "500"]

    async def until_answered(model: ChatModel) -> str:
        if is_told:
            model.remember(Capabilities().to_json())
        for _ in range(2):
            with suppress(CallError):
                await model.call(CALL)
        return model.known.format

    assert (with_model(server, until_answered) == "schema") is is_told
