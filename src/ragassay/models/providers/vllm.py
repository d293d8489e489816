"""vLLM, on this machine where no base URL says otherwise."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="vllm",
    title="vLLM",
    base_url="http://127.0.0.1:8000/v1",
    keys=("VLLM_API_KEY",),
    key_needed=False,
    thinking="template",
)
