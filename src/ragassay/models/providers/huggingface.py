"""Hugging Face, which passes calls on to other providers."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="huggingface",
    title="Hugging Face",
    base_url="https://router.huggingface.co/v1",
    keys=("HF_TOKEN", "HUGGINGFACE_API_KEY"),
)
