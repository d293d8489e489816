"""What is taken for a secret, by its name or by its form, and what of an address is shown."""

from __future__ import annotations

import pytest

from ragassay.models.redaction import hidden, redact
from ragassay.models.secret_values import is_secret_name, looks_secret, shown_address


@pytest.mark.parametrize(
    "name",
    [
        "X-Api-Key",
        "X-Bearer",
        "X-Session",
        "X-JWT",
        "X-Pass",
        "X-Pw",
        "passphrase",
        "client_secret",
    ],
)
def test_a_name_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["X-Team", "top_p", "stop_token_ids", "min_tokens", "compass", "prompt_cache_key"]
)
def test_a_name_of_something_else(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abcdefgh",
        "Basic dXNlcjpwdw==",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
        "sk-proj-abcdefghijkl",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "3f2b8c1e9d7a4f60b1c2d3e4f5a6b7c8",
        "hunter2!hunter",
        "3f2b8c1e-9d7a-4f60-b1c2-d3e4f5a6b7c8",
    ],
)
def test_the_form_of_a_secret(value: str) -> None:
    assert looks_secret(value)


@pytest.mark.parametrize(
    "value",
    [
        "search",
        "fine-grained-tool-streaming-2025-05-14",
        "Meta-Llama-3-70B-Instruct-AWQ-INT4",
        "a sentence with 12 words, or about so many of them",
        "https://example.org/team/search",
        "text/html;q=0.9, */*",
        "eu-west-1",
    ],
)
def test_the_form_of_words_and_names_of_models(value: str) -> None:
    assert not looks_secret(value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://user:canary@host:99999/v1", "http://host:99999/v1"),
        ("user:canary@host/v1", "host/v1"),
        ("http://host/v1#canary", "http://host/v1"),
        ("host/v1?key=canary", "host/v1"),
        ("http://host/v1?key=can@ary", "http://..."),
        ("http://user:can#ary@host/v1", "http://..."),
        ("http://user:can@ary@host/v1", "http://host/v1"),
        ("sk-canary-canary-canary", "..."),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(address: str, shown: str) -> None:
    assert shown_address(address) == shown


def test_of_two_secrets_that_begin_alike_no_rest_stays() -> None:
    secrets = hidden(["canary-canary-one", "canary-canary-two-and-more"])
    assert redact("canary-canary-one, canary-canary-two-and-more", secrets) == "[key], [key]"
    assert redact("canary-canary-t", secrets) == "[key]"


def test_short_words_are_not_hidden_and_short_passwords_are() -> None:
    assert hidden(["EMPTY", "ollama", "12345", "", "a1b2c3"]) == ("a1b2c3",)
