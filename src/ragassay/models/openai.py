"""Chat calls to a server that speaks the OpenAI protocol (hosted, vLLM, Ollama, a gateway).

One attempt a call; the runner retries. What a server does not support (a JSON schema, a seed ...)
is learnt from its own refusal, once for a model object, and the call is sent again without it. The
texts and the key go to the configured host and nowhere else: redirects are not followed and proxy
settings of the environment are not read.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace

import aiohttp
import orjson
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    ChatReply,
    Message,
    Reply,
    SetupError,
    Spend,
    claim_memory,
    nearest,
    shorten,
)
from ragassay.models.base_url import checked_url, host_of
from ragassay.models.dialect import TOO_LONG, Dialect, without_refused
from ragassay.models.prices import Rate, price
from ragassay.models.redaction import redact
from ragassay.models.retry_after import retry_after
from ragassay.models.server_reply import (
    MAX_BODY,
    MAX_ERROR,
    content_text,
    parse_json,
    read_body,
    token_counts,
)

HOSTED = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
CONNECT_SECONDS = 10.0
MAX_CHANGES = 6  # parameters that one call may learn to leave out; a Dialect has five

FINISH = {
    "": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "safety": "content_filter",
}
UNKNOWN_MODEL = re.compile(
    r"model_not_found|invalid model|unknown model|no such model|model.{0,200}(?:not found|not"
    r" exist)",
    re.I | re.S,
)
NO_MONEY = re.compile(
    r"insufficient_quota|billing_hard_limit|insufficient[ _]balance|credit balance|out of credits",
    re.I,
)


class OpenAIModel:
    """A chat model behind `base_url`. Use `open_model` (or `connect`) to build one from names and
    the environment.

    key: None sends no Authorization. concurrency: size of the pool of connections. timeout: seconds
    for a whole attempt, a backstop behind the runner's own deadline. `replies_without_usage` counts
    answers whose server said nothing about tokens: their Spend has 0 tokens and cost None, as
    neither was measured. May be used from one event loop after another; `close()` in each loop lets
    go of that loop's connections.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = HOSTED,
        key: str | None = None,
        rate: Rate | None = None,
        concurrency: int = 32,
        timeout: float = 600.0,
    ) -> None:
        self.name = name
        self.base_url = checked_url(base_url)
        self.replies_without_usage = 0
        url = URL(self.base_url)
        self._chat, self._list, self._host = url / "chat/completions", url / "models", host_of(url)
        self._rate = rate
        self._key, self._concurrency, self._timeout = key, concurrency, timeout
        # The name too: providers limit each model of a key by itself.
        self._lane = hashlib.sha256(
            "\0".join((self.base_url, name, key or "")).encode()
        ).hexdigest()[:24]
        self._dialect = Dialect()
        self._accepted: frozenset[str] = frozenset()
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._known_models: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.base_url!r})"

    @property
    def uri(self) -> str:
        """ "openai:NAME"."""
        return f"openai:{self.name}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that see the texts."""
        return (self._host,)

    @property
    def concurrency(self) -> int | None:
        """How many connections it keeps."""
        return self._concurrency

    def lane(self, call: ChatCall) -> str:
        """A hash of the address and the key: calls of one lane share the provider's limits."""
        return self._lane

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars, from the user's rate or the provider's list; None when not known (a local
        gateway may cost money).
        """
        return self._price(input_tokens, output_tokens, 0)

    async def call(self, call: Call) -> Reply:
        """One attempt; see Model. `spend.calls` counts the requests sent: over 1 when the server
        had to be learnt.
        """
        if not isinstance(call, ChatCall):
            raise CallError("bad_request", f"{self.uri} answers chat calls only", fatal=True)
        started = time.monotonic()
        dialect = self._dialect
        for sent in range(1, MAX_CHANGES + 2):
            status, headers, body = await self._send("POST", self._chat, self._body(call, dialect))
            if status == 200:
                reply = self._reply(
                    body, headers, Spend(calls=sent, seconds=time.monotonic() - started)
                )
                self._accepted |= dialect.features(call)
                return reply
            text = self._error_text(body)
            if status in (400, 422) and "content_filter" in text:
                return ChatReply(
                    "", "content_filter", self.name, Spend(sent, seconds=time.monotonic() - started)
                )
            changed = without_refused(dialect, call, status, text)
            if changed is None:
                break
            # What the server has accepted before it refuses for this one call only (or it echoes a
            # hostile row).
            refused = dialect.features(call) - changed.features(call)
            if self._dialect == dialect and not refused & self._accepted:
                self._dialect = changed
            dialect = changed
        if self._is_unknown_model(status, text):
            text = await self._explain_model(text)
        raise self._failure(status, headers, text)

    async def close(self) -> None:
        """Let go of the connections that belong to the running loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    # -- request

    def _body(self, call: ChatCall, dialect: Dialect) -> bytes:
        messages = call.messages
        if call.schema is not None and dialect.format != "json_schema":
            messages = _with_schema(messages, call.schema)
        body: dict[str, object] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            dialect.limit: call.max_tokens,
        }
        if call.temperature is not None and dialect.temperature:
            body["temperature"] = call.temperature
        if call.seed is not None and dialect.seed:
            body["seed"] = call.seed
        if call.schema is not None and dialect.format == "json_schema":
            schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif call.schema is not None and dialect.format:
            body["response_format"] = {"type": dialect.format}
        claim_memory(sum([len(m.content) for m in messages]))
        try:
            return orjson.dumps(body, default=_plain)
        except TypeError:
            # Half of a surrogate pair has no UTF-8; the model is shown U+FFFD in its place.
            body["messages"] = [{"role": m.role, "content": _valid(m.content)} for m in messages]
            return orjson.dumps(body, default=_plain)

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            # A loop that ended without `close` leaves its session behind.
            self._sessions = {
                other: its_session
                for other, its_session in self._sessions.items()
                if not other.is_closed()
            }
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": "ragassay",
                # Replies are small: unpacking costs more than it saves.
                "Accept-Encoding": "identity",
            }
            if self._key is not None:
                headers["Authorization"] = f"Bearer {self._key}"
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._concurrency, keepalive_timeout=30, ttl_dns_cache=300
                ),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                trust_env=False,
            )
        return session

    async def _send(
        self, method: str, url: URL, data: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        # aiohttp's exceptions hold the request with its Authorization header, so none may hang on
        # ours as context: the failure is built inside the except clause and raised after it.
        try:
            async with self._session().request(
                method, url, data=data, allow_redirects=False
            ) as response:
                limit = MAX_BODY if response.status == 200 else MAX_ERROR
                return response.status, response.headers, await read_body(response, limit)
        except CallError as error:
            failure = error
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            # A TimeoutError is among them: it is an OSError.
            failure = self._broken(error)
        raise failure

    def _broken(self, error: Exception) -> CallError:
        what = self._clean(f"{self._host}: {error or type(error).__name__}")
        if isinstance(error, aiohttp.InvalidURL):
            return CallError("bad_request", what, fatal=True)
        # Nothing was sent, so nothing can be billed.
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return CallError("network", what, retryable=True)
        if isinstance(error, TimeoutError):
            return CallError(
                "timeout",
                f"{self._host}: no complete answer in time",
                retryable=True,
                maybe_billed=True,
            )
        if isinstance(
            error, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, HttpProcessingError)
        ):
            return CallError(
                "bad_reply", f"the reply is damaged: {what}", retryable=True, maybe_billed=True
            )
        return CallError(
            "network", f"the connection broke: {what}", retryable=True, maybe_billed=True
        )

    # -- reply

    def _reply(self, body: bytes, headers: Mapping[str, str], spend: Spend) -> ChatReply:
        data = parse_json(body)
        if data is None:
            start = shorten(self._redact(body.decode("utf-8", "replace").strip()), 200)
            raise self._bad_reply(
                f"the reply is not JSON: {start!r}" if start else "the reply is empty"
            )
        if not isinstance(data, dict):
            raise self._bad_reply("the reply is not a JSON object")
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            error = data.get("error")
            if error:  # gateways wrap the failure of the model behind them in a 200
                code = error.get("code") if isinstance(error, dict) else None
                if isinstance(code, int) and 400 <= code < 600:
                    raise self._failure(code, headers, self._error_text(body))
                raise self._bad_reply(
                    f"the server answered with an error: {self._error_text(body)}"
                )
            raise self._bad_reply("the reply has no choices")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise self._bad_reply("the reply has no message")
        text, refusal = content_text(message.get("content")), content_text(message.get("refusal"))
        reason = choices[0].get("finish_reason")
        finish = reason.lower() if isinstance(reason, str) else ""
        finish = "refusal" if refusal else FINISH.get(finish, finish)
        model = data.get("model")
        return ChatReply(
            self._redact(refusal or text),
            self._redact(finish)[:40],
            self._redact(model)[:200] if isinstance(model, str) else "",
            self._spend(data.get("usage"), spend),
        )

    def _spend(self, usage: object, spend: Spend) -> Spend:
        tokens = token_counts(usage)
        if tokens is None:
            self.replies_without_usage += 1
            is_free = self._rate is not None and not any(self._rate)
            return replace(spend, cost=0.0) if is_free else spend
        input_tokens, output_tokens, cached = tokens
        cost = self._price(input_tokens, output_tokens, cached)
        return Spend(spend.calls, input_tokens, output_tokens, cached, cost, spend.seconds)

    def _price(self, input_tokens: int, output_tokens: int, cached: int) -> float | None:
        return price(
            self.name, input_tokens, output_tokens, cached, base_url=self.base_url, rate=self._rate
        )

    # -- failures

    def _failure(self, status: int, headers: Mapping[str, str], text: str) -> CallError:
        """What an answer with this status means."""
        what = f"{self._host} answered {status}" + (f": {text}" if text else "")
        if status == 402 or (status in (403, 429) and NO_MONEY.search(text)):
            return CallError("quota", what, fatal=True, status=status)
        if status in (401, 403) and not self._is_unknown_model(status, text):
            hint = "" if self._key else f" (no key was sent; is {KEY_ENV} set?)"
            return CallError("auth", what + hint, fatal=True, status=status)
        if self._is_unknown_model(status, text):
            return CallError("no_model", what, fatal=True, status=status)
        if status == 413 or (status in (400, 422) and TOO_LONG.search(text)):
            return CallError("too_long", what, status=status)
        if 300 <= status < 400:
            target = self._clean(headers.get("Location", "elsewhere"))
            what = (
                f"{self._host} redirects to {target}; redirects are not followed: give the final"
                " address as base URL"
            )
            return CallError("bad_request", what, fatal=True, status=status)
        if status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505)):
            kind = {408: "timeout", 429: "rate_limit"}.get(status, "server")
            # Behind a gateway that lost the answer the model may have written it.
            return CallError(
                kind,
                what,
                retryable=True,
                retry_after=retry_after(headers, limited=status == 429),
                maybe_billed=status in (502, 504, 524),
                status=status,
            )
        if status < 300:
            return CallError("bad_reply", what, retryable=True, maybe_billed=True, status=status)
        return CallError("bad_request", what, status=status)

    def _bad_reply(self, what: str) -> CallError:
        what = self._clean(f"{self._host}: {what}")
        return CallError("bad_reply", what, retryable=True, maybe_billed=True, status=200)

    def _is_unknown_model(self, status: int, text: str) -> bool:
        if status == 404:
            return True
        if status not in (400, 403, 422) or self._accepted:
            # Once it has answered, the model exists, and such words are an echo of some row.
            return False
        return UNKNOWN_MODEL.search(text) is not None

    async def _explain_model(self, text: str) -> str:
        """The server's words, and the models it has, the nearest first; or that the address looks
        wrong.
        """
        if self._known_models is None:
            self._known_models = await self._list_models()
        names = self._known_models
        if not names:
            hint = ""
            if not self.base_url.endswith("/v1"):
                hint = '; most servers want a base URL that ends in "/v1"'
            return f"{text or 'not found'} (it lists no models{hint})"
        shown = ", ".join(shorten(name, 60) for name in names[:10])
        if len(names) > 10:
            shown += " ..."
        return f"{text or 'not found'}.{nearest(self.name, names)} It has: {shown}"

    async def _list_models(self) -> tuple[str, ...]:
        try:
            status, _, body = await self._send("GET", self._list, None)
        except CallError:
            return ()
        listing = parse_json(body) if status == 200 else None
        data = listing.get("data") if isinstance(listing, dict) else None
        entries = data if isinstance(data, list) else []
        names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
        return tuple(sorted(self._redact(name) for name in names if isinstance(name, str)))

    def _error_text(self, body: bytes) -> str:
        """What the server says is wrong, on one line, without the key; with its code, which the
        rules above read.
        """
        data = parse_json(body)
        error = data.get("error") or data if isinstance(data, dict) else data
        if isinstance(error, str):
            return self._clean(error)
        if not isinstance(error, dict):
            return self._clean(body.decode("utf-8", "replace").strip())
        values = [error.get(name) for name in ("message", "code", "type", "param")]
        words = [self._clean(str(value)) for value in values if isinstance(value, (str, int))]
        if not words:
            return self._clean(body.decode("utf-8", "replace").strip())
        return f"{words[0]} ({', '.join(words[1:])})" if words[1:] else words[0]

    def _clean(self, text: str) -> str:
        return shorten(self._redact(text), 500)

    def _redact(self, text: str) -> str:
        """`text` without the key; see `redaction.redact`."""
        return redact(text, self._key)


def open_model(
    name: str,
    *,
    base_url: str | None,
    api_key_env: str | None,
    rate: Rate | None,
    concurrency: int,
    kind: type[OpenAIModel] | None = None,
) -> OpenAIModel:
    """The model `name`. base_url None = the environment's OPENAI_BASE_URL, else the hosted service.

    The key is read from the variable `api_key_env`, OPENAI_API_KEY if None. It must be set when it
    was named or when the hosted service is used; other servers may need none. Raises SetupError
    E0402 (no key) or E0101 (address, key).
    """
    url = checked_url(
        (os.environ.get("OPENAI_BASE_URL") or HOSTED) if base_url is None else base_url
    )
    variable = api_key_env or KEY_ENV
    key = os.environ.get(variable, "").strip()
    if not key and (api_key_env or url == HOSTED):
        raise SetupError(
            "E0402",
            f"The judge openai:{name} needs an API key, and {variable} is not set.",
            where=variable,
            fix=(
                f"export {variable}=..., or give --base-url for a server of your own, or use"
                " --judge offline"
            ),
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise SetupError(
            "E0101",
            f"The value of {variable} holds characters that no API key has.",
            where=variable,
            fix="copy the key again, without quotes, spaces or line breaks",
        )
    return (kind or OpenAIModel)(
        name, base_url=url, key=key or None, rate=rate, concurrency=concurrency
    )


def _with_schema(
    messages: tuple[Message, ...], schema: Mapping[str, object]
) -> tuple[Message, ...]:
    """The messages with the schema of the reply at the end of the last one, for a server that
    takes none beside them.
    """
    form = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=_plain)
    last = messages[-1]
    shown = Message(last.role, f"{last.content}\n\nThe JSON Schema of the reply: {form}")
    return (*messages[:-1], shown)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _valid(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
