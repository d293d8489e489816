"""Ollama, on this machine where neither a base URL nor OLLAMA_HOST says otherwise."""

from __future__ import annotations

import os

from ragassay.models.provider import Provider

LOCAL = "http://127.0.0.1:11434/v1"


def address(model: str, base_url: str | None) -> str:
    """The address; OLLAMA_HOST may be a host and port alone."""
    if base_url is not None:
        return base_url
    host = os.environ.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return LOCAL
    # What a server listens on ("every address") is no place to call.
    root = host.replace("0.0.0.0", "127.0.0.1") if "://" in host else f"http://{host}"
    root = root.replace("//0.0.0.0", "//127.0.0.1")
    return root if root.endswith("/v1") else f"{root}/v1"


PROVIDER = Provider(
    scheme="ollama",
    title="Ollama",
    base_url=LOCAL,
    keys=("OLLAMA_API_KEY",),
    key_needed=False,
    address=address,
)
