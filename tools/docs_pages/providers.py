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


def _row(provider: Provider) -> str:
    keys = ", ".join(f"`{key}`" for key in provider.keys)
    cells = (
        provider.title,
        f"`{provider.scheme}:MODEL`",
        f"`{provider.base_url}`" if provider.base_url else "your own",
        keys if provider.key_needed else f"{keys} or none",
        _DIALECTS[type(provider.dialect).__name__],
        FORMATS[provider.known.format],
    )
    return f"| {' | '.join(map(cell, cells))} |"
