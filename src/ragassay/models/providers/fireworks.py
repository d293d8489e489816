"""Fireworks."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="fireworks",
    title="Fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    keys=("FIREWORKS_API_KEY",),
)
