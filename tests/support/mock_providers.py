"""Where the mock server that answers for many providers has each of them."""

PROVIDERS = {
    "openai": "/v1",
    "anthropic": "/anthropic/v1",
    "gemini": "/gemini/v1beta",
    "cohere": "/cohere/v2",
    "mistral": "/mistral/v1",
    "groq": "/groq/openai/v1",
    "together": "/together/v1",
    "xai": "/xai/v1",
}
"""Schemes to the paths of their base URLs."""
