"""What tokens cost, and that an unknown price is never a number."""

from __future__ import annotations

import sys

import pytest

from ragassay.models import Rate, connect, price
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


def test_without_the_table_no_price_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    _from_table.cache_clear()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price("gpt-4o-mini", 1, 1, base_url=HOSTED) is None
    _from_table.cache_clear()


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
