"""Amazon Bedrock, by its Converse API."""

from __future__ import annotations

import os

from ragassay.core import SetupError
from ragassay.models.capabilities import Capabilities
from ragassay.models.provider import BEDROCK_CONVERSE, Provider

REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def address(model: str, base_url: str | None) -> str:
    """The address of the region that the environment names. Raises SetupError E0101 where it names
    none: no region is taken by itself, since the texts of the rows are sent there.
    """
    if base_url is not None:
        return base_url
    region = next((os.environ[name] for name in REGIONS if os.environ.get(name)), "")
    if not region:
        raise SetupError(
            "E0101",
            "No region of Amazon Bedrock is named.",
            where="--base-url",
            fix=f"export {REGIONS[0]}=eu-central-1 or another one, or give --base-url",
        )
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
)
