"""The provider "local": a classifier in a folder, or under a name of the Hugging Face hub."""

from __future__ import annotations

from ragassay.models.base import Model


def open_local_model(name: str, *, no_network: bool) -> Model:
    """The model `name`; see `models.local.LocalModel`."""
    from ragassay.models.local import LocalModel

    return LocalModel(name, no_network=no_network)
