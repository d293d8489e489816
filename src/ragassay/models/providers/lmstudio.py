"""LM Studio, on this machine where no base URL says otherwise."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="lmstudio",
    title="LM Studio",
    base_url="http://127.0.0.1:1234/v1",
    keys=("LMSTUDIO_API_KEY",),
    key_needed=False,
)
