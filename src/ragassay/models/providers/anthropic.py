"""Anthropic, by its own Messages API."""

from ragassay.models.capabilities import Capabilities
from ragassay.models.provider import ANTHROPIC_MESSAGES, Provider

PROVIDER = Provider(
    scheme="anthropic",
    title="Anthropic",
    base_url="https://api.anthropic.com/v1",
    keys=("ANTHROPIC_API_KEY",),
    auth="x-api-key",
    dialect=ANTHROPIC_MESSAGES,
    known=Capabilities(seed=False),
    address_env=("ANTHROPIC_BASE_URL",),
)
