"""The page of providers, from their modules."""

from __future__ import annotations

from docs_pages.markdown import cell, fragment
from ragassay.models.capabilities import FORMATS
from ragassay.models.connect import all_providers
from ragassay.models.provider import Provider

_HEAD = """| provider | judge | address | key | spoken to by | first asked for |
|---|---|---|---|---|---|"""

_DIALECTS = {
    "OpenAIChat": "chat completions",
    "AnthropicMessages": "Messages API",
    "Gemini": "generateContent",
    "BedrockConverse": "Converse",
    "CohereChat": "chat, version 2",
}


def providers_page() -> str:
    """docs/providers.md."""
    rows = [_row(provider) for provider in all_providers()]
    return fragment("providers_text.md").replace("PROVIDERS", "\n".join([_HEAD, *rows]))


def provider_facts(provider: Provider) -> list[tuple[str, str]]:
    """What the table says of a provider, each with its heading."""
    keys = ", ".join(f"`{key}`" for key in provider.keys)
    return [
        ("judge", f"`{provider.scheme}:MODEL`"),
        ("address", f"`{provider.base_url}`" if provider.base_url else "your own"),
        ("key", keys if provider.key_needed else f"{keys} or none"),
        ("spoken to by", _DIALECTS[type(provider.dialect).__name__]),
        ("first asked for", FORMATS[provider.known.format]),
    ]


def _row(provider: Provider) -> str:
    cells = [provider.title, *(value for _, value in provider_facts(provider))]
    return f"| {' | '.join(map(cell, cells))} |"
