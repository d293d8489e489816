"""Gemini, by Google's own API; with a base URL that ends in /openai, by OpenAI's protocol."""

from ragassay.models.provider import GEMINI, Provider

PROVIDER = Provider(
    scheme="gemini",
    title="Gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    auth="x-goog-api-key",
    dialect=GEMINI,
)
