"""The tokens of a reply as they are billed, from the counts that servers give in many forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.models.answer import Usage, count, dollars, mapping, whole

TICKS_A_DOLLAR = 10**10
"""xAI names costs in ticks."""

_CACHED = (
    "prompt_cache_hit_tokens",  # DeepSeek
    "num_cached_tokens",  # Mistral
    "cached_tokens",  # Together, Hugging Face, Moonshot
    "cache_read_input_tokens",  # Anthropic's models behind Databricks and others
)


def openai_usage(usage: object) -> Usage | None:
    """Of chat completions and of responses; None where a count is missing or impossible."""
    counts = mapping(usage)
    prompt = whole(counts.get("prompt_tokens", counts.get("input_tokens")))
    written = whole(counts.get("completion_tokens", counts.get("output_tokens")))
    if prompt is None or written is None:
        return None
    thinking = _thinking(counts)
    hidden = _hidden(counts, prompt, written, thinking)
    return Usage(
        prompt,
        written + hidden,
        min(_cached(counts), prompt),
        max(thinking, hidden),
        told_cost(counts),
    )


def _thinking(counts: Mapping[str, Any]) -> int:
    details = counts.get("completion_tokens_details", counts.get("output_tokens_details"))
    named = mapping(details).get("reasoning_tokens", counts.get("reasoning_tokens"))
    return count(named)


def _hidden(counts: Mapping[str, Any], prompt: int, written: int, thinking: int) -> int:
    """Tokens that are billed as output and stand in no count of it: xAI counts what a model thinks
    beside what it writes, and Gemini shows it in the total alone.
    """
    total = whole(counts.get("total_tokens"))
    if total is not None:
        beside = max(0, total - prompt - written)
        # What else a total may hold, as the seconds of a recording, is no thought.
        audio = count(mapping(counts.get("prompt_tokens_details")).get("audio_tokens"))
        return max(0, beside - audio)
    return thinking if thinking > written else 0


def _cached(counts: Mapping[str, Any]) -> int:
    details = counts.get("prompt_tokens_details", counts.get("input_tokens_details"))
    named = count(mapping(details).get("cached_tokens"))
    if named:
        return named
    return max((count(counts[name]) for name in _CACHED if name in counts), default=0)


def told_cost(counts: Mapping[str, Any]) -> float | None:
    """US dollars that the provider says it charges; None where it says nothing."""
    ticks = counts.get("cost_in_usd_ticks")
    if isinstance(ticks, int):
        return dollars(ticks / TICKS_A_DOLLAR)
    cost = counts.get("cost")
    if isinstance(cost, Mapping):  # Perplexity
        return dollars(cost.get("total_cost"))
    if cost is None:  # DeepInfra and the gateway of Pydantic
        gateway = mapping(counts.get("pydantic_ai_gateway"))
        return dollars(counts.get("estimated_cost", gateway.get("cost_estimate")))
    told = dollars(cost)
    if told is None or not counts.get("is_byok"):
        return told
    # With a key of one's own, OpenRouter names its fee, and the other provider charges beside it.
    upstream = dollars(mapping(counts.get("cost_details")).get("upstream_inference_cost"))
    return told + (upstream or 0.0)


def cost_in_headers(headers: Mapping[str, str]) -> float | None:
    """US dollars that a gateway names beside the reply: LiteLLM's."""
    try:
        return dollars(float(headers["x-litellm-response-cost"]))
    except (KeyError, ValueError):
        return None


def anthropic_usage(usage: object) -> Usage | None:
    """Of Anthropic's messages: its input leaves out what was read from a cache or written to it.
    A reply that took several passes (one that shortened the prompt, one by another model) is billed
    for each of them, and its counts are those of the last.
    """
    counts = mapping(usage)
    fresh, output = whole(counts.get("input_tokens")), whole(counts.get("output_tokens"))
    if fresh is None or output is None:
        return None
    listed = counts.get("iterations")
    passes = [mapping(one) for one in listed] if isinstance(listed, list) and listed else [counts]
    fresh = max(fresh, _sum(passes, "input_tokens"))
    output = max(output, _sum(passes, "output_tokens"))
    read = _sum(passes, "cache_read_input_tokens")
    stored = _sum(passes, "cache_creation_input_tokens")
    thinking = count(mapping(counts.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(fresh + read + stored, output, read, thinking, told_cost(counts))


def _sum(passes: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(count(one.get(name)) for one in passes)


def bedrock_usage(usage: object) -> Usage | None:
    """Of Bedrock's Converse: as Anthropic's, in other words."""
    counts = mapping(usage)
    fresh, output = whole(counts.get("inputTokens")), whole(counts.get("outputTokens"))
    if fresh is None or output is None:
        return None
    read = max(count(counts.get(n)) for n in ("cacheReadInputTokens", "cacheReadInputTokenCount"))
    stored = max(
        count(counts.get(n)) for n in ("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    )
    return Usage(fresh + read + stored, output, read, cost=told_cost(counts))


def gemini_usage(usage: object) -> Usage | None:
    """Of Gemini: what it thinks stands beside what it writes, and costs the same. A reply that was
    blocked has no count of what was written.
    """
    counts = mapping(usage)
    prompt = whole(counts.get("promptTokenCount"))
    if prompt is None:
        return None
    prompt += count(counts.get("toolUsePromptTokenCount"))
    thinking = count(counts.get("thoughtsTokenCount"))
    written = count(counts.get("candidatesTokenCount"))
    # The total holds what was thought, also where it is told nowhere else.
    hidden = max(0, count(counts.get("totalTokenCount")) - prompt - written - thinking)
    cached = min(count(counts.get("cachedContentTokenCount")), prompt)
    return Usage(prompt, written + thinking + hidden, cached, thinking + hidden)


def cohere_usage(usage: object) -> Usage | None:
    """Of Cohere: it bills less than the model reads, for its own template is free."""
    counts = mapping(usage)
    tokens, billed = mapping(counts.get("tokens")), mapping(counts.get("billed_units"))
    prompt = whole(billed.get("input_tokens", tokens.get("input_tokens")))
    output = whole(billed.get("output_tokens", tokens.get("output_tokens")))
    if prompt is None or output is None:
        return None
    cached = min(count(counts.get("cached_tokens")), prompt)
    return Usage(prompt, output, cached, count(tokens.get("reasoning_tokens")))


def ollama_usage(reply: Mapping[str, Any]) -> Usage | None:
    """Of Ollama's own API. What it read from its cache it may not count."""
    output = whole(reply.get("eval_count"))
    if output is None:
        return None
    return Usage(count(reply.get("prompt_eval_count")), output)


def text_usage(reply: Mapping[str, Any]) -> Usage | None:
    """Of Llama models behind Bedrock's older API, whose counts stand beside the text."""
    prompt = whole(reply.get("prompt_token_count"))
    output = whole(reply.get("generation_token_count"))
    return None if prompt is None or output is None else Usage(prompt, output)
