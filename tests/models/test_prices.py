"""What tokens cost, and that an unknown price is never a number."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelPrice

from ragassay.models import Rate, connect, price
from ragassay.models.price_table import prices_of, table
from ragassay.models.prices import _from_table
from ragassay.models.providers.openai import PROVIDER

HOSTED = PROVIDER.base_url


def test_the_users_rate_wins_and_is_per_million_tokens() -> None:
    # 3,000 x 0.50 $/M + 1,000 x 2.00 $/M = 0.0015 + 0.0020
    assert price("gpt-4o-mini", 3_000, 1_000, rate=Rate.parse("0.5,2")) == pytest.approx(0.0035)


def test_the_table_knows_a_hosted_model_and_charges_less_for_cached_input() -> None:
    # gpt-4o-mini: 0.15 $/M in, 0.075 $/M cached, 0.60 $/M out
    assert price("gpt-4o-mini", 10**6, 10**6, base_url=HOSTED) == pytest.approx(0.75)
    assert price("gpt-4o-mini", 10**6, 10**6, 500_000, base_url=HOSTED) == pytest.approx(0.7125)
    assert price("gpt-4o-mini", 100, 0, 10**9, base_url=HOSTED) == pytest.approx(100 * 0.075e-6)


def test_a_model_or_a_server_that_the_table_lacks_has_no_price() -> None:
    assert price("no-such-model-at-all", 1, 1, base_url=HOSTED) is None
    assert price("gpt-4o-mini", 1, 1, base_url="https://gateway.example/v1") is None
    assert price("no-such-model-at-all", 1, 1) is None


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without the extra `prices`."""
    _from_table.cache_clear()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    yield
    _from_table.cache_clear()


@pytest.mark.usefixtures("without_library")
def test_without_the_library_the_packaged_table_has_the_price_as_of_its_day() -> None:
    assert price("gpt-4o-mini", 10**6, 10**6, base_url=HOSTED) == pytest.approx(0.75)
    assert price("gpt-4o-mini", 10**6, 10**6, 500_000, base_url=HOSTED) == pytest.approx(0.7125)
    assert price("gpt-4o-mini-2024-07-18", 10**6, 0) == pytest.approx(0.15)
    assert price("claude-3-5-haiku-20241022", 10**6, 10**6) == pytest.approx(4.8)
    assert price("no-such-model-at-all", 1, 1, base_url=HOSTED) is None
    assert price("gpt-4o-mini", 1, 1, base_url="https://gateway.example/v1") is None
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", table()["date"])


def test_the_packaged_table_says_what_the_library_says_of_each_model() -> None:
    """At the address of each provider, for whole names of its models."""
    compared = 0
    for provider in providers:
        for model in provider.models[:40]:
            address = re.sub(r"\\|[$^(].*", "", provider.api_pattern)
            packaged = prices_of(model.id, address)
            said = price(model.id, 1000, 0, base_url=address)
            if packaged is None or not said or not isinstance(model.prices, ModelPrice):
                continue  # unknown, or another price on another day
            compared += 1
            assert float(packaged.input) == pytest.approx(said * 1000, rel=1e-9), model.id
    assert compared >= 150


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:11434", "[::1]:80", "127.8.8.8"])
def test_a_server_on_this_machine_is_not_taken_for_free_since_it_may_be_a_gateway(
    host: str,
) -> None:
    assert connect("openai:m", base_url=f"http://{host}/v1").price(1, 1) is None
    assert connect("openai:m", base_url=f"http://{host}/v1", price="0,0").price(10**9, 10**9) == 0.0


def test_a_server_on_another_machine_is_not_taken_for_free() -> None:
    assert connect("openai:m", base_url="http://10.0.0.5:8000/v1").price(1, 1) is None


def test_a_price_is_the_float_nearest_to_the_exact_decimal() -> None:
    # 3 x 0.1 $/M = 0.0000003: in binary the product is 3.0000000000000004e-07
    assert price("m", 3, 0, rate=Rate.parse("0.1,0")) == 3e-07
    assert Rate.parse("0.0375, 0.15").cost(1, 1) == 1.875e-07
