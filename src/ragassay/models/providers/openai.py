"""The provider "openai": OpenAI, and any server that speaks its protocol."""

from __future__ import annotations

from ragassay.models.base import Model
from ragassay.models.prices import Rate


def open_model(
    name: str, *, base_url: str | None, api_key_env: str | None, rate: Rate | None, concurrency: int
) -> Model:
    """The model `name`, one request a call; see `models.openai.open_model`."""
    from ragassay.models import openai

    return openai.open_model(
        name, base_url=base_url, api_key_env=api_key_env, rate=rate, concurrency=concurrency
    )


def open_batch_model(
    name: str, *, base_url: str | None, api_key_env: str | None, rate: Rate | None, concurrency: int
) -> Model:
    """The model `name` through batches; see `models.batch.open_batch_model`."""
    from ragassay.models import batch

    return batch.open_batch_model(
        name, base_url=base_url, api_key_env=api_key_env, rate=rate, concurrency=concurrency
    )
