"""Each recorded exchange through `ChatModel` over HTTP, beside what a person reads in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.providers import oracle
from benchmarks.providers.recorded import Exchange
from benchmarks.providers.servers import Answering, ReplayServer, Sent

from ragassay.core import CallError, ChatCall, ChatReply, Message
from ragassay.models.chat_model import ChatModel
from ragassay.models.connect import connect, provider_of

KEY = "sk-none-0123456789abcdef"
CALL = ChatCall(
    (Message("system", "You judge texts."), Message("user", "Judge this text.")),
    schema={
        "type": "object",
        "properties": {"rating": {"type": "integer", "enum": [0, 1]}},
        "required": ["rating"],
        "additionalProperties": False,
    },
    max_tokens=1152,
    seed=7,
)
_ENDS = {
    "stop": oracle.COMPLETE,
    "tool_calls": oracle.COMPLETE,
    "length": oracle.CUT,
    "refusal": oracle.REFUSED,
    "content_filter": oracle.FILTERED,
}


@dataclass
class Outcome:
    """What came of one exchange. misses: (what, ours, a person's)."""

    exchange: Exchange
    requests: int
    ours: ChatReply | CallError
    reading: oracle.Reading
    misses: list[tuple[str, str, str]]


def model_for(exchange: Exchange, base_url: str) -> ChatModel:
    """The model as a user would connect to it, but for the address."""
    for variable in provider_of(exchange.scheme).keys:
        os.environ[variable] = KEY
    if exchange.scheme == "gemini" and exchange.dialect == "openai-chat":
        base_url += "/openai"
    uri = f"{exchange.scheme}:{exchange.model or 'model'}"
    model = connect(uri, base_url=base_url, concurrency=1)
    assert isinstance(model, ChatModel)
    return model


def replay(exchanges: Sequence[Exchange]) -> list[Outcome]:
    """The outcomes of all of them."""
    with ReplayServer() as server:
        return asyncio.run(_replay(server, exchanges))


async def _replay(server: ReplayServer, exchanges: Sequence[Exchange]) -> list[Outcome]:
    outcomes = []
    for exchange in exchanges:
        sent = Sent(
            exchange.status, exchange.payload, exchange.content_type, dict(exchange.headers)
        )
        base_url = server.answer(exchange.id, _always(sent))
        model = model_for(exchange, base_url)
        ours: ChatReply | CallError
        try:
            reply = await model.call(CALL)
            assert isinstance(reply, ChatReply)
            ours = reply
        except CallError as error:
            ours = error
        await model.close()
        reading = oracle.read(exchange)
        misses = _misses(ours, reading)
        outcomes.append(Outcome(exchange, server.requests[exchange.id], ours, reading, misses))
    return outcomes


def _always(sent: Sent) -> Answering:
    return lambda body, before: sent


def _misses(ours: ChatReply | CallError, reading: oracle.Reading) -> list[tuple[str, str, str]]:
    if isinstance(ours, CallError):
        return _missed_failure(ours, reading)
    if reading.failure:
        return [("class", f"reply {ours.text[:60]!r} ({ours.finish})", reading.failure)]
    misses = []
    end = _ENDS.get(ours.finish, ours.finish)
    if end != reading.end:
        misses.append(("finish", end, reading.end))
    needs_text = reading.end in (oracle.COMPLETE, oracle.CUT)
    if needs_text and not _is_read(ours.text, reading.texts):
        misses.append(("text", ours.text[:200], str(reading.texts)[:300]))
    return misses + _missed_tokens(ours, reading.tokens)


def _missed_failure(ours: CallError, reading: oracle.Reading) -> list[tuple[str, str, str]]:
    if ours.kind != reading.failure:
        wanted = reading.failure or f"{reading.end} {str(reading.texts)[:80]}"
        return [("class", f"{ours.kind}: {ours.message[:200]}", wanted)]
    if ours.kind == "rate_limit" and ours.retry_after != reading.wait:
        near = None not in (ours.retry_after, reading.wait) and (
            abs((ours.retry_after or 0) - (reading.wait or 0)) < 0.01
        )
        return [] if near else [("wait", str(ours.retry_after), str(reading.wait))]
    return []


def _is_read(text: str, texts: list[str]) -> bool:
    if not texts:
        return not text.strip()
    squeezed = "".join(text.split())
    return any(squeezed == "".join(each.split()) for each in texts)


def _missed_tokens(ours: ChatReply, told: oracle.Tokens | None) -> list[tuple[str, str, str]]:
    spend = ours.spend
    if told is None:
        if spend.input_tokens or spend.output_tokens:
            return [("usage", f"{spend.input_tokens}+{spend.output_tokens}", "nothing told")]
        return []
    mine = (spend.input_tokens, spend.output_tokens, spend.cached_tokens)
    theirs = (told.read, told.written, told.cached)
    misses = [] if mine == theirs else [("usage", str(mine), str(theirs))]
    if told.dollars is not None and abs((spend.cost or 0.0) - told.dollars) > 1e-12:
        misses.append(("cost", str(spend.cost), str(told.dollars)))
    return misses
