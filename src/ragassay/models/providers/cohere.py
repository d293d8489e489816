"""Cohere, by the second version of its own chat API."""

from ragassay.models.provider import COHERE_CHAT, Provider

PROVIDER = Provider(
    scheme="cohere",
    title="Cohere",
    base_url="https://api.cohere.com/v2",
    keys=("COHERE_API_KEY", "CO_API_KEY"),
    dialect=COHERE_CHAT,
)
