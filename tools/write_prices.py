"""Write src/ragassay/models/price_table.json: prices of hosted chat models, taken from the library
genai-prices (MIT) as it is installed, for those who have not installed it.

    python tools/write_prices.py

A model whose price depends on the hour or on the length of the prompt has the price of short
prompts now; one that is not paid by tokens is left out.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices import Usage, calc_price
from genai_prices.data import providers

TARGET = Path(__file__).resolve().parents[1] / "src/ragassay/models/price_table.json"
TAKEN = (
    *("openai", "anthropic", "google", "azure", "aws", "mistral", "groq", "deepseek", "x-ai"),
    *("cohere", "together", "fireworks", "cerebras", "perplexity", "openrouter", "moonshotai"),
)
SIGNS = {"equals": "=", "starts_with": "^", "ends_with": "$", "contains": "~", "regex": "/"}
TOKENS = 1000


def clauses(match: Any) -> list[str] | None:
    """A match as texts of which one must hold, each with a sign for its kind; None for one that
    cannot be said so.
    """
    if match is None:
        return []
    if hasattr(match, "or_"):
        parts = [clauses(part) for part in match.or_]
        if any(part is None for part in parts):
            return None
        return [text for part in parts for text in part or []]
    for name, sign in SIGNS.items():
        if hasattr(match, name):
            return [sign + str(getattr(match, name))]
    return None


def rate(provider: str, model: str, **tokens: int) -> str:
    """US dollars per million of these tokens."""
    usage = Usage(**{"input_tokens": 0, "output_tokens": 0, **tokens})
    total = calc_price(usage, model, provider_id=provider).total_price
    return f"{(total * 1_000_000 / TOKENS).normalize():f}"


def main() -> None:
    """Write the table."""
    table = []
    for provider in providers:
        if provider.id not in TAKEN:
            continue
        models = []
        for model in provider.models:
            names = clauses(model.match)
            if not names:
                continue
            try:
                rates = (
                    rate(provider.id, model.id, input_tokens=TOKENS),
                    rate(provider.id, model.id, output_tokens=TOKENS),
                    rate(provider.id, model.id, input_tokens=TOKENS, cache_read_tokens=TOKENS),
                )
            except (LookupError, ValueError):
                continue
            if rates[0] != "0" or ":free" in model.id:
                models.append([names, *rates])
        of_provider = clauses(provider.model_match) or []
        table.append({"url": provider.api_pattern, "names": of_provider, "models": models})
    head = {
        "source": f"genai-prices {version('genai-prices')}, Copyright (c) Pydantic, MIT licence",
        "date": datetime.now(UTC).date().isoformat(),
        "per_million": ["input", "output", "cached input"],
    }
    lines = [json.dumps(head)[1:-1]]
    text = ",\n".join(json.dumps(each, ensure_ascii=False) for each in table)
    TARGET.write_text(f'{{{lines[0]},\n"providers": [\n{text}\n]}}\n', encoding="utf-8")
    print(f"{TARGET.name}: {sum(len(each['models']) for each in table)} models")


if __name__ == "__main__":
    main()
