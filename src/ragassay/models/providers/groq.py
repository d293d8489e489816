"""Groq."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="groq",
    title="Groq",
    base_url="https://api.groq.com/openai/v1",
    keys=("GROQ_API_KEY",),
)
