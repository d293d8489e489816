"""OpenAI, and with a base URL any server that speaks its protocol."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="openai",
    title="OpenAI",
    base_url="https://api.openai.com/v1",
    keys=("OPENAI_API_KEY",),
    address_env=("OPENAI_BASE_URL",),
    batch=True,
)
