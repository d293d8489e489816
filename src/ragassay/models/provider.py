"""What a provider is: its address, its key, its dialect, and what its models can do, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ragassay.models.capabilities import Capabilities
from ragassay.models.dialects.anthropic import AnthropicMessages
from ragassay.models.dialects.base import Dialect
from ragassay.models.dialects.bedrock import BedrockConverse
from ragassay.models.dialects.cohere import CohereChat
from ragassay.models.dialects.gemini import Gemini
from ragassay.models.dialects.openai_chat import OpenAIChat

Auth = Literal["bearer", "api-key", "x-api-key", "x-goog-api-key", "aws"]
"""How a request carries its key: as a bearer token, in a header of this name, or as a signature."""

OPENAI_CHAT: Dialect = OpenAIChat()
ANTHROPIC_MESSAGES: Dialect = AnthropicMessages()
GEMINI: Dialect = Gemini()
BEDROCK_CONVERSE: Dialect = BedrockConverse()
COHERE_CHAT: Dialect = CohereChat()

Address = Callable[[str, str | None], str]
"""(model, base URL as given or None) -> the base URL. Raises SetupError."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of hosted models, or a kind of server.

    scheme: of its URIs. title: how it calls itself. base_url: None where every user has one of
    their own, which `--base-url` or the variable `address_env` gives. keys: the variables that may
    hold its key, the first being the usual one. key_needed: it answers nobody without. known: what
    its models accept as far as is known before the first call. thinking: how an effort is asked
    for. batch: it has OpenAI's batch API. address: where the base URL depends on the model or the
    environment. token_env: a variable that may hold a bearer token in place of the key.
    """

    scheme: str
    title: str
    base_url: str | None
    keys: tuple[str, ...]
    key_needed: bool = True
    auth: Auth = "bearer"
    dialect: Dialect = OPENAI_CHAT
    known: Capabilities = field(default_factory=Capabilities)
    thinking: Literal["effort", "openrouter", "thinking_type", "enable_thinking", "template"] = (
        "effort"
    )
    seed_name: str = "seed"
    batch: bool = False
    address_env: tuple[str, ...] = ()
    address: Address | None = None
    token_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def known_of(self, model: str) -> Capabilities:
        """What is assumed of a model before its first call: whoever thinks gets room for it."""
        from ragassay.models.thinking import FIRST_ROOM, thinks

        return replace(self.known, room=FIRST_ROOM) if thinks(model) else self.known
