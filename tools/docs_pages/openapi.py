"""The document docs/http-api/openapi.json, which clients are made from."""

from __future__ import annotations

from ragassay.web.api.openapi import document_bytes


def openapi_page() -> str:
    """The document as the server gives it."""
    return document_bytes().decode()
