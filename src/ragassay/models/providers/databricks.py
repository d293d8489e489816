"""Databricks: serving endpoints, at the address of the user's workspace."""

from __future__ import annotations

import os

from ragassay.core import SetupError
from ragassay.models.provider import Provider

HOST = "DATABRICKS_HOST"


def address(model: str, base_url: str | None) -> str:
    """The serving endpoints of the workspace. Raises SetupError E0101 where none is named."""
    if base_url is not None:
        return base_url
    host = os.environ.get(HOST, "").strip().rstrip("/")
    if not host:
        raise SetupError(
            "E0101",
            "Databricks gives every workspace an address of its own, and none is named.",
            where="--base-url",
            fix=f"export {HOST}=https://NAME.cloud.databricks.com, or give --base-url",
        )
    root = host if "://" in host else f"https://{host}"
    return f"{root}/serving-endpoints"


PROVIDER = Provider(
    scheme="databricks",
    title="Databricks",
    base_url=None,
    keys=("DATABRICKS_TOKEN",),
    address=address,
)
