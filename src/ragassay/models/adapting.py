"""A provider as its address says that it is: some are reached in more than one dialect."""

from __future__ import annotations

from dataclasses import replace

from yarl import URL

from ragassay.models.capabilities import Capabilities
from ragassay.models.provider import OPENAI_CHAT, Provider


def adapted(provider: Provider, base_url: str | None) -> Provider:
    """The provider for this base URL.

    Gemini speaks OpenAI's protocol under /openai. Deployments of Azure are known by the version in
    their address, whatever the scheme of the URI: they want their key in a header of their own.
    """
    if base_url is None:
        return provider
    try:
        url = URL(base_url.strip())
    except ValueError:  # said where the address is checked
        return provider
    path = url.path.rstrip("/")
    if provider.scheme == "gemini" and path.endswith("/openai"):
        known = Capabilities(seed=False)
        return replace(provider, dialect=OPENAI_CHAT, auth="bearer", known=known)
    is_azure = "api-version" in url.query or (url.host or "").endswith(".openai.azure.com")
    if provider.scheme == "openai" and is_azure:
        from ragassay.models.providers.azure import PROVIDER as AZURE

        return replace(AZURE, scheme="openai", keys=(*AZURE.keys, *provider.keys))
    return provider
