"""Mistral."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="mistral",
    title="Mistral",
    base_url="https://api.mistral.ai/v1",
    keys=("MISTRAL_API_KEY",),
    seed_name="random_seed",
)
