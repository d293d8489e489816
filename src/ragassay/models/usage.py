"""The tokens of a reply as they are billed, from the counts that servers give in many forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragassay.models.answer import Usage, count, dollars, is_count, mapping

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
    prompt = counts.get("prompt_tokens", counts.get("input_tokens"))
    written = counts.get("completion_tokens", counts.get("output_tokens"))
    if not (is_count(prompt) and is_count(written)):
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
    total = counts.get("total_tokens")
    if is_count(total):
        beside = max(0, total - prompt - written)
        # What else a total may hold, as the seconds of a recording, is no thought.
        audio = count(mapping(counts.get("prompt_tokens_details")).get("audio_tokens"))
        return max(0, beside - audio)
    return thinking if thinking > written else 0


def _cached(counts: Mapping[str, Any]) -> int:
    details = counts.get("prompt_tokens_details", counts.get("input_tokens_details"))
    named = mapping(details).get("cached_tokens")
    if is_count(named) and named:
        return named
    return max((count(counts[name]) for name in _CACHED if name in counts), default=0)


def told_cost(counts: Mapping[str, Any]) -> float | None:
    """US dollars that the provider says it charges; None where it says nothing."""
    ticks = counts.get("cost_in_usd_ticks")
    if is_count(ticks):
        return ticks / TICKS_A_DOLLAR
    cost = counts.get("cost")
    if isinstance(cost, Mapping):  # Perplexity
        return dollars(cost.get("total_cost"))
    told = dollars(cost)
    if told is None or not counts.get("is_byok"):
        return told
    # With a key of one's own, OpenRouter names its fee, and the other provider charges beside it.
    upstream = dollars(mapping(counts.get("cost_details")).get("upstream_inference_cost"))
    return told + (upstream or 0.0)


def anthropic_usage(usage: object) -> Usage | None:
    """Of Anthropic's messages: its input leaves out what was read from a cache or written to it."""
    counts = mapping(usage)
    fresh, output = counts.get("input_tokens"), counts.get("output_tokens")
    if not (is_count(fresh) and is_count(output)):
        return None
    read = count(counts.get("cache_read_input_tokens"))
    stored = count(counts.get("cache_creation_input_tokens"))
    thinking = count(mapping(counts.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(fresh + read + stored, output, read, thinking, told_cost(counts))


def bedrock_usage(usage: object) -> Usage | None:
    """Of Bedrock's Converse: as Anthropic's, in other words."""
    counts = mapping(usage)
    fresh, output = counts.get("inputTokens"), counts.get("outputTokens")
    if not (is_count(fresh) and is_count(output)):
        return None
    read = max(count(counts.get(n)) for n in ("cacheReadInputTokens", "cacheReadInputTokenCount"))
    stored = max(
        count(counts.get(n)) for n in ("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    )
    return Usage(fresh + read + stored, output, read)


def gemini_usage(usage: object) -> Usage | None:
    """Of Gemini: what it thinks stands beside what it writes, and costs the same. A reply that was
    blocked has no count of what was written.
    """
    counts = mapping(usage)
    prompt = counts.get("promptTokenCount")
    if not is_count(prompt):
        return None
    prompt += count(counts.get("toolUsePromptTokenCount"))
    thinking = count(counts.get("thoughtsTokenCount"))
    written = count(counts.get("candidatesTokenCount"))
    cached = min(count(counts.get("cachedContentTokenCount")), prompt)
    return Usage(prompt, written + thinking, cached, thinking)


def cohere_usage(usage: object) -> Usage | None:
    """Of Cohere: it bills less than the model reads, for its own template is free."""
    counts = mapping(usage)
    tokens, billed = mapping(counts.get("tokens")), mapping(counts.get("billed_units"))
    prompt = billed.get("input_tokens", tokens.get("input_tokens"))
    output = billed.get("output_tokens", tokens.get("output_tokens"))
    if not (is_count(prompt) and is_count(output)):
        return None
    cached = min(count(counts.get("cached_tokens")), prompt)
    return Usage(prompt, output, cached, count(tokens.get("reasoning_tokens")))


def ollama_usage(reply: Mapping[str, Any]) -> Usage | None:
    """Of Ollama's own API. What it read from its cache it may not count."""
    output = reply.get("eval_count")
    if not is_count(output):
        return None
    return Usage(count(reply.get("prompt_eval_count")), output)
