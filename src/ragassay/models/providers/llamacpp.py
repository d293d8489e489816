"""The server of llama.cpp, on this machine where no base URL says otherwise."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="llamacpp",
    title="llama.cpp",
    base_url="http://127.0.0.1:8080/v1",
    keys=("LLAMA_API_KEY",),
    key_needed=False,
    thinking="template",
)
