"""Together."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="together",
    title="Together",
    base_url="https://api.together.xyz/v1",
    keys=("TOGETHER_API_KEY",),
)
