"""The LiteLLM proxy, on this machine where no base URL says otherwise."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="litellm",
    title="LiteLLM",
    base_url="http://127.0.0.1:4000",
    keys=("LITELLM_API_KEY",),
    key_needed=False,
    address_env=("LITELLM_BASE_URL",),
)
