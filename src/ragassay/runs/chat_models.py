"""The chat models of a run that are asked call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragassay.models import Model
    from ragassay.models.chat_model import ChatModel


def chat_models(model: Model) -> list[ChatModel]:
    """The models behind servers that a run asks; none whose calls wait for a batch, for nothing is
    learnt of these before a day has passed.
    """
    members: tuple[Any, ...] = getattr(model, "chat_models", (model,))
    return [m for m in members if hasattr(m, "remember") and not hasattr(m, "waits_for_provider")]


def hosted_models(model: Model) -> list[ChatModel]:
    """All models behind servers that a run asks, also those whose calls wait for a batch."""
    members: tuple[Any, ...] = getattr(model, "chat_models", (model,))
    return [m for m in members if hasattr(m, "hosts")]
