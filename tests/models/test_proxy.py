"""The proxy on the way to a server: which one, and what is hidden of its address."""

from __future__ import annotations

import base64

import pytest
from yarl import URL

from ragassay.core import SetupError
from ragassay.models.proxy import credentials, proxy_for, proxy_url, without_password
from ragassay.models.settings import check_proxy

BASE = URL("https://judge.example/v1")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name.upper()}_PROXY", raising=False)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_without_a_scheme_is_an_http_proxy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "user:pw@proxy.example:3128")
    assert proxy_for(BASE, None) == (URL("http://user:pw@proxy.example:3128"), name)


@pytest.mark.parametrize(
    ("address", "fix"),
    [
        ("socks5://user:canary@proxy.example:1080", "SOCKS is not supported"),
        ("socks5h://proxy.example:1080", "SOCKS is not supported"),
        ("http://user:canary@proxy.example:99999", "give it as http://HOST:PORT"),
        ("http://user:can/ary@proxy.example:3128", "give it as http://HOST:PORT"),
        ("ftp://user:canary@proxy.example", "give it as http://HOST:PORT"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_and_not_passed_by(
    address: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(SetupError) as caught:
        proxy_for(BASE, None)
    error = caught.value
    assert (error.code, error.where) == ("E0418", "HTTPS_PROXY")
    assert fix in error.fix
    assert "canary" not in str(error)
    assert "can/ary" not in str(error)


@pytest.mark.parametrize(
    "address",
    [
        "user:canary@proxy.example:3128",
        "http://user:canary@proxy.example:333333",
        "http://user:1/canary@proxy.example:3128",
        "http://user:1#canary@proxy.example:3128",
        "socks5://user:canary@proxy.example:1080",
    ],
)
def test_an_option_that_names_no_proxy_is_refused_and_its_password_not_shown(address: str) -> None:
    with pytest.raises(SetupError) as caught:
        check_proxy(address)
    assert (caught.value.code, caught.value.where) == ("E0101", "--proxy")
    assert "canary" not in str(caught.value)


def test_an_address_is_stored_without_user_and_password() -> None:
    assert without_password("http://user:canary@proxy.example:3128") == "http://proxy.example:3128"
    assert without_password("user:canary@proxy.example:3128") == ""


def test_a_password_is_hidden_as_written_as_meant_and_in_base64() -> None:
    url = proxy_url("http://us%40er:can%2Fary@proxy.example:3128")
    assert url is not None
    pairs = ("us%40er:can%2Fary", "us@er:can/ary")
    encoded = {base64.b64encode(pair.encode()).decode() for pair in pairs}
    assert {*pairs, *encoded, "can/ary"} <= set(credentials(url))
    assert credentials(URL("http://proxy.example:3128")) == ()
    assert "canary-token" in credentials(URL("http://canary-token@proxy.example"))
