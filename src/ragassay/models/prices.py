"""The price of tokens: the user's own rate, else a table of hosted models, else unknown."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

from ragassay.core import SetupError

MILLION = 1_000_000


class Rate(NamedTuple):
    """US dollars per million tokens, as decimals, so that no cent is lost in a sum of many calls.
    Cached input is charged as input: an upper bound where there is a rebate.
    """

    input: Decimal
    output: Decimal

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Read "IN,OUT" ("0.15,0.60").

        Raises SetupError E0101 unless both are finite numbers >= 0.
        """
        try:
            values = [Decimal(part.strip()) for part in text.split(",")]
        except InvalidOperation:
            values = []
        # The upper bound keeps the cost of any number of tokens a finite float.
        are_prices = all(v.is_finite() and 0 <= v < MILLION * MILLION for v in values)
        if len(values) != 2 or not are_prices:
            raise SetupError(
                "E0101",
                "The price of the judge's model cannot be read.",
                where="--price",
                why=text,
                fix=(
                    "give US dollars per million input and output tokens, such as --price 0.15,0.60"
                ),
            )
        return cls(values[0], values[1])

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars: the float nearest to the exact amount, which `repr` gives back as that
        amount.
        """
        return float((input_tokens * self.input + output_tokens * self.output) / MILLION)


def price(
    model: str,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    *,
    base_url: str | None = None,
    rate: Rate | None = None,
) -> float | None:
    """US dollars for so many tokens, or None when the price is not known (never a guess).

    input_tokens include the cached ones. `rate` wins over the table. base_url: whose prices count,
    since a gateway or a private server that calls a model "gpt-4o" does not charge what OpenAI
    charges; None = the provider that the model's name belongs to. The table is that of the
    installed `genai-prices`, else the one in the package, as of a day (`packaged_on`); nothing is
    fetched.
    """
    if rate is not None:
        return rate.cost(input_tokens, output_tokens)
    # Looked for once with fixed numbers, since each call has other ones.
    if _from_table(model, 1000, 1000, 0, base_url) is None:
        return None
    cached = min(cached_tokens, input_tokens)
    return _from_table(model, input_tokens, output_tokens, cached, base_url)


# A run prices the same worst case (a reservation) over and over, and the search in the table is
# slow.
@lru_cache(maxsize=4096)
def _from_table(
    model: str, input_tokens: int, output_tokens: int, cached: int, base_url: str | None
) -> float | None:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:  # the extra `prices` is not installed
        return _as_packaged(model, input_tokens, output_tokens, cached, base_url)
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached)
    try:
        if base_url is None:
            calculation = calc_price(usage, model)
        else:
            calculation = calc_price(usage, model, provider_api_url=base_url)
    except (LookupError, ValueError):
        return None
    return float(calculation.total_price)


def _as_packaged(
    model: str, input_tokens: int, output_tokens: int, cached: int, base_url: str | None
) -> float | None:
    from ragassay.models.price_table import prices_of

    rates = prices_of(model, base_url)
    if rates is None:
        return None
    new = (input_tokens - cached) * rates.input + cached * rates.cached
    return float((new + output_tokens * rates.output) / MILLION)


def packaged_on() -> str:
    """The day of the packaged prices where these are the ones that count, "" where `genai-prices`
    is installed.
    """
    if find_spec("genai_prices") is not None:
        return ""
    from ragassay.models.price_table import table

    return str(table()["date"])
