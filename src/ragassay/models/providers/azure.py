"""Azure OpenAI: deployments with an API version, or the v1 API; by key or by token."""

from __future__ import annotations

import os

from yarl import URL

from ragassay.core import SetupError
from ragassay.models.provider import Provider

ENDPOINT, TOKEN = "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_AD_TOKEN"
VERSIONS = ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
FIRST_VERSION = "2024-10-21"
"""The API version where none is named: the last one of the classic API that was declared stable."""


def address(model: str, base_url: str | None) -> str:
    """The address of the deployment `model`. Raises SetupError E0101 where no resource is named.

    An address that ends in /openai/v1 is that of the v1 API, which has no versions; one that holds
    a deployment is taken as it is; any other is that of the resource.
    """
    given = (base_url or os.environ.get(ENDPOINT, "")).strip()
    if not given:
        raise SetupError(
            "E0101",
            "Azure gives every resource an address of its own, and none is named.",
            where="--base-url",
            fix=f"export {ENDPOINT}=https://NAME.openai.azure.com, or give it as --base-url",
        )
    url = URL(given)
    path = url.path.rstrip("/")
    if path.endswith("/v1"):
        return given
    version = url.query.get("api-version") or next(
        (os.environ[name] for name in VERSIONS if os.environ.get(name)), FIRST_VERSION
    )
    if "/deployments/" not in path:
        root = path.removesuffix("/openai")
        url = url.with_path(f"{root}/openai/deployments/{model}")
    return str(url.with_query({"api-version": version}))


PROVIDER = Provider(
    scheme="azure",
    title="Azure OpenAI",
    base_url=None,
    keys=("AZURE_OPENAI_API_KEY",),
    auth="api-key",
    address=address,
    token_env=TOKEN,
)
