"""Which URI gives which model, and which errors name the way out."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ragassay.core import SetupError
from ragassay.models import Rate, connect
from ragassay.models.chat_model import ChatModel
from ragassay.models.connect import schemes
from ragassay.models.local import LocalModel


def refused(uri: str, **options: object) -> SetupError:
    with pytest.raises(SetupError) as caught:
        connect(uri, **options)  # type: ignore[arg-type]
    return caught.value


def test_openai_with_a_model_is_a_client_of_that_model() -> None:
    model = connect("openai: llama3.2:3b", base_url="http://localhost:11434/v1", concurrency=8)
    assert isinstance(model, ChatModel)
    assert (model.uri, model.hosts, model.concurrency) == (
        "openai:llama3.2:3b",
        ("localhost:11434",),
        8,
    )


def test_offline_needs_no_server() -> None:
    assert connect("offline", no_network=True).uri == "offline"


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("opnai:gpt-4o", "Did you mean 'openai'?"),
        ("ofline", "Did you mean 'offline'?"),
        ("gpt-4o", "Did you mean 'openai:gpt-4o'?"),
        ("openai:", "The model's name is missing."),
        ("openai", "The model's name is missing."),
        ("offline:big", "takes no model name"),
        ("", ""),
        ("zzz:1", ""),
    ],
)
def test_a_uri_that_no_judge_has_is_answered_with_the_nearest_and_the_list(
    uri: str, hint: str
) -> None:
    error = refused(uri)
    assert error.code == "E0401"
    assert hint in error.what
    hosted = ", ".join(f"{scheme}:MODEL" for scheme in schemes())
    assert error.fix.startswith(f"use one of: offline, {hosted}; or several of them: ")
    assert "openai" in schemes()


def test_no_network_refuses_every_model_behind_a_server() -> None:
    assert refused("openai:m", base_url="http://127.0.0.1:1/v1", no_network=True).code == "E0407"


def test_a_price_given_by_the_user_is_used() -> None:
    model = connect(
        "openai:m", base_url="http://gateway.example/v1", price="0.5, 2", api_key_env=None
    )
    assert model.price(2_000_000, 1_000_000) == pytest.approx(3.0)
    assert (
        connect(
            "openai:m", base_url="http://127.0.0.1:1/v1", price=Rate(Decimal(1), Decimal(1))
        ).price(10**6, 0)
        == 1.0
    )


@pytest.mark.parametrize("price", ["1", "a,b", "1,2,3", "-1,2", "nan,1", "1,inf", ""])
def test_a_price_that_cannot_be_read_is_refused(price: str) -> None:
    assert refused("openai:m", base_url="http://127.0.0.1:1/v1", price=price).code == "E0101"


def test_at_least_one_call_at_a_time() -> None:
    assert refused("openai:m", base_url="http://127.0.0.1:1/v1", concurrency=0).code == "E0101"


def test_a_local_model_needs_no_network_and_is_not_looked_for_before_it_is_used() -> None:
    model = connect("Local: models/not there?cut=0.3", no_network=True)
    assert isinstance(model, LocalModel)
    assert model.uri == "local:models/not there?cut=0.3"
    assert model.price(10**6, 10**6) == 0.0


def test_a_local_model_has_no_batches_and_needs_a_name() -> None:
    assert refused("local:models/m", batch=True).code == "E0104"
    assert "The model's name is missing." in refused("local:").what


def test_a_missing_key_of_a_server_that_is_named_is_only_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    error = refused("openai:m", base_url="http://127.0.0.1:1/v1", api_key_env="NO_SUCH_KEY")
    assert (error.code, error.where) == ("E0402", "NO_SUCH_KEY")
    assert error.fix == "export NO_SUCH_KEY=..., or use --judge offline"
    assert "--base-url" in refused("openai:m", api_key_env="NO_SUCH_KEY").fix


@pytest.mark.parametrize(
    "url",
    [
        "http://user:canary@host:99999/v1",
        "user:canary@host/v1",
        "http://host/v1#canary",
        "host/v1?key=canary",
    ],
)
def test_an_address_that_cannot_be_used_is_shown_without_its_secret(url: str) -> None:
    error = refused("openai:m", base_url=url)
    assert (error.code, error.where) == ("E0101", "--base-url")
    assert "canary" not in str(error)
    assert "host" in error.why
