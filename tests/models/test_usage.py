"""The tokens that are billed, and the dollars that a provider names; of every form of counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragassay.models.answer import Usage
from ragassay.models.usage import (
    anthropic_usage,
    bedrock_usage,
    cohere_usage,
    cost_in_headers,
    gemini_usage,
    ollama_usage,
    openai_usage,
    text_usage,
)


@pytest.mark.parametrize(
    ("counts", "billed"),
    [
        pytest.param(
            {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 317}
            | {"completion_tokens_details": {"reasoning_tokens": 276}},
            # 317 = 32 + 9 + 276: what was thought stands beside what was written
            Usage(32, 285, thinking=276),
            id="xai",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}
            | {"completion_tokens_details": {"reasoning_tokens": 64}},
            Usage(10, 90, thinking=64),
            id="openai: thoughts are part of what was written",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 50},
            # 50 - 10 - 4 = 36 tokens that nothing else tells of
            Usage(10, 40, thinking=36),
            id="gemini, compatible: only the total holds the thoughts",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 4, "reasoning_tokens": 30},
            # More was thought than written in all, and no total tells: it stands beside.
            Usage(10, 34, thinking=30),
            id="no total",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 201, "total_tokens": 585}
            | {"prompt_tokens_details": {"audio_tokens": 375}},
            Usage(9, 201),
            id="the seconds of a recording are no thoughts",
        ),
        pytest.param(
            {"prompt_tokens": 12.0, "completion_tokens": 3.0}, Usage(12, 3), id="whole floats"
        ),
        pytest.param(
            {"input_tokens": 20, "output_tokens": 8, "total_tokens": 28}
            | {"input_tokens_details": {"cached_tokens": 16}}
            | {"output_tokens_details": {"reasoning_tokens": 6}},
            Usage(20, 8, 16, 6),
            id="responses",
        ),
    ],
)
def test_hidden_thoughts_are_billed_as_what_was_written(
    counts: dict[str, Any], billed: Usage
) -> None:
    assert openai_usage(counts) == billed


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens_details": {"cached_tokens": 64}},
        {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},  # DeepSeek
        {"num_cached_tokens": 64},  # Mistral
        {"cached_tokens": 64, "prompt_tokens_details": None},  # Together
        {"cache_read_input_tokens": 64, "cache_creation_input_tokens": 0},  # Databricks
    ],
)
def test_tokens_from_a_cache_are_found_under_each_of_their_names(told: dict[str, Any]) -> None:
    assert openai_usage({"prompt_tokens": 100, "completion_tokens": 5} | told) == Usage(100, 5, 64)


def test_no_more_tokens_can_come_from_a_cache_than_were_sent() -> None:
    counts = {"prompt_tokens": 78, "completion_tokens": 9}
    assert openai_usage(counts | {"cached_tokens": 158}) == Usage(78, 9, 78)


@pytest.mark.parametrize(
    ("told", "dollars"),
    [
        ({"cost": 0.00042}, 0.00042),
        # OpenRouter, with a key of one's own: its fee, and what the other provider charges beside.
        (
            {
                "cost": 0.0001,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.0020},
            },
            0.0021,
        ),
        ({"cost": 0.0001, "is_byok": False, "cost_details": {"upstream_inference_cost": 9}}, 1e-4),
        ({"cost": {"input_tokens_cost": 1e-6, "total_cost": 0.006}}, 0.006),  # Perplexity
        ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),  # xAI: 10,000,000,000 a dollar
        ({"estimated_cost": 0.0000311}, 0.0000311),
        ({"pydantic_ai_gateway": {"cost_estimate": 0.00012625}}, 0.00012625),
        ({"cost": "0.1"}, None),
        ({"cost": -1}, None),
        ({}, None),
    ],
)
def test_a_cost_that_the_provider_tells_is_taken(
    told: dict[str, Any], dollars: float | None
) -> None:
    usage = openai_usage({"prompt_tokens": 10, "completion_tokens": 5} | told)
    assert usage is not None
    assert usage.cost == (None if dollars is None else pytest.approx(dollars, rel=1e-12))


def test_anthropic_counts_what_it_read_from_a_cache_beside_its_input() -> None:
    counts = {
        "input_tokens": 7,
        "cache_read_input_tokens": 2048,
        "cache_creation_input_tokens": 128,
        "output_tokens": 33,
        "output_tokens_details": {"thinking_tokens": 21},
    }
    # 7 + 2,048 + 128
    assert anthropic_usage(counts) == Usage(2183, 33, 2048, 21)


def test_every_pass_of_a_reply_that_took_several_is_billed() -> None:
    first = {"type": "compaction", "input_tokens": 60385, "output_tokens": 592}
    second = {"type": "message", "input_tokens": 682, "output_tokens": 1320}
    counts = {"input_tokens": 682, "output_tokens": 1320, "iterations": [first, second]}
    # 60,385 + 682 and 592 + 1,320
    assert anthropic_usage(counts) == Usage(61067, 1912)


@pytest.mark.parametrize(
    ("read", "counts", "billed"),
    [
        (
            bedrock_usage,
            {"inputTokens": 5, "outputTokens": 9, "cacheReadInputTokens": 100}
            | {"cacheWriteInputTokens": 20, "totalTokens": 134},
            Usage(125, 9, 100),
        ),
        (
            gemini_usage,
            {"promptTokenCount": 15, "candidatesTokenCount": 2, "thoughtsTokenCount": 40}
            | {"cachedContentTokenCount": 8, "totalTokenCount": 57},
            Usage(15, 42, 8, 40),
        ),
        (
            gemini_usage,
            {"promptTokenCount": 15, "candidatesTokenCount": 2, "totalTokenCount": 57},
            Usage(15, 42, thinking=40),
        ),
        (gemini_usage, {"promptTokenCount": 15, "totalTokenCount": 15}, Usage(15, 0)),
        (
            cohere_usage,
            {"billed_units": {"input_tokens": 84.0, "output_tokens": 314.0}}
            | {"tokens": {"input_tokens": 1501, "output_tokens": 346}, "cached_tokens": 1008},
            Usage(84, 314, 84),
        ),
        (ollama_usage, {"prompt_eval_count": 26, "eval_count": 298}, Usage(26, 298)),
        (ollama_usage, {"eval_count": 298}, Usage(0, 298)),  # all of the prompt from its cache
        (text_usage, {"prompt_token_count": 10, "generation_token_count": 60}, Usage(10, 60)),
    ],
)
def test_each_dialect_has_its_own_names(
    read: Callable[[object], Usage | None], counts: dict[str, Any], billed: Usage
) -> None:
    assert read(counts) == billed


@pytest.mark.parametrize(
    "read",
    [
        openai_usage,
        anthropic_usage,
        bedrock_usage,
        gemini_usage,
        cohere_usage,
        ollama_usage,
        text_usage,
    ],
)
@pytest.mark.parametrize("counts", [{}, {"input_tokens": -3, "output_tokens": "many"}])
def test_what_is_no_count_is_told_as_none(
    read: Callable[[object], Usage | None], counts: dict[str, Any]
) -> None:
    assert read(counts) is None


@pytest.mark.parametrize(
    ("value", "dollars"), [("0.00042", 0.00042), ("1e-5", 1e-5), ("None", None), ("-1", None)]
)
def test_a_gateway_may_name_the_cost_in_a_header(value: str, dollars: float | None) -> None:
    assert cost_in_headers({"x-litellm-response-cost": value}) == dollars
    assert cost_in_headers({}) is None
