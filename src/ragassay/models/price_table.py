"""Prices of hosted models as of a day, for an installation without the library genai-prices.

`price_table.json` is written by `tools/write_prices.py` out of that library's table. Each name of
it carries a sign for how it is compared: = the whole name, ^ its beginning, $ its end, ~ a part of
it, / a regular expression.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).parent / "price_table.json"


class Prices(NamedTuple):
    """US dollars per million tokens."""

    input: Decimal
    output: Decimal
    cached: Decimal


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The packaged table: its source, its date, the providers."""
    content: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return content


def prices_of(model: str, base_url: str | None) -> Prices | None:
    """The packaged price of a model. base_url: whose prices count; None = the provider that the
    model's name belongs to. None for a model or an address that is not in the table.
    """
    name = model.lower()
    for provider in table()["providers"]:
        if base_url is None:
            ours = any(_holds(clause, name) for clause in provider["names"])
        else:
            ours = re.search(provider["url"], base_url) is not None
        if not ours:
            continue
        for clauses, *rates in provider["models"]:
            if any(_holds(clause, name) for clause in clauses):
                return Prices(*map(Decimal, rates))
    return None


def _holds(clause: str, name: str) -> bool:
    sign, text = clause[0], clause[1:].lower()
    if sign == "=":
        return name == text
    if sign == "^":
        return name.startswith(text)
    if sign == "$":
        return name.endswith(text)
    if sign == "~":
        return text in name
    return re.search(clause[1:], name) is not None
