"""Whole runs of `ragassay.evaluate` against servers that answer as recorded ones did.

Wrong set-ups (a key, a model, no money) answer every request so, and shall cost one call and one
error within 3 seconds. What passes answers the first request so, and what is refused every request
that holds the refused field; the rest is answered with verdicts in an envelope of that provider,
and all of them shall be read.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.providers import oracle
from benchmarks.providers.envelopes import filled
from benchmarks.providers.recorded import Exchange
from benchmarks.providers.replay import KEY
from benchmarks.providers.servers import Answering, ReplayServer, Sent
from benchmarks.providers.verdicts import answering

import ragassay
from ragassay.core import RagAssayError
from ragassay.models.connect import provider_of

ROWS = [
    {
        "question": "When is the museum open?",
        "contexts": ["The museum opens at nine and closes at five. Entry is free for children."],
        "response": "The museum opens at nine. Entry is free for children.",
    },
    {
        "question": "Who built the bridge?",
        "contexts": ["The bridge was built by Anna Berg in 1911 and repaired in 1950."],
        "response": "The bridge was built by Anna Berg in 1911.",
    },
]
SECONDS = 3.0
LONGEST_WAIT = 5.0
_FATAL = ("auth", "no_model", "quota")
_PASSES = ("rate_limit", "server")
Body = dict[str, Any]


@dataclass
class RunResult:
    """How a run ended. what: "set-up", "passes" or "refused"."""

    exchange: Exchange
    what: str
    requests: int
    seconds: float
    ended: str
    is_right: bool


# -- which field of ours a refusal is about: (words of it, whether a request has the field)


def _has_form(body: Body) -> bool:
    return "response_format" in body or "output_config" in body


def _has_schema(body: Body) -> bool:
    form = body.get("response_format") or body.get("output_config") or {}
    return "schema" in json.dumps(form)


def _has_strict_schema(body: Body) -> bool:
    form = (body.get("response_format") or {}).get("json_schema") or {}
    return bool(form.get("strict"))


def _has_system(body: Body) -> bool:
    return any(message["role"] == "system" for message in body["messages"])


_FIELDS: tuple[tuple[str, Callable[[Body], bool]], ...] = (
    ("features not supported", _has_strict_schema),
    ("minItems is not supported", _has_strict_schema),
    ("Schema is too complex", _has_schema),
    ("JSON Schema not supported", _has_schema),
    ("union types", _has_schema),
    ("response_format type is unavailable", _has_schema),
    ("'json_object' and 'text'", _has_schema),
    ("`json_object` and `text`", _has_schema),
    ("of type 'json_schema' is not supported", _has_schema),
    ("response_format.type: invalid type", _has_form),
    ("response_format: Extra inputs", _has_form),
    ("'max_tokens' is not supported", lambda body: "max_tokens" in body),
    ("'temperature' is not supported", lambda body: "temperature" in body),
    ("'temperature' does not support", lambda body: "temperature" in body),
    ("does not support 'system'", _has_system),
    ('Unknown name "seed"', lambda body: "seed" in body),
    ("field: 'stream_options'", lambda body: "stream_options" in body),
    ("enable_thinking must be set to false", lambda body: body.get("enable_thinking") is not False),
    ("when `stream=False`", lambda body: not body.get("stream")),
    ("can only afford", lambda body: body.get("max_tokens", 0) > 10_114),
)


def _field(exchange: Exchange) -> Callable[[Body], bool] | None:
    text = exchange.payload.decode().replace('\\"', '"')
    return next((has_it for words, has_it in _FIELDS if words in text), None)


# -- the runs


def run_all(exchanges: Sequence[Exchange]) -> list[RunResult]:
    """The runs of every error that is of one of these kinds, each text once, and one run in an
    envelope of each provider and dialect.
    """
    envelopes = _envelopes(exchanges)
    results: list[RunResult] = []
    seen: set[bytes] = set()
    with ReplayServer() as server:
        for exchange in envelopes.values():
            results.append(_run(server, exchange, "whole", answering(exchange)))
        for exchange in exchanges:
            what = _what(exchange)
            if not what or exchange.payload in seen:
                continue
            seen.add(exchange.payload)
            envelope = envelopes.get(_family(exchange), envelopes["openai", "openai-chat"])
            results.append(_run(server, exchange, what, _answering(exchange, what, envelope)))
    return results


def _family(exchange: Exchange) -> tuple[str, str]:
    return exchange.provider, exchange.dialect


def _envelopes(exchanges: Sequence[Exchange]) -> dict[tuple[str, str], Exchange]:
    """The first recorded reply of each provider and dialect that can hold a verdict."""
    found: dict[tuple[str, str], Exchange] = {}
    for exchange in exchanges:
        is_reply = exchange.kind in ("ok", "reasoning") and exchange.status < 300
        if is_reply and _family(exchange) not in found and filled(exchange, "{}") is not None:
            found[_family(exchange)] = exchange
    return found


def _what(exchange: Exchange) -> str:
    if not exchange.kind.startswith("error:") or exchange.dialect == "batch":
        return ""
    if _field(exchange) is not None:
        return "refused"
    reading = oracle.read(exchange)
    if reading.failure in _FATAL:
        return "set-up"
    is_passing = reading.failure in _PASSES or exchange.kind == "error:json_generation"
    return "passes" if is_passing and (reading.wait or 0.0) <= LONGEST_WAIT else ""


def _answering(exchange: Exchange, what: str, envelope: Exchange) -> Answering:
    refused = Sent(exchange.status, exchange.payload, exchange.content_type, dict(exchange.headers))
    answer = answering(envelope)
    has_field = _field(exchange)

    def reply(body: Body, before: int) -> Sent:
        is_listing = "messages" not in body and "contents" not in body
        is_refused = what == "set-up" or (what == "passes" and before == 0)
        if what == "refused" and has_field is not None and not is_listing:
            is_refused = has_field(body)
        return refused if is_refused else answer(body, before)

    return reply


def _run(server: ReplayServer, exchange: Exchange, what: str, reply: Answering) -> RunResult:
    for variable in provider_of(exchange.scheme).keys:
        os.environ[variable] = KEY
    name = f"{what}-{exchange.id}"
    base_url = server.answer(name, reply)
    if exchange.scheme == "gemini" and exchange.dialect == "openai-chat":
        base_url += "/openai"
    started = time.monotonic()
    ended, verdicts = _evaluated(f"{exchange.scheme}:{exchange.model or 'model'}", base_url)
    seconds = time.monotonic() - started
    sent = server.requests[name]
    if what == "set-up":
        # Where the model is not there, the list of those that are is asked for as well.
        most = 2 if oracle.read(exchange).failure == "no_model" else 1
        is_right = verdicts == 0 and ended.startswith("E04") and sent <= most and seconds <= SECONDS
    else:
        is_right = verdicts == len(ROWS)
    return RunResult(exchange, what, sent, seconds, ended, is_right)


def _evaluated(uri: str, base_url: str) -> tuple[str, int]:
    """How the run ended, and how many rows have a score."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with ragassay.evaluate(
                ROWS,
                "groundedness",
                judge=uri,
                base_url=base_url,
                store=f"{folder}/store.db",
                concurrency=2,
            ) as run:
                scores = run.scores.to_pylist()
                judged = sum(row["value"] is not None for row in scores)
                return f"{run.state} {run.stop_reason}".strip(), judged
        except RagAssayError as error:
            return f"{error.code} {error}", 0
