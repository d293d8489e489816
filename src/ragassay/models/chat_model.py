"""Chat calls to a model behind a server, in whichever dialect its provider has.

One attempt a call; the runner retries. What a server does not support (a JSON schema, a seed, a
system message ...) is learnt from its own refusal, once for a model object, and the call is sent
again without it. How much room a model needs to think is learnt from its replies.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import orjson
from yarl import URL

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    ChatReply,
    Reply,
    Spend,
    claim_memory,
    nearest,
    shorten,
)
from ragassay.models.answer import CUT, ERROR, FILTER, REFUSAL, Answer
from ragassay.models.base import MAY_SEND_MORE
from ragassay.models.base_url import checked_url, host_of
from ragassay.models.capabilities import Capabilities
from ragassay.models.dialects.base import Prepared
from ragassay.models.dialects.read import read_answer
from ragassay.models.failures import (
    FILTERED,
    JSON_FAILED,
    LISTED,
    error_inside,
    error_text,
    failure,
    is_explained,
    is_filtered,
    is_unknown_model,
    names_model,
    status_inside,
    text_of,
)
from ragassay.models.http_client import HttpClient, HttpReply, proxy_failure
from ragassay.models.prices import Rate, price
from ragassay.models.provider import Provider
from ragassay.models.providers.openai import PROVIDER as OPENAI
from ragassay.models.redaction import hidden, redact
from ragassay.models.refusals import Refusal, simpler_format, without_refused
from ragassay.models.server_reply import parse_json
from ragassay.models.settings import ModelSettings
from ragassay.models.streams import from_stream
from ragassay.models.thinking import FIRST_ROOM, room_after
from ragassay.models.usage import cost_in_headers

MOST_REQUESTS = 14
"""Requests that one call may take while it learns what a server refuses."""

_CHARS_A_TOKEN = 2.5  # of a prompt, where a context is small: rather too many tokens than too few


_MODEL_IN_PATH = frozenset(("azure", "bedrock", "gemini"))
"""Providers whose model is part of the address."""

_MOST_WORDS = 8_000  # characters of an error that are read


class _Sent(NamedTuple):
    """A request and its answer. limit: the tokens that were asked for, None where none were."""

    known: Capabilities
    limit: int | None
    reply: HttpReply
    text: str


class ChatModel:
    """A chat model behind `base_url`. Use `models.connect` to build one from names and the
    environment.

    key: None sends none. concurrency: size of the pool of connections. timeout: seconds for a
    whole attempt, a backstop behind the runner's own deadline. `replies_without_usage` counts
    answers whose server said nothing about tokens: their Spend has 0 tokens and cost None, as
    neither was measured. May be used from one event loop after another; `close()` in each loop lets
    go of that loop's connections.
    """

    announces_sending = True
    """Whether `ABOUT_TO_SEND` is called before a request is written."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        provider: Provider = OPENAI,
        settings: ModelSettings | None = None,
        rate: Rate | None = None,
        concurrency: int = 32,
        timeout: float = 600.0,
    ) -> None:
        self.name = name
        self.provider = provider
        self.settings = settings or ModelSettings()
        self.base_url = checked_url((provider.base_url or "") if base_url is None else base_url)
        self.replies_without_usage = 0
        self._base = URL(self.base_url)
        self._host = host_of(self._base)
        self._rate = rate
        self._key, self._concurrency, self._timeout = key, concurrency, timeout
        # The name too: providers limit each model of a key by itself.
        self._lane = hashlib.sha256(
            "\0".join((self.base_url, name, key or "")).encode()
        ).hexdigest()[:24]
        self._first = provider.known_of(name)
        self._known = self._first
        self._accepted: frozenset[str] = frozenset()
        self._was_told = False  # what an earlier model object had learnt
        self._urls: dict[bool, URL] = {}
        self._accepted_last: Capabilities | None = None
        self._crashes = 0
        self._known_models: tuple[str, ...] | None = None
        self._client = HttpClient(
            self._base,
            self._headers(),
            concurrency=concurrency,
            timeout=timeout,
            proxy=self.settings.proxy,
            ca=self.settings.ca,
            clean=self._clean,
        )
        self._secrets = hidden((key or "", *self.settings.secrets(), *self._client.secrets))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r}, base_url={self.base_url!r})"

    @property
    def uri(self) -> str:
        """ "openai:NAME"."""
        return f"{self.provider.scheme}:{self.name}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that see the texts."""
        is_clear = self._base.scheme == "http"
        proxy = self._client.proxy_host if is_clear else ""
        return (self._host, proxy) if proxy else (self._host,)

    @property
    def concurrency(self) -> int | None:
        """How many connections it keeps."""
        return self._concurrency

    @property
    def known(self) -> Capabilities:
        """What has been learnt of the server so far."""
        return self._known

    @property
    def has_answered(self) -> bool:
        """Whether a call of this object has succeeded."""
        return bool(self._accepted)

    @property
    def accepted(self) -> frozenset[str]:
        """What requests that were answered made use of (`Capabilities.features`)."""
        return self._accepted

    def remember(self, known: Mapping[str, object]) -> None:
        """Go on from what an earlier model object had learnt of this server, as JSON."""
        self._known = Capabilities.from_json(known)
        self._was_told = True

    def simplify_format(self) -> bool:
        """Ask for replies in a simpler form from now on, where no reply in the present one can be
        read; whether there is one.
        """
        changed = simpler_format(self._known, self.provider.dialect.formats, "")
        if changed is None:
            return False
        self._known = changed
        return True

    def dropped(self) -> tuple[str, ...]:
        """What the server has turned out not to accept, in words."""
        return self._known.dropped(self._first)

    def lane(self, call: ChatCall) -> str:
        """A hash of the address and the key: calls of one lane share the provider's limits."""
        return self._lane

    def output_limit(self, call: ChatCall) -> int:
        """The most tokens that a reply to this call may have now: those of the answer, and room to
        think.
        """
        return self._limit(call, self._known)

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
        known = self._known
        failed_json = 0
        first_failure: _Sent | None = None
        for number in range(1, MOST_REQUESTS + 1):
            sent = await self._attempt(call, known)
            if sent.reply.status < 300:
                spend = Spend(calls=number, seconds=time.monotonic() - started)
                budget = self._budget(call, known)
                reply = self._reply(sent.reply.body, sent.reply.headers, spend, call.schema, budget)
                # What has crashed the server is known when it is happy without.
                self._learn(known, call, accepted=True)
                return reply
            if is_filtered(sent.reply.status, sent.text):
                return ChatReply(
                    "", FILTER, self.name, Spend(number, seconds=time.monotonic() - started)
                )
            if sent.reply.status == 400 and JSON_FAILED.search(sent.text):
                # Another attempt may do better; the third one asks for a simpler form.
                failed_json += 1
                changed = known if failed_json == 1 else self._simpler(known)
            else:
                changed = self._without_refused(call, sent)
                if changed is not None:
                    self._learn(changed, call, refused=known)
            if changed is None:
                first_failure = first_failure or sent
                if self._refused_extra(sent.reply.status, sent.text):
                    break
                changed = self._without_schema(call, known, sent) or self._plainer(known, sent)
            if changed is None or number == MOST_REQUESTS:
                break
            may_send = MAY_SEND_MORE.get()
            if may_send is not None and not may_send():
                what = "a cap leaves no room to learn what is refused"
                raise CallError("over_budget", what, status=sent.reply.status)
            known = changed
        raise await self._failure_of(first_failure or sent)

    async def close(self) -> None:
        """Let go of the connections that belong to the running loop."""
        await self._client.close()

    # -- request

    async def _attempt(self, call: ChatCall, known: Capabilities) -> _Sent:
        limit = self._limit(call, known) if known.limit else None
        data = self._body(call, known, limit)
        url = self._url(stream=known.stream)
        reply = await self._client.send("POST", url, data, self._signed("POST", url, data))
        text = "" if reply.status < 300 else self._error_text(reply.body)
        return _Sent(known, limit, reply, text)

    def _url(self, *, stream: bool) -> URL:
        # Made once: to join an address takes as long as half of the rest of a request.
        url = self._urls.get(stream)
        if url is None:
            url = self.provider.dialect.url(self._base, self.name, stream=stream)
            self._urls[stream] = url
        return url

    def _limit(self, call: ChatCall, known: Capabilities) -> int:
        if self.settings.max_tokens is not None:
            wanted = self.settings.max_tokens
        else:
            wanted = call.max_tokens + max(known.room, self._thinking(call, known))
        if known.most_tokens is not None:
            wanted = min(wanted, known.most_tokens)
        if known.context is not None:
            characters = sum(len(message.content) for message in call.messages)
            left = known.context - int(characters / _CHARS_A_TOKEN)
            # Where nothing seems to be left the server is asked: the estimate is a rough one.
            wanted = min(wanted, max(left, min(call.max_tokens, wanted)))
        return wanted

    def _thinking(self, call: ChatCall, known: Capabilities) -> int:
        """Tokens to think that an effort is given before anything was learnt."""
        effort = self.settings.reasoning_effort
        if not effort or effort == "none" or not known.effort:
            return 0
        return self._budget(call, known) or FIRST_ROOM

    def _budget(self, call: ChatCall, known: Capabilities) -> int:
        """Tokens to think that a request names; 0 where it names none."""
        effort = self.settings.reasoning_effort
        if not effort or not known.effort:
            return 0
        return self.provider.dialect.budget(Prepared(self.name, call, known, None, effort=effort))

    def _body(self, call: ChatCall, known: Capabilities, limit: int | None) -> bytes:
        asked = Prepared(
            self.name,
            call,
            known,
            limit,
            effort=self.settings.reasoning_effort or "",
            style=self.provider.thinking,
            seed_name=self.provider.seed_name,
        )
        claim_memory(sum([len(m.content) for m in call.messages]))
        try:
            return self._dumped(asked)
        except TypeError:
            # Half of a surrogate pair has no UTF-8; the model is shown U+FFFD in its place.
            return self._dumped(replace(asked, call=_valid_call(call)))

    def _dumped(self, asked: Prepared) -> bytes:
        body = self.provider.dialect.body(asked)
        for name, value in self.settings.extra_body.items():
            ours = body.get(name)
            merge = isinstance(ours, dict) and isinstance(value, Mapping)
            # Half of one form and half of another would be none.
            merge = merge and name != "response_format"
            body[name] = {**ours, **value} if merge else value  # type: ignore[dict-item]
        return orjson.dumps(body, default=_plain)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "ragassay",
            # Replies are small: unpacking costs more than it saves.
            "Accept-Encoding": "identity",
            **self.provider.dialect.headers,
            **self.provider.headers,
        }
        if self._key is not None and self.provider.auth == "bearer":
            headers["Authorization"] = f"Bearer {self._key}"
        elif self._key is not None and self.provider.auth != "aws":
            headers[self.provider.auth] = self._key
        own = self.settings.header_values()
        replaced = {name.lower() for name in own}
        if "authorization" in replaced:  # in place of the key, whatever header that has
            replaced.add(self.provider.auth)
        return {name: v for name, v in headers.items() if name.lower() not in replaced} | own

    def _signed(self, method: str, url: URL, data: bytes | None) -> Mapping[str, str] | None:
        """The headers by which a request is signed, where the provider wants that."""
        if self.provider.auth != "aws":
            return None
        from ragassay.models.aws import signed_headers

        return signed_headers(self._key, method, url, data or b"")

    # -- learning

    def _without_refused(self, call: ChatCall, sent: _Sent) -> Capabilities | None:
        refusal = Refusal(
            call,
            sent.known,
            sent.limit,
            self.provider.dialect.formats,
            sent.reply.status,
            sent.text,
            self.settings.reasoning_effort or "",
        )
        return without_refused(refusal)

    def _simpler(self, known: Capabilities) -> Capabilities | None:
        return simpler_format(known, self.provider.dialect.formats, "")

    def _without_schema(
        self, call: ChatCall, known: Capabilities, sent: _Sent
    ) -> Capabilities | None:
        """The next format, where a schema seems to crash the server: it answers 500 and has never
        accepted one.
        """
        if sent.reply.status != 500 or call.schema is None or known.format in self._accepted:
            return None
        if known.format == "text" or self.has_answered or self._was_told:
            return None
        # Any server fails now and then; one that fails twice at a schema may do so for it.
        self._crashes += 1
        return self._simpler(known) if self._crashes > 1 else None

    def _plainer(self, known: Capabilities, sent: _Sent) -> Capabilities | None:
        """A request with less in it, where a server that has never answered does not say what it
        refuses: without a form, then without sampling, then without a system message.
        """
        if self.has_answered or self._was_told or is_explained(sent.reply.status, sent.text):
            return None
        if known.format != "text":
            return replace(known, format="text")
        if known.temperature or known.seed:
            return replace(known, temperature=False, seed=False)
        return replace(known, system=False) if known.system else None

    def _learn(
        self,
        changed: Capabilities,
        call: ChatCall,
        *,
        refused: Capabilities | None = None,
        accepted: bool = False,
    ) -> None:
        """Go on from what a request has shown."""
        if accepted:
            if changed is self._accepted_last:  # as of nearly every call
                return
            self._accepted_last = changed
            if not self._accepted:
                self._known = replace(
                    self._known,
                    format=changed.format,
                    temperature=changed.temperature,
                    seed=changed.seed,
                    system=changed.system,
                )
            self._accepted |= changed.features(call)
            return
        # What the server has accepted before it refuses for this one call only (or it echoes a
        # hostile row).
        assert refused is not None
        dropped = refused.features(call) - changed.features(call)
        if self._known != refused or dropped & self._accepted:
            return
        # What a full context leaves for a reply differs from call to call.
        if changed.context != refused.context:
            changed = replace(changed, most_tokens=refused.most_tokens)
        self._known = changed

    # -- reply

    def _reply(
        self,
        body: bytes,
        headers: Mapping[str, str],
        spend: Spend,
        schema: Mapping[str, object] | None = None,
        budget: int = 0,
    ) -> ChatReply:
        data = parse_json(body.removeprefix(b"\xef\xbb\xbf"))
        if not isinstance(data, dict):
            data = from_stream(body) or data
        if data is None:
            start = shorten(self._redact(body.decode("utf-8", "replace").strip()), 200)
            if _is_web_page(start) and not self.has_answered:
                what = f"{self.base_url} answered with a web page: {start!r}"
                raise CallError("web_page", self._clean(what), retryable=True, status=200)
            raise self._bad_reply(
                f"the reply is not JSON: {start!r}" if start else "the reply is empty"
            )
        if not isinstance(data, Mapping):
            raise self._bad_reply("the reply is not a JSON object")
        answer = read_answer(data)
        if answer is None or answer.finish == ERROR:
            if answer is not None and not error_inside(data):
                raise self._bad_reply("the server broke off the reply")
            return self._reply_without_answer(data, headers, spend)
        if self.settings.max_tokens is None:
            room = room_after(answer, self._known.room, budget)
            if room != self._known.room:
                self._known = replace(self._known, room=room)
        finish = REFUSAL if answer.refusal else answer.finish
        return ChatReply(
            self._redact(_text_of(answer, schema)),
            self._redact(finish)[:40],
            self._redact(answer.model)[:200],
            self._spend(answer, spend, headers),
        )

    def _reply_without_answer(
        self, data: Mapping[str, object], headers: Mapping[str, str], spend: Spend
    ) -> ChatReply:
        """A reply for a filter's error; raises CallError for any other."""
        error = error_inside(data)
        text = shorten(self._redact(text_of(error)), _MOST_WORDS)
        if error and FILTERED.search(text):
            return ChatReply("", FILTER, self.name, spend)
        if error:  # gateways wrap the failure of the model behind them in a 200
            status = status_inside(error, text, has_answered=self.has_answered)
            if status is not None:
                raise self._failure(status, headers, text)
            raise self._bad_reply(f"the server answered with an error: {text}")
        if "choices" not in data:
            raise self._bad_reply("the reply has no choices")
        choices = data["choices"]
        missing = "message" if isinstance(choices, list) and choices else "choices"
        raise self._bad_reply(f"the reply has no {missing}")

    def _spend(self, answer: Answer, spend: Spend, headers: Mapping[str, str]) -> Spend:
        usage = answer.usage
        if usage is None:
            self.replies_without_usage += 1
            is_free = self._rate is not None and not any(self._rate)
            return replace(spend, cost=0.0) if is_free else spend
        cost: float | None = None
        if self._rate is None:
            cost = cost_in_headers(headers) if usage.cost is None else usage.cost
        if cost is None:
            cost = self._price(usage.input, usage.output, usage.cached)
        return Spend(
            spend.calls,
            usage.input,
            usage.output,
            usage.cached,
            cost,
            spend.seconds,
            usage.thinking,
        )

    def _price(self, input_tokens: int, output_tokens: int, cached: int) -> float | None:
        return price(
            self.name, input_tokens, output_tokens, cached, base_url=self.base_url, rate=self._rate
        )

    # -- failures

    async def _failure_of(self, sent: _Sent) -> CallError:
        status, text = sent.reply.status, sent.text
        if is_unknown_model(status, text, has_answered=self.has_answered):
            text = await self._explain_model(shorten(text, 300))
        return self._failure(status, sent.reply.headers, text)

    def _failure(self, status: int, headers: Mapping[str, str], text: str) -> CallError:
        """What an answer with this status means."""
        if status == 407:
            return proxy_failure(self._client.proxy_host or self._host, status)
        what = f"{self._host} answered {status}" + (f": {shorten(text, 500)}" if text else "")
        if 300 <= status < 400:
            target = self._clean(headers.get("Location", "elsewhere"))
            what = (
                f"{self._host} redirects to {target}; redirects are not followed: give the final"
                " address as base URL"
            )
        named = self._refused_extra(status, text)
        if named:
            what += f" (of --extra-body: {named})"
            return CallError("extra_body", what, fatal=True, status=status)
        variable = self.provider.keys[0] if self.provider.keys else ""
        hint = f" (no key was sent; is {variable} set?)" if variable and not self._key else ""
        error = failure(
            status,
            headers,
            text,
            what,
            has_answered=self.has_answered,
            key_hint=hint,
            model=self.name,
        )
        if error.kind == "no_address" and self.provider.scheme in _MODEL_IN_PATH:
            error.kind = "no_model"
        return error

    def _refused_extra(self, status: int, text: str) -> str:
        """The fields of --extra-body that a refusal before the first answer names; "" for none."""
        if status not in (400, 422) or self.has_answered:
            return ""
        return ", ".join(name for name in self.settings.extra_body if name in text)

    def _bad_reply(self, what: str) -> CallError:
        what = self._clean(f"{self._host}: {what}")
        return CallError("bad_reply", what, retryable=True, maybe_billed=True, status=200)

    async def _explain_model(self, text: str) -> str:
        """The server's words, and the models it has, the nearest first; or that the address looks
        wrong.
        """
        if self._known_models is None:
            self._known_models = await self._list_models()
        names = self._known_models
        if not names:
            hint = "" if names_model(text, self.name) else await self._address_hint()
            return f"{text or 'not found'} (it lists no models{hint})"
        shown = ", ".join(shorten(name, 60) for name in names[:10])
        if len(names) > 10:
            shown += " ..."
        return f"{text or 'not found'}.{nearest(self.name, names)}{LISTED}{shown}"

    async def _address_hint(self) -> str:
        """What may be wrong with the address."""
        ends_right = self.base_url.endswith(("/v1", "/v1beta", "/v2"))
        if ends_right or self.provider.scheme in _MODEL_IN_PATH:
            return ""
        with_version = self._base / "v1"
        try:
            reply = await self._client.send("GET", with_version / "models", None, None)
        except CallError:
            return ""
        if reply.status == 200 and parse_json(reply.body) is not None:
            return f"; those at {with_version} are listed: give that as --base-url"
        return '; most servers want a base URL that ends in "/v1"'

    async def list_models(self) -> tuple[str, ...]:
        """The models that the server lists, sorted; none where it lists none. Raises CallError
        where it is not reached.
        """
        url = self.provider.dialect.models_url(self._base)
        reply = await self._client.send("GET", url, None, self._signed("GET", url, None))
        listing = parse_json(reply.body) if reply.status == 200 else None
        data: object = listing
        if isinstance(listing, dict):
            data = listing.get("data") or listing.get("models")
        entries = data if isinstance(data, list) else []
        names = [e.get("id") or e.get("name") for e in entries if isinstance(e, dict)]
        return tuple(sorted(self._redact(name) for name in names if isinstance(name, str)))

    async def _list_models(self) -> tuple[str, ...]:
        try:
            return await self.list_models()
        except CallError:
            return ()

    def _error_text(self, body: bytes) -> str:
        """What the server says is wrong, on one line, without the key; with its codes. It is longer
        than what people are shown: the rules read it to its end.
        """
        return shorten(self._redact(error_text(body)), _MOST_WORDS)

    def _clean(self, text: str) -> str:
        return shorten(self._redact(text), 500)

    def _redact(self, text: str) -> str:
        """`text` without key, password and what else is secret; see `redaction.redact`."""
        return redact(text, self._secrets)


def _text_of(answer: Answer, schema: Mapping[str, object] | None) -> str:
    """The text that holds the verdicts: the answer; where the model called a tool with it, what it
    gave the tool; where a server keeps everything as thoughts, these, if they are complete.
    """
    if answer.refusal:
        return answer.refusal
    if answer.text.strip() and answer.tool:
        # Beside a call some models talk, and some write the JSON of another.
        return answer.text if _holds(answer.text, answer.tool, schema) else answer.tool
    if answer.text.strip() or answer.tool:
        return answer.text if answer.text.strip() else answer.tool
    return answer.thinking if answer.finish not in (CUT, FILTER) else ""


def _is_web_page(start: str) -> bool:
    """Whether a body begins as one written for people does."""
    return start[:200].lstrip("\ufeff").lower().startswith(("<!doctype html", "<html", "<head"))


def _holds(text: str, tool: str, schema: Mapping[str, object] | None) -> bool:
    """Whether it is the text that has the fields of the schema, and not the tool."""
    fields = (schema or {}).get("required")
    names = [f'"{name}"' for name in fields] if isinstance(fields, (list, tuple)) else []
    in_text = any(name in text for name in names)
    return in_text or ("{" in text and not any(name in tool for name in names))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _valid_call(call: ChatCall) -> ChatCall:
    messages = tuple(replace(m, content=_valid(m.content)) for m in call.messages)
    schema = call.schema
    if schema is not None:
        schema = json.loads(_valid(json.dumps(schema, ensure_ascii=False, default=_plain)))
    return replace(call, messages=messages, schema=schema)


def _valid(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
