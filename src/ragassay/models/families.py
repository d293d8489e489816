"""Families of language models, by the names that providers and gateways give their models.

A family is what one maker trained: its models share data and habits, and so tend to like each
other's answers. Names that no family is known of have none; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "OpenAI": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci", "codex"),
        "Anthropic Claude": ("claude",),
        "Google Gemini and Gemma": ("gemini", "gemma", "palm", "bison"),
        "Meta Llama": ("llama", "codellama"),
        "Mistral": (
            "mistral",
            "mixtral",
            "magistral",
            "ministral",
            "codestral",
            "devstral",
            "pixtral",
        ),
        "Qwen": ("qwen", "qwq", "qvq"),
        "DeepSeek": ("deepseek",),
        "xAI Grok": ("grok",),
        "Cohere Command": ("command", "aya"),
        "Amazon Nova": ("nova",),
        "Amazon Titan": ("titan",),
        "Microsoft Phi": ("phi",),
        "Zhipu GLM": ("glm", "chatglm"),
        "Moonshot Kimi": ("kimi", "moonshot"),
        "MiniMax": ("minimax", "abab"),
        "IBM Granite": ("granite",),
        "NVIDIA Nemotron": ("nemotron",),
        "AI21 Jamba": ("jamba", "jurassic"),
        "TII Falcon": ("falcon",),
        "01.AI Yi": ("yi",),
        "Databricks": ("dbrx",),
        "Allen AI OLMo": ("olmo", "tulu"),
        "StepFun": ("step",),
        "Baidu ERNIE": ("ernie",),
        "Tencent Hunyuan": ("hunyuan",),
        "ByteDance Doubao": ("doubao",),
        "Writer Palmyra": ("palmyra",),
        "Perplexity Sonar": ("sonar",),
        "Hugging Face SmolLM": ("smollm", "zephyr"),
    }
)
"""Family -> how the names of its models begin."""

_FAMILY_OF: dict[str, str] = {}
for _family, _prefixes in FAMILIES.items():
    _FAMILY_OF |= dict.fromkeys(_prefixes, _family)
_ONLY_FIRST = frozenset(
    {"o1", "o3", "o4", "codex", "palm", "aya", "nova", "titan", "phi", "glm", "yi", "step"}
)
"""Words that say nothing where they stand later in a name."""
_WORD = re.compile(r"[a-z]+[0-9]*|[0-9]+")
_VERSION = re.compile(r"-v\d+$")
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_SIZE = re.compile(r"(?<![a-z0-9])\d+(?:\.\d+)?b(?![a-z])")


def bare_name(name: str) -> str:
    """The model's own name: without the provider's scheme, the folders of a gateway, the region and
    maker of a cloud, the version of a deployment and the tag; in lower case.

    "openai/gpt-4o-2024-08-06", "us.anthropic.claude-3-haiku-v1:0" and "openai:gpt-4o" come to
    "gpt-4o", "claude-3-haiku" and "gpt-4o". A tag is left out, also a size ("llama3:8b").
    """
    text = name.strip().casefold()
    text = text.rstrip("/").rsplit("/", 1)[-1].split("@", 1)[0]
    head, _, tail = text.partition(":")
    # Before a colon stands a provider's scheme, or the name, and behind it a tag.
    is_tag = _family_in(head) and not _family_in(tail)
    text = head if is_tag or not tail else tail.partition(":")[0]
    while _begins_with_a_region_or_maker(text):
        text = text.partition(".")[2]
    return _DATE.sub("", _VERSION.sub("", text))


def _begins_with_a_region_or_maker(text: str) -> bool:
    # "us.anthropic.claude-3" does, "gpt-4.1" does not.
    head, _, rest = text.partition(".")
    return head.isalpha() and bool(rest)


def family_of(name: str) -> str:
    """The family of a model by its name, as in FAMILIES; "" where none is known.

    The name may be a judge's URI or as a gateway writes it: "openai:gpt-4o",
    "meta-llama/Llama-3.3-70B-Instruct", "us.anthropic.claude-3-5-sonnet-20241022-v2:0". Of two
    families in a name the first counts: a distillate stands before what it is built on.
    """
    # A maker tells the family where the name itself does not: "us.deepseek.r1".
    return _family_in(bare_name(name)) or _family_in(name.casefold().rsplit("/", 1)[-1])


def _family_in(text: str) -> str:
    for place, word in enumerate(_WORD.findall(text)):
        stem = word.rstrip("0123456789")
        family = _FAMILY_OF.get(word) or _FAMILY_OF.get(stem, "")
        is_sign = place == 0 or not {word, stem} & _ONLY_FIRST
        if family and is_sign:
            return family
    return ""


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model of one size, whoever serves it."""
    name, sizes = bare_name(one), _SIZE.findall(one.casefold())
    return bool(name) and (name, sizes) == (bare_name(other), _SIZE.findall(other.casefold()))
