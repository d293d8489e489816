"""OpenRouter."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="openrouter",
    title="OpenRouter",
    base_url="https://openrouter.ai/api/v1",
    keys=("OPENROUTER_API_KEY",),
    thinking="openrouter",
)
