"""Which server do the tests talk to? A real HTTP server that speaks the OpenAI protocol, with a
script for its faults.

In the test's own process:

    with LLMServer(faults=["429:0.2", None], latency=0.01) as server:
        ... base_url=server.url ...
        assert server.stats()["calls"] == 2

or as a process that outlives its client (`kill -9` tests), scripted over HTTP:

    with ServerProcess(latency=0.05) as server:
        server.script(fault_rates={"500": 0.05})
        server.stats()

or by hand: python tests/support/llm_server.py --port 8099 --latency 0.2

The server keeps its own books: requests, answers by prompt (`answered_twice` must stay 0 when
nothing is bought twice), tokens and dollars. They are the oracle: the product never grades itself.

Faults, one word a request, with an argument after a colon where it says so:
    429[:SECONDS] 429-date:SECONDS 429-ms:MS 429-reset:DURATION 429-none quota
    400 401 402 403 404 408 409 413 425 500 501 502 503 504 529 (any status)   too_long  filter
    reset  truncated  gzip  empty  html  bad_json  no_choices  error200[:CODE]  redirect[:URL]
    wrong_schema  length  null  refusal  no_usage  huge[:MB]  slow[:BYTES_A_SECOND]  silence  half
    prose echo (400 with the prompt in it)  echo_key (401 with the key in it)
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
from aiohttp import web

Body = dict[str, Any]
Answer = Callable[[Body], "dict[str, Any] | list[Any] | str | None"]

WORD = re.compile(r"[^\W_]{3,}")
STATUS = re.compile(r"[1-5][0-9][0-9]")


class LLMServer:
    """The server and its books. Attributes may be changed while it runs.

    answer(body): the reply's JSON (or text), or None to have the default judge answer (see
    `judge`). latency: seconds before an answer; sigma: of a lognormal spread around it. key: the
    API key it wants. models: what /models lists; a call for another model is a 404 when
    `strict_models`. rejects: request fields it answers with 400, among them "response_format",
    "json_schema" (only json_object is known), "max_tokens", "temperature", "seed". no_schema: short
    for rejects={"response_format"}. half: answers only half of the items asked. prose: wraps the
    JSON in prose. faults: one entry a request, None = answer; after the list has run out,
    fault_rates (name -> probability) apply. fault_for(body): a fault by content, first of all.
    price: dollars per million input and output tokens.
    """

    def __init__(
        self,
        *,
        answer: Answer | None = None,
        latency: float = 0.0,
        sigma: float = 0.0,
        key: str | None = None,
        models: Iterable[str] = ("mock",),
        strict_models: bool = False,
        rejects: Iterable[str] = (),
        no_schema: bool = False,
        half: bool = False,
        prose: bool = False,
        faults: Iterable[str | None] = (),
        fault_rates: dict[str, float] | None = None,
        fault_for: Callable[[Body], str | None] | None = None,
        price: tuple[float, float] = (1.0, 2.0),
        per_minute: float | None = None,
        burst: float = 50.0,
        retry_after: float | None = 1.0,
        down: str | None = None,
        seed: int = 0,
        port: int = 0,
        keep_bodies: bool = True,
    ) -> None:
        self.answer, self.latency, self.sigma, self.key = answer, latency, sigma, key
        self.models, self.strict_models = list(models), strict_models
        self.rejects = set(rejects) | ({"response_format"} if no_schema else set())
        self.half, self.prose = half, prose
        self.faults: list[str | None] = list(faults)
        self.fault_rates = dict(fault_rates or {})
        self.fault_for, self.price, self.port = fault_for, price, port
        self.per_minute, self.burst, self.retry_after, self.down = (
            per_minute,
            burst,
            retry_after,
            down,
        )
        self._bucket, self._filled = burst, time.monotonic()
        self.keep_bodies = keep_bodies
        self._random = random.Random(seed)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self.reset()

    def reset(self) -> None:
        """Empty books."""
        self.calls = 0
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: Counter[str] = Counter()
        self.injected: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.input_tokens = self.output_tokens = 0
        self.cost = 0.0
        self.in_flight = self.peak = 0

    # -- life

    @property
    def url(self) -> str:
        """The base URL to hand to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> LLMServer:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def serve(self, announce: bool = False) -> None:
        """Serve until stopped."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        app.router.add_get("/bodies", self._bodies)
        app.router.add_post("/script", self._script)
        self.add_routes(app)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024)
        await site.start()
        self.port = runner.addresses[0][1]
        if announce:
            print(json.dumps({"port": self.port, "url": self.url}), flush=True)
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    def add_routes(self, app: web.Application) -> None:
        """What a server that knows more adds."""

    # -- books and script

    def stats(self) -> dict[str, Any]:
        """The books as JSON. answered_twice: prompts that were answered more than once."""
        return {
            "calls": self.calls,
            "answers": self.answered.total(),
            "prompts": len(self.asked),
            "prompts_answered": len(self.answered),
            "answered_twice": sum(1 for n in self.answered.values() if n > 1),
            "statuses": dict(self.statuses),
            "injected": dict(self.injected),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "in_flight": self.in_flight,
            "peak": self.peak,
        }

    def script(self, **settings: Any) -> None:
        """Set attributes by name; `reset=True` empties the books; `seed=N` restarts the dice."""
        if settings.pop("reset", False):
            self.reset()
        if (seed := settings.pop("seed", None)) is not None:
            self._random.seed(seed)
        for name, value in settings.items():
            if name not in vars(self) or name.startswith("_"):
                raise KeyError(name)
            setattr(self, name, set(value) if name == "rejects" else value)

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response(
            self.stats() | {"answered": dict(self.answered), "asked": dict(self.asked)}
        )

    async def _bodies(self, request: web.Request) -> web.Response:
        return web.json_response(self.bodies)

    async def _script(self, request: web.Request) -> web.Response:
        try:
            self.script(**await request.json())
        except KeyError as error:
            return web.json_response({"error": f"unknown setting {error}"}, status=400)
        return web.json_response({})

    async def _models(self, request: web.Request) -> web.Response:
        if not self._may(request):
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        return web.json_response(
            {"object": "list", "data": [{"id": m, "object": "model"} for m in self.models]}
        )

    def _may(self, request: web.Request) -> bool:
        return self.key is None or request.headers.get("Authorization") == f"Bearer {self.key}"

    # -- answering

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body: Body = orjson.loads(raw)
        self.calls += 1
        if self.keep_bodies:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        prompt = prompt_digest(body)
        self.asked[prompt] += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            fault = self._next_fault(body)
            if fault is not None:
                self.injected[fault] += 1
            response = await self._respond(request, body, raw, fault)
        finally:
            self.in_flight -= 1
        self.statuses[str(response.status)] += 1
        return response

    def _next_fault(self, body: Body) -> str | None:
        if self.down is not None:
            return self.down
        if self.per_minute is not None:
            now = time.monotonic()
            self._bucket = min(
                self.burst, self._bucket + (now - self._filled) * self.per_minute / 60
            )
            self._filled = now
            if self._bucket < 1:
                return "429-none" if self.retry_after is None else f"429:{self.retry_after:g}"
            self._bucket -= 1
        if self.fault_for is not None and (fault := self.fault_for(body)) is not None:
            return fault
        if self.faults:
            return self.faults.pop(0)
        dice = self._random.random() if self.fault_rates else 1.0
        for name, probability in self.fault_rates.items():
            if dice < probability:
                return name
            dice -= probability
        return None

    async def _respond(
        self, request: web.Request, body: Body, raw: bytes, fault: str | None
    ) -> web.StreamResponse:
        if not self._may(request):
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        if self.strict_models and body.get("model") not in self.models:
            return _error(404, f"The model `{body.get('model')}` does not exist", "model_not_found")
        if (refusal := self._rejection(body)) is not None:
            return refusal
        kind, _, argument = (fault or "").partition(":")
        if kind == "echo":
            return _error(400, f"cannot serve: {prompt_text(body)}", "invalid_request_error")
        if (refused := await self._refuse(request, kind, argument)) is not None:
            return refused
        if self.latency:
            await asyncio.sleep(
                self.latency * (self._random.lognormvariate(0, self.sigma) if self.sigma else 1)
            )
        reply = self._reply(body, raw, kind)
        if kind == "no_usage":
            del reply["usage"]
        if kind == "no_choices":
            del reply["choices"]
        data = orjson.dumps(reply)
        response = await self._deliver(request, data, kind, argument)
        if response.status == 200 and kind not in (
            "empty",
            "html",
            "bad_json",
            "gzip",
            "truncated",
            "no_choices",
        ):
            self.answered[prompt_digest(body)] += 1
        return response

    def _rejection(self, body: Body) -> web.Response | None:
        form = body.get("response_format") or {}
        if "response_format" in self.rejects and form:
            return _error(
                400, "'response_format' is not supported by this server", "invalid_request_error"
            )
        if "json_schema" in self.rejects and form.get("type") == "json_schema":
            return _error(
                400, "response_format.type json_schema is unavailable", "invalid_request_error"
            )
        if "max_tokens" in self.rejects and "max_tokens" in body:
            said = (
                "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'"
                " instead."
            )
            return _error(400, said, "unsupported_parameter", "max_tokens")
        for name in ("temperature", "seed"):
            if name in self.rejects and name in body:
                return _error(
                    400, f"Unsupported value: '{name}' is not supported", "unsupported_value", name
                )
        return None

    async def _refuse(
        self, request: web.Request, kind: str, argument: str
    ) -> web.StreamResponse | None:
        """The faults that give no answer at all."""
        headers: dict[str, str] = {}
        if kind.startswith("429"):
            form = kind[4:] or "seconds"
            if form == "seconds":
                headers["Retry-After"] = argument or "1"
            elif form == "date":
                headers["Retry-After"] = formatdate(time.time() + float(argument or 1), usegmt=True)
            elif form == "ms":
                headers["retry-after-ms"] = argument or "1000"
            elif form == "reset":
                headers |= {
                    "x-ratelimit-remaining-requests": "0",
                    "x-ratelimit-reset-requests": argument or "1s",
                }
            return _error(
                429, "Rate limit reached for requests", "rate_limit_exceeded", headers=headers
            )
        if kind == "quota":
            return _error(429, "You exceeded your current quota", "insufficient_quota")
        if kind == "too_long":
            said = "This model's maximum context length is 4096 tokens, you requested 9000"
            return _error(400, said, "context_length_exceeded")
        if kind == "filter":
            return _error(400, "The prompt was filtered", "content_filter")
        if kind == "echo_key":
            return _error(
                401, f"Wrong key: {request.headers.get('Authorization', '')}", "invalid_api_key"
            )
        if kind == "redirect":
            return web.Response(
                status=307, headers={"Location": argument or "http://127.0.0.1:9/v1"}
            )
        if kind == "error200":
            code = int(argument or 502)
            return web.json_response(
                {"error": {"message": "the upstream model failed", "code": code}}
            )
        if STATUS.fullmatch(kind):
            if argument:
                headers["Retry-After"] = argument
            if kind == "403" and argument == "quota":
                return _error(403, "You exceeded your current quota", "insufficient_quota")
            return _error(int(kind), f"scripted {kind}", f"scripted_{kind}", headers=headers)
        if kind == "reset":
            transport = request.transport
            assert transport is not None
            sock = transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
            return web.Response(status=500)
        if kind == "silence":
            await asyncio.sleep(3600)
        return None

    async def _deliver(
        self, request: web.Request, data: bytes, kind: str, argument: str
    ) -> web.StreamResponse:
        if kind == "empty":
            return web.Response(body=b"")
        if kind == "html":
            return web.Response(
                text="<!doctype html><title>Please log in</title>", content_type="text/html"
            )
        if kind == "bad_json":
            return web.Response(body=data[: len(data) // 2], content_type="application/json")
        if kind == "gzip":
            return web.Response(
                body=b"\x1f\x8b\x08\x00broken", headers={"Content-Encoding": "gzip"}
            )
        if kind in ("truncated", "huge", "slow"):
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            if kind == "truncated":
                response.content_length = len(data)
            await response.prepare(request)
            if kind == "truncated":
                await response.write(data[: len(data) // 2])
                assert request.transport is not None
                request.transport.close()
            elif kind == "huge":
                for _ in range(int(argument or 40)):
                    await response.write(b" " * 2**20)
            else:
                for byte in data:
                    await response.write(bytes([byte]))
                    await asyncio.sleep(1 / float(argument or 1))
            return response
        return web.Response(body=data, content_type="application/json")

    def _reply(self, body: Body, raw: bytes, kind: str) -> dict[str, Any]:
        answer = self.answer(body) if self.answer is not None else None
        if answer is None:
            answer = judge(body)
        if (self.half or kind == "half") and isinstance(answer, dict):
            answer = {k: v[: len(v) // 2] if isinstance(v, list) else v for k, v in answer.items()}
        if kind == "wrong_schema":
            answer = {"unexpected": [1, 2, 3]}
        content = answer if isinstance(answer, str) else json.dumps(answer)
        if self.prose or kind == "prose":
            content = f"Here is what I think.\n\n```json\n{content}\n```\nI hope that this helps."
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        finish = "stop"
        if kind == "length":
            message["content"], finish = content[: len(content) // 2], "length"
        elif kind == "null":
            message["content"] = None
        elif kind == "refusal":
            message |= {"content": None, "refusal": "I cannot help with that."}
        given, written = max(1, len(raw) // 4), max(1, len(content) // 4)
        self.input_tokens += given
        self.output_tokens += written
        self.cost += (given * self.price[0] + written * self.price[1]) / 1e6
        return {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": given,
                "completion_tokens": written,
                "total_tokens": given + written,
                "prompt_tokens_details": {"cached_tokens": given // 2},
            },
        }


def prompt_digest(body: Body) -> str:
    """Stands for what was asked, whatever the parameters it was asked with."""
    return hashlib.blake2b(orjson.dumps(body.get("messages")), digest_size=12).hexdigest()


def prompt_text(body: Body) -> str:
    """All messages as one text."""
    return "\n".join(str(m.get("content") or "") for m in body.get("messages") or [])


# -- the default judge: a valid reply for whatever was asked, by plain word overlap

FENCE = re.compile(r"<<<([^\n|<>]+) \| ([0-9a-f]+)>>>\n(.*?)\n<<<end \| \2>>>", re.S)
ITEM = re.compile(r"with the id (\S+):\n")
DECLINES = re.compile(
    r"\b(?:do(?:es)? not (?:say|know|mention|state)|don't know|cannot (?:answer|say|tell)|no"
    r" information|unable to)\b",
    re.I,
)
SENTENCE = re.compile(r"[^.!?]+[.!?]?")
NUMBER = re.compile(r"\d+")
NAMED = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|\d[\d.,]*\d|\d")
FORBIDS = re.compile(r"(?:do not|don't|never|no)\b", re.I)
# Flags of the safety rubric -> words that set them.
HARMS = {
    "violence": "kill|stab|beat up",
    "self_harm": "hurt yourself|starve yourself",
    "hate": "vermin",
    "sexual": "porn",
    "crime": "steal|pick the lock",
    "toxicity": "idiot|stupid",
    "bias": "people like them|those people",
    "pii": r"home address|\d{3}-\d{2}-\d{4}",
    "other_harm": "bleach cures",
}


def judge(body: Body) -> dict[str, Any] | str:
    """A valid, deterministic reply to any prompt of ours, or an instance of any other schema.

    A claim is rated by the share of its words that the passages have, a passage or an answer by the
    share of the question's words that it has, a response by the share of the statements' words, a
    text to compare with by the share of the claim's. The schema is read from the prompt where the
    server takes none.
    """
    form = (body.get("response_format") or {}).get("json_schema") or {}
    schema = form.get("schema") or embedded_schema(prompt_text(body))
    if schema is None:
        return "I see no schema to follow."
    items = ((schema.get("properties") or {}).get("verdicts") or {}).get("items") or {}
    fields: dict[str, Any] = items.get("properties") or {}
    prompt = str(body["messages"][-1].get("content"))
    starts = {m.end(): m[1] for m in ITEM.finditer(prompt)}
    texts = {starts[m.start()]: m[3] for m in FENCE.finditer(prompt) if m.start() in starts}
    if fields.keys() & {"claims", "texts"} or (texts and fields.keys() & {"rating", "quotes"}):
        others = [(m[1], m[3]) for m in FENCE.finditer(prompt) if m.start() not in starts]
        return {
            "verdicts": [verdict(i, texts.get(i, ""), others, fields) for i in fields["id"]["enum"]]
        }
    instance = fill(schema, schema, "", random.Random(prompt_digest(body)))
    assert isinstance(instance, dict)
    return instance


def verdict(
    name: str, text: str, others: list[tuple[str, str]], fields: dict[str, Any]
) -> dict[str, Any]:
    """One entry of a reply: the fields that are asked for, no others."""
    sentences = [m[0].strip() for m in SENTENCE.finditer(text) if m[0].strip(" .!?\n")]
    declines = DECLINES.search(text) is not None
    if "claims" in fields:
        return {
            "id": name,
            "claims": [{"text": sentence, "trivial": False} for sentence in sentences],
        }
    if "texts" in fields:
        count = next((int(other) for label, other in others if label == "count"), None)
        listed = (
            list(dict.fromkeys(NAMED.findall(text)))
            if count is None
            else questions(sentences, count)
        )
        return {"id": name, "texts": listed} | (
            {"noncommittal": declines} if "noncommittal" in fields else {}
        )
    question = " ".join(other for label, other in others if label.startswith("question"))
    if "rating" not in fields:
        return {
            "id": name,
            "quotes": [{"text": s} for s in sentences if overlap(question, s) >= 0.3],
        }
    entry = {
        "id": name,
        **rated(text, others, question, fields["rating"]["enum"], declines, fields),
    }
    return {field: entry.get(field, False) for field in fields}


def rated(
    text: str,
    others: list[tuple[str, str]],
    question: str,
    scale: list[Any],
    declines: bool,
    fields: dict[str, Any],
) -> dict[str, Any]:
    """A rating on the scale, which is listed from the worst to the best, and what goes with it."""
    passages = [other for label, other in others if label.startswith("passage")]
    statements = [other for label, other in others if label.startswith("statement")]
    against = next((other for label, other in others if label in ("text", "other")), None)
    response = next((other for label, other in others if label == "response"), "")
    guideline = (
        not passages and bool(response) and "declined" not in fields
    )  # the item is checked against the response
    if "violence" in fields:
        harms = {flag: re.search(words, text, re.I) is not None for flag, words in HARMS.items()}
        return {
            "reasoning": "By the words in it.",
            "rating": scale[0 if any(harms.values()) else -1],
            **harms,
        }
    if statements:
        share = min(overlap(statement, " ".join(passages) or text) for statement in statements)
    elif passages:
        share = overlap(text, " ".join(passages))
    elif against is not None:
        share = overlap(text, against)
    elif guideline:
        share = overlap(text, response)
        share = float(share < 0.5 if FORBIDS.match(text) else share >= 0.3)
    else:
        share = overlap(question, text)
    cuts = (0.3, 0.6, 0.8) if passages else (0.15, 0.4, 0.6)
    step = sum(share >= cut for cut in cuts)
    if declines and not guideline:
        step = 3 if "abstention" in fields else 0
    rating = scale[step * (len(scale) - 1) // 3]
    if scale[1:] in (["not_stated", "stated"], ["not_attempted", "correct"]):
        clashes = set(NUMBER.findall(text)) - set(NUMBER.findall(against or ""))
        wrong = share >= 0.3 and bool(clashes) if against is not None else not declines
        rating = scale[-1] if step == 3 else scale[0 if wrong else 1]
    sources = (
        [n for n, passage in enumerate(passages, 1) if overlap(text, passage) >= 0.6]
        if not declines
        else []
    )
    if "supported_by" in fields and scale == ["no", "yes"]:
        rating = scale[bool(sources)]
    elif step < 2:
        sources = []
    elif not sources and not declines:  # only together do they have the words
        sources = [n for n, passage in enumerate(passages, 1) if overlap(text, passage) >= 0.3]
    return {
        "reasoning": f"{share:.0%} of the words are there.",
        "quotes": quote(text, passages) if step and not declines else [],
        "supported_by": sources,
        "nothing_found": step == 0,
        "abstention": declines,
        "declined": declines,
        "rating": rating,
    }


def questions(sentences: list[str], count: int) -> list[str]:
    """So many questions, each made of a sentence of the response."""
    said = sentences or ["this"]
    opened = ("Is it so that", "Why is it that", "Since when is it that", "Who says that")
    return [
        f"{opened[n // len(said) % len(opened)]} {said[n % len(said)].rstrip('.!?')}?"
        for n in range(count)
    ]


def quote(text: str, passages: list[str]) -> list[dict[str, Any]]:
    """The sentence of the passages that has most words of the text, verbatim."""
    sentences = [
        (n, m[0].strip())
        for n, passage in enumerate(passages, 1)
        for m in SENTENCE.finditer(passage)
    ]
    if not sentences:
        return []
    number, best = max(sentences, key=lambda found: overlap(text, found[1]))
    return [{"passage": number, "text": best}]


def embedded_schema(text: str) -> dict[str, Any] | None:
    """The last JSON schema that stands in a text (a judge writes it there when the server takes
    none).
    """
    decoder, start = (
        json.JSONDecoder(),
        re.compile(r"\{\s*\"(?:type|properties|\$defs|title|additionalProperties)\""),
    )
    found, at = None, 0
    while (match := start.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, match.start())
        except ValueError:
            at = match.end()
        else:
            found = value if isinstance(value.get("properties"), dict) else found
    return found


def fill(schema: dict[str, Any], root: dict[str, Any], name: str, dice: random.Random) -> Any:
    """An instance of `schema`: arrays of objects with an id enum hold each id once."""
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        schema = target
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return dice.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if schema.get(several):
            return fill(schema[several][0], root, name, dice)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(k for k in kind if k != "null")
    if kind == "object":
        return {k: fill(s, root, k, dice) for k, s in (schema.get("properties") or {}).items()}
    if kind == "array":
        items = schema.get("items") or {}
        ids = ((items.get("properties") or {}).get("id") or {}).get("enum")
        if ids:
            return [fill(items, root, name, dice) | {"id": i} for i in ids]
        return [fill(items, root, name, dice) for _ in range(max(schema.get("minItems", 0), 1))]
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0) + 1)
        return dice.randint(int(low), int(high))
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "null":
        return None
    if name in ("quote", "evidence", "quotes"):
        return ""
    return "The text says so in as many words."


def overlap(text: str, source: str) -> float:
    """Share of the text's words (3 letters or more) that the source has; 0 for a text without
    words.
    """
    words = set(WORD.findall(text.lower()))
    return len(words & set(WORD.findall(source.lower()))) / len(words) if words else 0.0


# -- the server as a process of its own


class ServerProcess:
    """`python llm_server.py` as a context manager: outlives the client process, scripted over HTTP."""

    program = __file__

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.url = ""

    def __enter__(self) -> ServerProcess:
        command = [sys.executable, str(Path(self.program).resolve()), "--until-stdin-closes"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.url = json.loads(self._process.stdout.readline())["url"]
        self.script(**self._settings)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._process.stdout.close()
        self._process.stdin.close()

    def stats(self) -> dict[str, Any]:
        """The server's books."""
        return dict(self._ask("/stats", None))

    def bodies(self) -> list[Body]:
        """The requests kept so far; none are unless `script(keep_bodies=True)`."""
        return list(self._ask("/bodies", None))

    def script(self, **settings: Any) -> None:
        """See `LLMServer.script` (JSON values only)."""
        self._ask("/script", json.dumps(settings).encode())

    def _ask(self, path: str, data: bytes | None) -> Any:
        address = self.url.removesuffix("/v1") + path
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(address, data=data), timeout=10) as reply:
            return json.load(reply)


def main(kind: type[LLMServer] = LLMServer) -> None:
    """Serve on the command line until interrupted; the first line of output is {"port": ..., "url":
    ...}.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument(
        "--sigma", type=float, default=0.0, help="of a lognormal spread of the latency"
    )
    parser.add_argument("--key")
    parser.add_argument("--no-schema", action="store_true")
    parser.add_argument("--faults", default="", help="comma-separated, one a request")
    parser.add_argument("--fault-rates", default="", help="such as 429=0.05,500=0.02")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end with the process that started it"
    )
    a = parser.parse_args()
    if a.until_stdin_closes:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    rates = dict(part.split("=") for part in a.fault_rates.split(",") if part)
    server = kind(
        port=a.port,
        latency=a.latency,
        sigma=a.sigma,
        key=a.key,
        no_schema=a.no_schema,
        seed=a.seed,
        faults=[fault or None for fault in a.faults.split(",")] if a.faults else (),
        fault_rates={name: float(value) for name, value in rates.items()},
        keep_bodies=False,
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(announce=True))


def _error(
    status: int,
    message: str,
    code: str,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> web.Response:
    error = {"message": message, "type": code, "code": code, "param": param}
    return web.json_response({"error": error}, status=status, headers=headers)


if __name__ == "__main__":
    main()
