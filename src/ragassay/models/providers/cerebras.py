"""Cerebras."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="cerebras",
    title="Cerebras",
    base_url="https://api.cerebras.ai/v1",
    keys=("CEREBRAS_API_KEY",),
)
