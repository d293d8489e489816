"""What a person reads in a recorded exchange: the answer, its end, what it costs, or the failure.

Written from the providers' documentation and from the recordings, without the package: a rule of
the package that is wrong cannot be right here by being the same rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from benchmarks.providers.recorded import Exchange

COMPLETE, CUT, REFUSED, FILTERED = "complete", "cut", "refused", "filtered"


@dataclass
class Tokens:
    """Tokens as billed: read, written with what was thought, of those read from a cache; the
    dollars that the provider names itself.
    """

    read: int
    written: int
    cached: int = 0
    dollars: float | None = None


@dataclass
class Reading:
    """What a person reads. failure: "" where there is a reply; its class else. texts: the texts
    that may pass for the answer. tokens: None where the server says nothing of them.
    """

    failure: str = ""
    texts: list[str] = field(default_factory=list)
    end: str = COMPLETE
    tokens: Tokens | None = None
    wait: float | None = None


_Json = dict[str, Any]


def read(exchange: Exchange) -> Reading:
    """What a person reads in it."""
    if exchange.kind.startswith("error:") or exchange.status >= 300:
        return _error(exchange)
    if exchange.dialect in ("batch", "models-list"):
        return Reading("bad_reply")
    if isinstance(exchange.body, (str, list)):
        return _stream(exchange)
    reading = _reply(exchange.dialect, exchange.body)
    if exchange.kind == "refusal":
        reading.end = REFUSED
    if exchange.kind == "content_filter":
        reading.end = FILTERED
    return reading


# -- failures

_CLASSES = {
    "auth": "auth",
    "permission": "auth",
    "not_found": "no_model",
    "quota": "quota",
    "rate_limit": "rate_limit",
    "too_long": "too_long",
    "overloaded": "server",
    "server": "server",
    "bad_request": "bad_request",
    "unsupported_parameter": "bad_request",
    "json_generation": "bad_request",
}
# (a word of the error, its class): where a person reads more in it than its recorder's kind.
_MEANT = (
    ("does not have access to model", "no_model"),
    ("don't have access to the model", "no_model"),
    ("supported api model names are", "no_model"),
    ("request too large", "too_long"),
    ("on-demand throughput isn", "no_model"),  # this id cannot be called at all
    ("generate_content_paid_tier_input_token_count", "rate_limit"),  # of a minute: it says when
    ("context length is only", "too_long"),
)


def _error(exchange: Exchange) -> Reading:
    text = exchange.payload.decode(errors="replace")
    name = exchange.kind.partition(":")[2]
    if name == "content_filter" or "content management policy" in text.lower():
        return Reading(end=FILTERED)
    if exchange.status == 402 and "afford" in text:
        return Reading("quota")
    lower = text.lower()
    for words, failure in _MEANT:
        if words in lower:
            return Reading(
                failure, wait=_wait(exchange, lower) if failure == "rate_limit" else None
            )
    failure = _CLASSES.get(name, "bad_request")
    return Reading(failure, wait=_wait(exchange, lower) if failure == "rate_limit" else None)


_WAIT = re.compile(r"(?:again|retry|wait)(?: in| after)? (?:(\d+)m)?([\d.]+) ?s(?:econds?)?\b")


def _wait(exchange: Exchange, text: str) -> float | None:
    """Seconds that the server asks to wait; a moment that has long passed is none to wait for."""
    header = exchange.headers.get("retry-after")
    if header and header.replace(".", "").isdigit():
        return float(header)
    reset = next((v for h, v in exchange.headers.items() if h.endswith("requests-reset")), None)
    if reset is not None:
        now = parsedate_to_datetime(exchange.headers["date"])
        return (datetime.fromisoformat(reset) - now).total_seconds()
    if "x-ratelimit-reset" in exchange.headers:
        return 0.0
    match = _WAIT.search(text)
    return None if match is None else 60.0 * int(match[1] or 0) + float(match[2])


# -- replies


def _reply(dialect: str, body: _Json) -> Reading:
    if "choices" in body:
        return _chat(body)
    if isinstance(body.get("output"), list):
        return _responses(body)
    if dialect == "gemini":
        return _gemini(body)
    if isinstance(body.get("output"), dict):
        return _converse(body)
    if "done" in body:
        return _ollama(body)
    if dialect == "cohere-chat":
        return _cohere(body)
    if isinstance(body.get("content"), list):
        return _anthropic(body)
    return _invoked(body)


def _joined(parts: Any, *types: str) -> str:
    if isinstance(parts, str):
        return parts
    return "".join(p.get("text") or "" for p in parts or [] if p.get("type", "text") in types)


def _end(reason: Any, refusal: Any = None) -> str:
    word = str(reason or "").lower()
    if refusal or word == "refusal":
        return REFUSED
    if word in ("length", "max_tokens", "max_output_tokens", "incomplete", "pause_turn"):
        return CUT
    if word in _FILTERS:
        return FILTERED
    return COMPLETE


_FILTERS = (
    "content_filter",
    "guardrail_intervened",
    "model_armor",
    "recitation",
    "safety",
    "sensitive",
)


def _answer(end: str, text: str, call: str, thoughts: str) -> list[str]:
    """The texts that may pass for the answer: what is said, or what a tool was called with; what
    was thought only where nothing else was and the reply is complete.
    """
    said = [each for each in (text, call) if each.strip()]
    if said:
        return said
    return [thoughts] if thoughts.strip() and end == COMPLETE else []


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def _chat(body: _Json) -> Reading:
    choice = body["choices"][0]
    message = choice.get("message") or {"content": choice.get("text")}
    content = message.get("content")
    text = _joined(content, "text")
    call = ""
    for tool in message.get("tool_calls") or []:
        custom = (tool.get("custom") or {}).get("input")
        call = call or _as_text((tool.get("function") or {}).get("arguments") or custom or "")
    call = call or (message.get("function_call") or {}).get("arguments") or ""
    details = "".join(d.get("text") or "" for d in message.get("reasoning_details") or [])
    thoughts = message.get("reasoning_content") or message.get("reasoning") or details
    end = _end(choice.get("finish_reason"), message.get("refusal"))
    texts = _answer(end, text, call, thoughts)
    return Reading(texts=texts, end=end, tokens=openai_tokens(body.get("usage")))


def openai_tokens(usage: Any) -> Tokens | None:
    """Of chat completions and responses. What is in the total and in no part was thought."""
    if not usage:
        return None
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    written = usage.get("completion_tokens", usage.get("output_tokens"))
    if read is None or written is None:
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    cached = max(
        details.get("cached_tokens") or 0,
        usage.get("prompt_cache_hit_tokens") or 0,
        usage.get("num_cached_tokens") or 0,
        usage.get("cached_tokens") or 0,
        usage.get("cache_read_input_tokens") or 0,
    )
    total = usage.get("total_tokens") or 0
    if "prompt_audio_seconds" not in usage:
        written += max(0, total - read - written)
    # A Grok on Azure told of more tokens from its cache than it was sent.
    return Tokens(read, written, min(cached, read), _dollars(usage))


def _dollars(usage: _Json) -> float | None:
    if usage.get("cost_in_usd_ticks") is not None:
        return float(usage["cost_in_usd_ticks"]) / 1e10
    cost = usage.get("cost")
    if isinstance(cost, dict):
        return float(cost["total_cost"])
    if cost is not None and usage.get("is_byok"):
        # OpenRouter's own fee, and what the provider behind it charges to the user's own key.
        return float(cost) + float(usage["cost_details"]["upstream_inference_cost"] or 0)
    if cost is not None:
        return float(cost)
    gateway = usage.get("pydantic_ai_gateway") or {}
    return gateway.get("cost_estimate")


def _responses(body: _Json) -> Reading:
    text = call = thoughts = refusal = ""
    for item in body["output"]:
        if item["type"] == "message":
            text += _joined(item["content"], "output_text")
            refusal += "".join(part.get("refusal") or "" for part in item["content"])
        elif item["type"] in ("function_call", "custom_tool_call"):
            call = call or item.get("arguments") or item.get("input") or ""
        elif item["type"] == "reasoning":
            thoughts += _joined(item.get("summary"), "summary_text")
            thoughts += _joined(item.get("content"), "reasoning_text")
    reason = (body.get("incomplete_details") or {}).get("reason") or body.get("status")
    end = _end(reason, refusal)
    if reason in ("queued", "in_progress", "failed", "cancelled"):
        return Reading("bad_reply")
    texts = _answer(end, text, call, thoughts)
    return Reading(texts=texts, end=end, tokens=openai_tokens(body.get("usage")))


def _anthropic(body: _Json) -> Reading:
    text = _joined(body["content"], "text")
    calls = [_as_text(p["input"]) for p in body["content"] if p.get("type") == "tool_use"]
    end = _end(body.get("stop_reason"))
    thoughts = "".join(p.get("thinking") or "" for p in body["content"])
    texts = _answer(end, text, calls[0] if calls else "", thoughts)
    return Reading(texts=texts, end=end, tokens=_anthropic_tokens(body.get("usage")))


def _anthropic_tokens(usage: Any) -> Tokens | None:
    if not usage or "output_tokens" not in usage:
        return None
    # Each pass over the text (a compaction, an answer by another model) is billed.
    passes = usage.get("iterations") or [usage]
    cached = sum(one.get("cache_read_input_tokens") or 0 for one in passes)
    stored = sum(one.get("cache_creation_input_tokens") or 0 for one in passes)
    fresh = sum(one.get("input_tokens") or 0 for one in passes)
    return Tokens(fresh + cached + stored, sum(one["output_tokens"] for one in passes), cached)


def _gemini(body: _Json) -> Reading:
    candidate = (body.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(p.get("text") or "" for p in parts if not p.get("thought"))
    thoughts = "".join(p.get("text") or "" for p in parts if p.get("thought"))
    calls = [_as_text(p["functionCall"].get("args")) for p in parts if "functionCall" in p]
    end = FILTERED if not candidate else _end(candidate.get("finishReason"))
    texts = _answer(end, text, calls[0] if calls else "", thoughts)
    return Reading(texts=texts, end=end, tokens=_gemini_tokens(body.get("usageMetadata")))


def _gemini_tokens(usage: Any) -> Tokens | None:
    if not usage or "promptTokenCount" not in usage:
        return None
    read = usage["promptTokenCount"] + (usage.get("toolUsePromptTokenCount") or 0)
    # The total holds what was thought, also where it is told nowhere else.
    written = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
    written = max(written, (usage.get("totalTokenCount") or 0) - read)
    return Tokens(read, written, usage.get("cachedContentTokenCount") or 0)


def _converse(body: _Json) -> Reading:
    parts = body["output"]["message"]["content"]
    text = ""
    for part in parts:
        cited = (part.get("citationsContent") or {}).get("content") or []
        text += part.get("text") or "".join(each["text"] for each in cited)
    calls = [_as_text(part["toolUse"]["input"]) for part in parts if "toolUse" in part]
    thoughts = ""
    for part in parts:
        told = (part.get("reasoningContent") or {}).get("reasoningText") or {}
        thoughts += told.get("text") or ""
    end = _end(body.get("stopReason"))
    # Tools that the provider runs itself come first; ours is the last that was called.
    texts = _answer(end, text, calls[-1] if calls else "", thoughts) + calls
    usage = body.get("usage") or {}
    if "outputTokens" not in usage:
        return Reading(texts=texts, end=end)
    cached = usage.get("cacheReadInputTokens") or usage.get("cacheReadInputTokenCount") or 0
    stored = usage.get("cacheWriteInputTokens") or usage.get("cacheWriteInputTokenCount") or 0
    read = usage["inputTokens"] + cached + stored
    gateway = (usage.get("pydantic_ai_gateway") or {}).get("cost_estimate")
    return Reading(
        texts=texts, end=end, tokens=Tokens(read, usage["outputTokens"], cached, gateway)
    )


def _ollama(body: _Json) -> Reading:
    message = body["message"]
    calls = [_as_text(c["function"]["arguments"]) for c in message.get("tool_calls") or []]
    end = _end(body.get("done_reason"))
    text, thoughts = message.get("content") or "", message.get("thinking") or ""
    texts = _answer(end, text, calls[0] if calls else "", thoughts)
    tokens = None
    if "eval_count" in body:
        tokens = Tokens(body.get("prompt_eval_count") or 0, body["eval_count"])
    return Reading(texts=texts, end=end, tokens=tokens)


def _cohere(body: _Json) -> Reading:
    message = body.get("message")
    if isinstance(message, dict):
        text = _joined(message.get("content"), "text")
        calls = [_as_text(c["function"]["arguments"]) for c in message.get("tool_calls") or []]
        thoughts = "".join(
            part.get("thinking") or ""
            for part in message.get("content") or []
            if isinstance(part, dict)
        )
        usage = body.get("usage") or {}
    else:  # the first version
        text, thoughts, usage = body.get("text") or "", "", body.get("meta") or {}
        calls = [_as_text(c.get("parameters")) for c in body.get("tool_calls") or []]
    end = _end(body.get("finish_reason"))
    texts = _answer(end, text, calls[0] if calls else "", thoughts)
    billed = usage.get("billed_units") or {}
    if "output_tokens" not in billed:
        return Reading(texts=texts, end=end)
    cached = min(usage.get("cached_tokens") or 0, int(billed["input_tokens"]))
    tokens = Tokens(int(billed["input_tokens"]), int(billed["output_tokens"]), cached)
    return Reading(texts=texts, end=end, tokens=tokens)


def _invoked(body: _Json) -> Reading:
    """What the models behind Bedrock answer each in a form of their own."""
    if "generation" in body:
        read, written = body.get("prompt_token_count"), body.get("generation_token_count")
        tokens = None if written is None else Tokens(int(read or 0), int(written))
        return Reading(texts=[body["generation"]], end=_end(body.get("stop_reason")), tokens=tokens)
    if "outputs" in body:
        output = body["outputs"][0]
        return Reading(texts=[output["text"]], end=_end(output.get("stop_reason")))
    if isinstance(body.get("text"), str):
        return Reading(texts=[body["text"]], end=_end(body.get("finish_reason")))
    return Reading("bad_reply")


# -- streams


def chunks(body: Any) -> Iterator[_Json]:
    """The objects of a stream."""
    if isinstance(body, list):
        yield from body
        return
    for line in body.splitlines():
        text = line.removeprefix("data:").strip()
        if text.startswith("error:"):  # llama.cpp's way to break off
            text = text.removeprefix("error:").strip()
        if text.startswith("{"):
            try:
                yield json.loads(text)
            except ValueError:  # the recording was shortened here
                continue


@dataclass
class _Heard:
    """What a stream has said so far."""

    text: str = ""
    call: str = ""
    calls: set[Any] = field(default_factory=set)
    thoughts: str = ""
    reason: Any = None
    refusal: str = ""
    failed: str = ""
    usage: _Json = field(default_factory=dict)


def _stream(exchange: Exchange) -> Reading:
    hear = _HEARING[_form(exchange)]
    heard = _Heard()
    whole: Reading | None = None
    for chunk in chunks(exchange.body):
        if chunk.get("type") in ("response.completed", "response.incomplete"):
            whole = _responses(chunk["response"])
        hear(chunk, heard)
    if whole is not None:
        return whole
    if heard.failed:
        return Reading("bad_reply")
    has_ended = heard.reason is not None or "[DONE]" in str(exchange.body)[-40:]
    end = _end(heard.reason, heard.refusal) if has_ended else CUT
    texts = _answer(end, heard.text, heard.call, heard.thoughts)
    if not has_ended and not texts:
        return Reading("bad_reply")
    tokens = _TOKENS[_form(exchange)](heard.usage) if heard.usage else None
    return Reading(texts=texts, end=end, tokens=tokens)


def _form(exchange: Exchange) -> str:
    first = next(chunks(exchange.body), {})
    if "event_type" in first:
        return "cohere-v1"
    if exchange.dialect == "openai-chat" or "choices" in first:
        return "openai-chat"
    return exchange.dialect


def _hear_chat(chunk: _Json, heard: _Heard) -> None:
    if isinstance(chunk.get("error"), dict):
        heard.failed = str(chunk["error"].get("message"))
    usage = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage") or {}
    heard.usage |= {name: value for name, value in usage.items() if value is not None}
    for choice in (chunk.get("choices") or [])[:1]:
        delta = choice.get("delta") or {}
        heard.text += _joined(delta.get("content") or "", "text")
        heard.thoughts += delta.get("reasoning_content") or delta.get("reasoning") or ""
        heard.refusal += delta.get("refusal") or ""
        for tool in delta.get("tool_calls") or []:
            heard.calls.add(tool.get("index", 0))
            if len(heard.calls) == 1:
                heard.call += (tool.get("function") or {}).get("arguments") or ""
        if choice.get("finish_reason"):
            heard.reason = choice["finish_reason"]


def _hear_responses(chunk: _Json, heard: _Heard) -> None:
    kind = chunk.get("type")
    if kind in ("error", "response.failed"):
        heard.failed = "failed"
    if kind == "response.output_text.delta":
        heard.text += chunk["delta"]
    if kind == "response.function_call_arguments.delta":
        heard.calls.add(chunk.get("item_id"))
        if len(heard.calls) == 1:
            heard.call += chunk["delta"]
    if kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        heard.thoughts += chunk["delta"]


def _hear_anthropic(chunk: _Json, heard: _Heard) -> None:
    kind = chunk.get("type")
    if kind == "error":
        heard.failed = "failed"
    if kind == "message_start":
        heard.usage |= chunk["message"].get("usage") or {}
    delta = chunk.get("delta") or {}
    if kind == "message_delta":
        heard.usage |= {n: v for n, v in (chunk.get("usage") or {}).items() if v is not None}
        heard.reason = delta.get("stop_reason") or heard.reason
    if kind == "content_block_delta":
        heard.text += delta.get("text") or ""
        heard.thoughts += delta.get("thinking") or ""
        if delta.get("partial_json"):
            heard.calls.add(chunk.get("index"))
        if len(heard.calls) == 1:
            heard.call += delta.get("partial_json") or ""


def _hear_gemini(chunk: _Json, heard: _Heard) -> None:
    heard.usage |= chunk.get("usageMetadata") or {}
    candidate = (chunk.get("candidates") or [{}])[0]
    heard.reason = candidate.get("finishReason") or heard.reason
    for part in (candidate.get("content") or {}).get("parts") or []:
        text = part.get("text") or ""
        if part.get("thought"):
            heard.thoughts += text
        else:
            heard.text += text
        if "functionCall" in part and not heard.call:
            heard.call = _as_text(part["functionCall"].get("args"))


def _hear_ollama(chunk: _Json, heard: _Heard) -> None:
    message = chunk.get("message") or {}
    heard.text += message.get("content") or ""
    heard.thoughts += message.get("thinking") or ""
    for tool in message.get("tool_calls") or []:
        heard.call = heard.call or _as_text(tool["function"]["arguments"])
    if chunk.get("done"):
        heard.reason = chunk.get("done_reason") or "stop"
        heard.usage = chunk


def _hear_cohere(chunk: _Json, heard: _Heard) -> None:
    kind = chunk.get("type")
    delta = chunk.get("delta") or {}
    if kind == "content-delta":
        content = delta["message"]["content"]
        heard.text += content.get("text") or ""
        heard.thoughts += content.get("thinking") or ""
    if kind == "tool-call-delta":
        heard.calls.add(chunk.get("index"))
        if len(heard.calls) == 1:
            heard.call += delta["message"]["tool_calls"]["function"].get("arguments") or ""
    if kind == "message-end":
        heard.reason = delta.get("finish_reason") or "stop"
        heard.usage = delta.get("usage") or {}


def _hear_cohere_v1(chunk: _Json, heard: _Heard) -> None:
    if chunk["event_type"] == "text-generation":
        heard.text += chunk["text"]
    if chunk["event_type"] == "stream-end":
        heard.reason = chunk.get("finish_reason") or "stop"
        heard.usage = (chunk.get("response") or {}).get("meta") or {}


def _cohere_tokens(usage: _Json) -> Tokens | None:
    return _cohere({"message": {}, "usage": usage}).tokens


def _ollama_tokens(usage: _Json) -> Tokens | None:
    return _ollama({**usage, "message": {}}).tokens


_HEARING = {
    "openai-chat": _hear_chat,
    "openai-responses": _hear_responses,
    "anthropic-messages": _hear_anthropic,
    "gemini": _hear_gemini,
    "ollama-native": _hear_ollama,
    "cohere-chat": _hear_cohere,
    "cohere-v1": _hear_cohere_v1,
}
_TOKENS = {
    "openai-chat": openai_tokens,
    "openai-responses": openai_tokens,
    "anthropic-messages": _anthropic_tokens,
    "gemini": _gemini_tokens,
    "ollama-native": _ollama_tokens,
    "cohere-chat": _cohere_tokens,
    "cohere-v1": _cohere_tokens,
}
