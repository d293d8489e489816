"""Verdicts that a judge reads out of recorded envelopes: all of them, or none where there is none.

A judge asks the known example (four claims beside a passage) of `ChatModel`; the server answers it
by a rule over words, in the envelope of one recorded reply. A reply that was recorded as cut is cut
within its first verdict.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.providers import oracle
from benchmarks.providers.envelopes import filled
from benchmarks.providers.recorded import Exchange
from benchmarks.providers.replay import model_for
from benchmarks.providers.servers import Answering, ReplayServer, Sent

from ragassay.core import Ask, CallError, CallFailed, Judgment, Reply
from ragassay.judges.llm import known_example
from ragassay.judges.llm.judge import LLMJudge
from ragassay.judges.registry import RubricRegistry
from ragassay.models.chat_model import ChatModel
from ragassay.testing import answer_by_words, embedded_schema

WHOLE = ("ok", "reasoning", "tool_call", "stream", "not_json")


@dataclass
class Read:
    """The verdicts read from one envelope, of `asked`; there: whether a person finds them in it.
    why: what was said of those that were not read.
    """

    exchange: Exchange
    there: bool
    asked: int
    read: int
    right: int
    why: str

    @property
    def is_miss(self) -> bool:
        """Whether anything else was read than what is there."""
        wanted = self.asked if self.there else 0
        return (self.read, self.right) != (wanted, wanted)


def openai_form(body: dict[str, Any]) -> dict[str, Any]:
    """A request of any dialect as the one of OpenAI that asks the same."""
    messages = [{"role": "system", "content": _text(body.get("system"))}]
    instruction = (body.get("systemInstruction") or {}).get("parts")
    messages.append({"role": "system", "content": _text(instruction)})
    for turn in body.get("messages") or body.get("contents") or []:
        text = _text(turn.get("content") or turn.get("parts"))
        messages.append({"role": "user", "content": text})
    # A schema that is simplified stands as a whole in the prompt.
    schema = embedded_schema("\n".join(each["content"] for each in messages)) or _schema(body)
    return {"messages": messages, "response_format": {"json_schema": {"schema": schema}}}


def _text(parts: Any) -> str:
    if isinstance(parts, list):
        return "\n".join(part.get("text") or "" for part in parts)
    return parts or ""


def _schema(body: dict[str, Any]) -> Any:
    form = body.get("response_format") or {}
    config = body.get("generationConfig") or {}
    tools = body.get("tools") or [{}]
    written = (body.get("outputConfig") or {}).get("textFormat") or {}
    candidates = [
        (form.get("json_schema") or {}).get("schema") or form.get("json_schema"),
        config.get("responseJsonSchema") or config.get("responseSchema"),
        ((body.get("output_config") or {}).get("format") or {}).get("schema"),
        tools[0].get("input_schema") or (tools[0].get("function") or {}).get("parameters"),
        json.loads((written.get("structure") or {}).get("jsonSchema", {}).get("schema", "null")),
    ]
    return next((schema for schema in candidates if schema), None)


def answering(exchange: Exchange, *, cut: bool = False) -> Answering:
    """Answers each request with a verdict in this envelope; with what was recorded where nothing
    can stand in it.
    """

    def answer(body: dict[str, Any], before: int) -> Sent:
        verdict = json.dumps(answer_by_words(openai_form(body)))
        if cut:
            # Within the first entry, whose fields are its id, its reason and so on.
            verdict = verdict[: verdict.index('"id"') + 30]
        payload = filled(exchange, verdict)
        return Sent(
            exchange.status,
            exchange.payload if payload is None else payload,
            exchange.content_type,
            dict(exchange.headers),
        )

    return answer


def read_all(exchanges: Sequence[Exchange]) -> list[Read]:
    """The verdicts of every envelope."""
    with ReplayServer() as server:
        return asyncio.run(_read_all(server, exchanges))


async def _read_all(server: ReplayServer, exchanges: Sequence[Exchange]) -> list[Read]:
    results = []
    for exchange in exchanges:
        is_whole = exchange.kind in WHOLE and exchange.status < 300
        there = is_whole and filled(exchange, "{}") is not None and _is_read(exchange)
        recorded = answering(exchange, cut=exchange.kind == "truncated")
        if not is_whole and exchange.kind != "truncated":
            recorded = _as_recorded(exchange)
        model = model_for(exchange, server.answer(exchange.id, recorded))
        judge = LLMJudge(model.uri, RubricRegistry.default())
        judgments = await _judged(judge, model)
        await model.close()
        outcome = known_example.outcome(judgments)
        why = next((j.reason for j in judgments if j.reason), "")
        results.append(
            Read(exchange, there, outcome.asked, outcome.judged, outcome.right, why or "")
        )
    return results


def _is_read(exchange: Exchange) -> bool:
    """Whether a person would go on reading: a stream that failed is none, nor is a turn that was
    only paused for tools that the provider runs itself.
    """
    reading = oracle.read(exchange)
    return not reading.failure and "pause_turn" not in exchange.payload.decode()


def _as_recorded(exchange: Exchange) -> Answering:
    sent = Sent(exchange.status, exchange.payload, exchange.content_type, dict(exchange.headers))
    return lambda body, before: sent


async def _judged(judge: LLMJudge, model: ChatModel) -> list[Judgment]:
    """What the judge says of the known example, without the retries of a run."""
    (group,) = judge.groups(known_example.requests())
    flow = judge.answer(group)
    judgments: list[Judgment] = []
    replies: tuple[Reply, ...] = ()
    step = next(flow)
    while True:
        if isinstance(step, Ask):
            replies = tuple([await _reply(model, call) for call in step.calls])
        else:
            judgments += getattr(step, "judgments", ())
            replies = ()
        try:
            step = flow.send(replies)
        except StopIteration as end:
            return [*judgments, *end.value]


async def _reply(model: ChatModel, call: Any) -> Reply:
    try:
        return await model.call(call)
    except CallError as error:
        return CallFailed(error.kind, error.message)
