"""The recorded exchanges, and the URI under which a user would reach each provider."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What our command calls the providers; whoever is not here is reached as a server of OpenAI's
# protocol.
SCHEMES = {
    "azure": "azure",
    "cerebras": "cerebras",
    "dashscope": "qwen",
    "databricks": "databricks",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "gemini",
    "groq": "groq",
    "huggingface": "huggingface",
    "litellm": "litellm",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "mistral": "mistral",
    "ollama": "ollama",
    "openrouter": "openrouter",
    "together": "together",
    "vertex": "gemini",
    "vllm": "vllm",
    "xai": "xai",
}
BY_DIALECT = {
    "anthropic-messages": "anthropic",
    "gemini": "gemini",
    "bedrock-converse": "bedrock",
    "bedrock-invoke": "bedrock",
    "cohere-chat": "cohere",
}


@dataclass(frozen=True)
class Exchange:
    """What a server answered. body: JSON or text. kind: as the recording calls it."""

    id: str
    provider: str
    dialect: str
    kind: str
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    model: str = ""
    tags: frozenset[str] = frozenset()

    @property
    def scheme(self) -> str:
        """The scheme of the URI under which the provider is reached."""
        return BY_DIALECT.get(self.dialect) or SCHEMES.get(self.provider, "openai")

    @property
    def payload(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body).encode()

    @property
    def content_type(self) -> str:
        """As it was recorded, else as the body looks."""
        recorded = self.headers.get("content-type", "")
        if recorded:
            return recorded
        if isinstance(self.body, str) and self.body.lstrip().startswith(("data:", "event:")):
            return "text/event-stream"
        return "application/json"


def load(data: Path) -> list[Exchange]:
    """All exchanges, and the quoted errors that are not among them."""
    with gzip.open(data / "exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        exchanges = [_exchange(json.loads(line)) for line in lines]
    bodies = {json.dumps(exchange.body, sort_keys=True) for exchange in exchanges}
    with open(data / "quotes.jsonl", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            quote = json.loads(line)
            if json.dumps(quote["body"], sort_keys=True) not in bodies:
                exchanges.append(_quoted(quote, number))
    return exchanges


def _exchange(row: dict[str, Any]) -> Exchange:
    return Exchange(
        row["id"],
        row["provider"],
        row["dialect"],
        row["kind"],
        row["status"],
        row["response_body"],
        row["response_headers"] or {},
        row["model"] or "",
        frozenset(row["tags"]),
    )


_KINDS = {401: "error:auth", 402: "error:quota", 404: "error:not_found", 429: "error:rate_limit"}


def _quoted(row: dict[str, Any], number: int) -> Exchange:
    """A quote; where it has no kind its status gives one."""
    kind = _KINDS.get(row["status"], "error:bad_request")
    if row["status"] >= 500:
        kind = "error:overloaded"
    return Exchange(
        f"quote-{number}",
        row["provider"],
        row["dialect"],
        row.get("kind", kind),
        row["status"],
        row["body"],
        row.get("headers") or {},
        row["model"] or "",
        frozenset({"quoted"}),
    )
