"""xAI."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="xai",
    title="xAI",
    base_url="https://api.x.ai/v1",
    keys=("XAI_API_KEY",),
)
