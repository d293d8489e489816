"""Amazon Bedrock, by its Converse API."""

from __future__ import annotations

import os

from ragassay.models.capabilities import Capabilities
from ragassay.models.provider import BEDROCK_CONVERSE, Provider

REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def address(model: str, base_url: str | None) -> str:
    """The address of the region that the environment names."""
    if base_url is not None:
        return base_url
    region = next((os.environ[name] for name in REGIONS if os.environ.get(name)), "us-east-1")
    return f"https://bedrock-runtime.{region}.amazonaws.com"


PROVIDER = Provider(
    scheme="bedrock",
    title="Amazon Bedrock",
    base_url=None,
    keys=("AWS_BEARER_TOKEN_BEDROCK",),
    key_needed=False,
    auth="aws",
    dialect=BEDROCK_CONVERSE,
    known=Capabilities(seed=False),
    address=address,
    cache="none",
    limit_headers="none",
)
