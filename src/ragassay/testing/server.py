"""The local LLM server: real HTTP on the loopback, the OpenAI protocol, a script and a record.

The server records requests, answers by prompt, tokens and dollars. They are a test's oracle: what
was bought is what the server says was bought (`answered_twice` is 0 where nothing was paid twice).

A fault is one word, with an argument after a colon where it takes one:

    429[:SECONDS] 429-date:SECONDS 429-ms:MS 429-reset:DURATION 429-none quota
    400 401 402 403 404 408 409 413 425 500 501 502 503 504 529 (any status)   too_long  filter
    reset  truncated  gzip  empty  html  bad_json  no_choices  error200[:CODE]  redirect[:URL]
    wrong_schema  length  null  refusal  no_usage  huge[:MB]  slow[:BYTES_A_SECOND]  silence  half
    prose echo (400 with the prompt in it)  echo_key (401 with the key in it)  json_failed
    bom 201 (a reply behind a byte order mark, or as something created)
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal, Self

import orjson
from aiohttp import web

from ragassay.testing.prompts import Body, is_known_example, prompt_digest, prompt_text
from ragassay.testing.replies import (
    UNREADABLE,
    deliver,
    deliver_stream,
    error,
    limit_of,
    message_of,
    refusal,
    rejection,
    too_many_tokens,
    with_thoughts,
)
from ragassay.testing.word_judge import answer_by_words

Answer = Callable[[Body], "dict[str, Any] | list[Any] | str | None"]
"""A request's body -> the reply's JSON or text; None for the reply of `answer_by_words`."""


class LLMServer:
    """The server with its script and its record. Attributes may be changed while it runs.

    answer: the reply to a request (see `Answer`). latency: seconds before a reply; sigma: of a
    lognormal spread around it. key: the API key that it wants. models: what /models lists; a call
    for another model is a 404 where `strict_models`. rejects: request fields that it answers with
    400; `replies.rejection` knows which. no_schema: short for rejects={"response_format"}. half:
    answers only half of the items asked. prose: wraps the JSON in prose. thinks: tokens that the
    model thinks before it answers, out of the request's limit; thoughts: where these go ("hidden",
    "field" for reasoning_content, "tags" for <think> in the content). most_tokens: the longest
    reply that may be asked for. context: tokens of prompt and reply together. streams: "asked" (a
    stream where it is asked for), "only" (400 else), "always". faults: one entry a request, None
    for a reply; after the list has run out, fault_rates (name -> probability) apply. fault_for: a
    fault by the request's body, asked first. price: dollars per million input and output tokens.
    per_minute, burst: a token bucket of requests; retry_after: seconds that its refusals name,
    None for none. down: a fault for every request. port: 0 for any free one. keep_bodies: keep
    each request's body and headers.

    A request about the known example, by which RagAssay learns a model, is answered by words and
    counts in `preflights` and in the bill alone, so that a script is about rows; known_example:
    False makes it a request like any other.
    """

    def __init__(  # plain: it is the list of what can be scripted
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
        thinks: int = 0,
        thoughts: Literal["hidden", "field", "tags"] = "hidden",
        most_tokens: int | None = None,
        context: int | None = None,
        streams: Literal["asked", "only", "always"] = "asked",
        known_example: bool = True,
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
        self.answer = answer
        self.latency = latency
        self.sigma = sigma
        self.key = key
        self.models = list(models)
        self.strict_models = strict_models
        self.rejects = set(rejects)
        if no_schema:
            self.rejects.add("response_format")
        self.half = half
        self.prose = prose
        self.thinks = thinks
        self.thoughts = thoughts
        self.most_tokens = most_tokens
        self.context = context
        self.streams = streams
        self.known_example = known_example
        self.faults: list[str | None] = list(faults)
        self.fault_rates = dict(fault_rates or {})
        self.fault_for = fault_for
        self.price = price
        self.per_minute = per_minute
        self.burst = burst
        self.retry_after = retry_after
        self.down = down
        self.port = port
        self.keep_bodies = keep_bodies
        self._bucket = burst
        self._bucket_filled = time.monotonic()
        self._random = random.Random(seed)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self.reset()

    def reset(self) -> None:
        """Empty the record."""
        self.calls = 0
        self.preflights = 0
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: Counter[str] = Counter()
        self.injected: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.input_tokens = 0
        self.output_tokens = 0
        self.cost = 0.0
        self.in_flight = 0
        self.peak = 0

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
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

    def _run(self) -> None:
        asyncio.run(self.serve())

    async def serve(self, announce: bool = False) -> None:
        """Serve until stopped. announce: print {"port": ..., "url": ...} once it listens."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        # aiohttp's own limit of 1 MB would refuse the long prompts that tests send.
        app = web.Application(client_max_size=2**30)
        for root in ("/v1", "/openai/deployments/{deployment}"):  # the second is classic Azure's
            app.router.add_post(f"{root}/chat/completions", self._chat)
            app.router.add_get(f"{root}/models", self._models)
        app.router.add_get("/stats", self._stats)
        app.router.add_get("/bodies", self._bodies)
        app.router.add_post("/script", self._script)
        self.add_routes(app)
        # Handlers are cancelled with their client: a silent one would hold up the server's end.
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
        """Add the routes of a server that knows more; this one has no more."""

    def stats(self) -> dict[str, Any]:
        """The record as JSON. answered_twice: prompts that were answered more than once."""
        return {
            "calls": self.calls,
            "preflights": self.preflights,
            "answers": self.answered.total(),
            "prompts": len(self.asked),
            "prompts_answered": len(self.answered),
            "answered_twice": sum(1 for count in self.answered.values() if count > 1),
            "statuses": dict(self.statuses),
            "injected": dict(self.injected),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "in_flight": self.in_flight,
            "peak": self.peak,
        }

    def script(self, **settings: Any) -> None:
        """Set attributes by name. reset=True empties the record; seed=N restarts the dice.

        Raises KeyError for a name that is no setting.
        """
        if settings.pop("reset", False):
            self.reset()
        seed = settings.pop("seed", None)
        if seed is not None:
            self._random.seed(seed)
        for name, value in settings.items():
            if name not in vars(self) or name.startswith("_"):
                raise KeyError(name)
            setattr(self, name, set(value) if name == "rejects" else value)

    async def _stats(self, request: web.Request) -> web.Response:
        prompts = {"answered": dict(self.answered), "asked": dict(self.asked)}
        return web.json_response(self.stats() | prompts)

    async def _bodies(self, request: web.Request) -> web.Response:
        return web.json_response(self.bodies)

    async def _script(self, request: web.Request) -> web.Response:
        try:
            self.script(**await request.json())
        except KeyError as unknown:
            return web.json_response({"error": f"unknown setting {unknown}"}, status=400)
        return web.json_response({})

    async def _models(self, request: web.Request) -> web.Response:
        if not self._has_key(request):
            return error(401, "Incorrect API key provided", "invalid_api_key")
        models = [{"id": model, "object": "model"} for model in self.models]
        return web.json_response({"object": "list", "data": models})

    def _has_key(self, request: web.Request) -> bool:
        if self.key is None:
            return True
        # Classic deployments of Azure want it in a header of their own.
        if "api-version" in request.query:
            return request.headers.get("api-key") == self.key
        return request.headers.get("Authorization") == f"Bearer {self.key}"

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body: Body = orjson.loads(raw)
        if self.known_example and is_known_example(body):
            return await self._answer_known_example(request, body, raw)
        self.calls += 1
        if self.keep_bodies:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        self.asked[prompt_digest(body)] += 1
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

    async def _answer_known_example(
        self, request: web.Request, body: Body, raw: bytes
    ) -> web.StreamResponse:
        """A preflight's request: the server refuses what it refuses of any, and judges by words."""
        self.preflights += 1
        fault = self.down or ""
        kind, _, argument = fault.partition(":")
        refused = self._rejection(request, body) or await refusal(request, kind, argument)
        if refused is not None:
            return refused
        reply = self._reply(body, raw, "", answer_by_words(body))
        return await self._deliver(request, body, reply, "", "")

    def _next_fault(self, body: Body) -> str | None:
        if self.down is not None:
            return self.down
        if self.per_minute is not None and not self._take_token(self.per_minute):
            return "429-none" if self.retry_after is None else f"429:{self.retry_after:g}"
        if self.fault_for is not None:
            fault = self.fault_for(body)
            if fault is not None:
                return fault
        if self.faults:
            return self.faults.pop(0)
        if not self.fault_rates:
            return None
        dice = self._random.random()
        for name, probability in self.fault_rates.items():
            if dice < probability:
                return name
            dice -= probability
        return None

    def _take_token(self, per_minute: float) -> bool:
        """Whether the bucket of requests held one, which is then gone."""
        now = time.monotonic()
        refill = (now - self._bucket_filled) * per_minute / 60
        self._bucket = min(self.burst, self._bucket + refill)
        self._bucket_filled = now
        if self._bucket < 1:
            return False
        self._bucket -= 1
        return True

    async def _respond(
        self, request: web.Request, body: Body, raw: bytes, fault: str | None
    ) -> web.StreamResponse:
        refused = self._rejection(request, body)
        if refused is not None:
            return refused
        kind, _, argument = (fault or "").partition(":")
        if kind == "echo":
            return error(400, f"cannot serve: {prompt_text(body)}", "invalid_request_error")
        no_answer = await refusal(request, kind, argument)
        if no_answer is not None:
            return no_answer
        if self.latency:
            spread = self._random.lognormvariate(0, self.sigma) if self.sigma else 1
            await asyncio.sleep(self.latency * spread)
        reply = self._reply(body, raw, kind)
        if kind == "no_usage":
            del reply["usage"]
        if kind == "no_choices":
            del reply["choices"]
        response = await self._deliver(request, body, reply, kind, argument)
        # What cannot be read was not bought: a client that asks again is no double purchase.
        if response.status < 300 and kind not in UNREADABLE:
            self.answered[prompt_digest(body)] += 1
        return response

    def _rejection(self, request: web.Request, body: Body) -> web.Response | None:
        """The error for a request that this server never answers."""
        if not self._has_key(request):
            return error(401, "Incorrect API key provided", "invalid_api_key")
        if self.strict_models and body.get("model") not in self.models:
            message = f"The model `{body.get('model')}` does not exist"
            return error(404, message, "model_not_found")
        refused = rejection(body, self.rejects)
        if refused is not None:
            return refused
        if self.streams == "only" and not body.get("stream"):
            return error(400, "This model only supports streaming (stream=true)", "invalid_request")
        return too_many_tokens(body, self.most_tokens, self.context)

    async def _deliver(
        self, request: web.Request, body: Body, reply: dict[str, Any], kind: str, argument: str
    ) -> web.StreamResponse:
        if "choices" in reply and (self.streams == "always" or body.get("stream")):
            return await deliver_stream(request, reply)
        return await deliver(request, orjson.dumps(reply), kind, argument)

    def _reply(
        self,
        body: Body,
        raw: bytes,
        kind: str,
        answer: dict[str, Any] | list[Any] | str | None = None,
    ) -> dict[str, Any]:
        if answer is None and self.answer is not None:
            answer = self.answer(body)
        if answer is None:
            answer = answer_by_words(body)
        message, finish, length = message_of(answer, kind, half=self.half, prose=self.prose)
        # Four characters are about one token.
        prompt_tokens = max(1, len(raw) // 4)
        completion_tokens = max(1, length // 4)
        usage: dict[str, Any] = {}
        if self.thinks:
            message, finish, completion_tokens = with_thoughts(
                message, finish, completion_tokens, limit_of(body), self.thinks, self.thoughts
            )
            thought = min(self.thinks, completion_tokens)
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        self.input_tokens += prompt_tokens
        self.output_tokens += completion_tokens
        cost = prompt_tokens * self.price[0] + completion_tokens * self.price[1]
        self.cost += cost / 1e6
        return {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
                "prompt_tokens_details": {"cached_tokens": prompt_tokens // 2},
                **usage,
            },
        }
