"""The family of a model by its name, as providers, gateways and clouds write it."""

from __future__ import annotations

import pytest

from ragassay.models.families import FAMILIES, bare_name, family_of, same_model

NAMES = {
    "OpenAI": (
        "openai:gpt-4o",
        "openai/gpt-4o",
        "azure:gpt-4.1",
        "openrouter:openai/gpt-oss-120b:free",
        "o3-mini",
        "openai:o1",
        "o4-mini-2025-04-16",
        "chatgpt-4o-latest",
        "ft:gpt-4o-mini-2024-07-18:acme::abc",
    ),
    "Anthropic Claude": (
        "anthropic:claude-sonnet-4-5",
        "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
        "claude-3-opus@20240229",
        "databricks-claude-sonnet-4",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0",
    ),
    "Google Gemini and Gemma": (
        "gemini:models/gemini-2.5-pro",
        "vertex_ai/gemini-1.5-pro-002",
        "google/gemma-3-27b-it",
    ),
    "Meta Llama": (
        "meta-llama/Llama-3.3-70B-Instruct",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
        "ollama:llama3.1:8b",
        "bedrock:us.meta.llama3-3-70b-instruct-v1:0",
        "databricks-meta-llama-3-3-70b-instruct",
    ),
    "Mistral": (
        "mistral:mistral-large-latest",
        "mixtral-8x7b-32768",
        "magistral-small",
        "ministral-8b",
        "open-mistral-7b",
    ),
    "Qwen": ("ollama:qwen3:8b", "Qwen/Qwen2.5-72B-Instruct", "qwq-32b"),
    "DeepSeek": ("deepseek-r1-distill-llama-70b", "us.deepseek.r1-v1:0"),
    "xAI Grok": ("xai:grok-4",),
    "Cohere Command": ("cohere:command-r-plus",),
    "Amazon Nova": ("bedrock:amazon.nova-pro-v1:0",),
    "Microsoft Phi": ("phi-4", "microsoft/Phi-3-mini"),
    "Zhipu GLM": ("zai-org/GLM-4.6",),
    "Moonshot Kimi": ("moonshotai/kimi-k2", "accounts/fireworks/models/kimi-k2-instruct"),
    "": ("mock", "offline", "azure:my-deployment", "philosophy-model", "my-step-model", "", ":"),
}


@pytest.mark.parametrize(
    ("name", "family"), [(name, family) for family, names in NAMES.items() for name in names]
)
def test_a_name_shows_its_family(name: str, family: str) -> None:
    assert family_of(name) == family


def test_no_beginning_of_a_name_is_in_two_families() -> None:
    prefixes = [prefix for of_family in FAMILIES.values() for prefix in of_family]
    assert len(prefixes) == len(set(prefixes))


def test_one_model_is_known_under_the_names_of_its_servers() -> None:
    assert bare_name("us.anthropic.claude-3-haiku-20240307-v1:0") == "claude-3-haiku"
    assert same_model("openai:gpt-4o", "openai/gpt-4o-2024-08-06")
    assert same_model("anthropic:claude-3-haiku", "us.anthropic.claude-3-haiku-20240307-v1:0")
    assert not same_model("openai:gpt-4o", "openai:gpt-4o-mini")
    assert not same_model("ollama:llama3.1:8b", "ollama:llama3.1:70b")
    assert not same_model("", "")
