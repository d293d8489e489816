"""The user's own fields of a request: what is refused, what is stored."""

from __future__ import annotations

import json

import pytest

from ragassay.core import SetupError
from ragassay.models.extra_body import (
    digested_body,
    parse_extra_body,
    secrets_in_body,
    storable_body,
)

BODY = {
    "top_p": 0.9,
    "min_tokens": 5,
    "api_key": "canary-1",
    "plugin": {"auth": {"user": "canary-2", "pin": 4711}, "models": ["a", "sk-canary-canary"]},
}


def test_secret_values_are_masked_where_they_are_stored() -> None:
    hidden = "(not stored)"
    assert json.loads(storable_body(json.dumps(BODY))) == {
        "top_p": 0.9,
        "min_tokens": 5,
        "api_key": hidden,
        "plugin": {"auth": {"user": hidden, "pin": hidden}, "models": ["a", hidden]},
    }
    assert storable_body('{"top_p":  0.9}') == '{"top_p":  0.9}'


def test_secret_values_are_what_is_hidden() -> None:
    assert secrets_in_body(BODY) == ("canary-1", "canary-2", "4711", "sk-canary-canary")


def test_a_judge_is_told_by_a_digest_of_a_secret_and_not_by_the_secret() -> None:
    first, other = digested_body({"api_key": "canary-1"}), digested_body({"api_key": "canary-2"})
    assert first != other
    assert first == digested_body({"api_key": "canary-1"})
    assert "canary" not in json.dumps([first, other])
    assert digested_body({"top_p": 0.9}) == {"top_p": 0.9}


@pytest.mark.parametrize(
    ("body", "option"),
    [
        ('{"max_tokens": 9}', "--max-tokens"),
        ('{"max_completion_tokens": 9}', "--max-tokens"),
        ('{"generationConfig": {"maxOutputTokens": 9}}', "--max-tokens"),
        ('{"inferenceConfig": {"maxTokens": 9}}', "--max-tokens"),
        ('{"temperature": 1}', "--temperature"),
        ('{"reasoning_effort": "high"}', "--reasoning-effort"),
        ('{"reasoning": {"effort": "high"}}', "--reasoning-effort"),
        ('{"model": "b"}', "--judge"),
    ],
)
def test_a_field_that_an_option_sets_is_refused_with_the_option(body: str, option: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_extra_body(body)
    assert (caught.value.code, caught.value.where) == ("E0101", "--extra-body")
    assert option in caught.value.fix


@pytest.mark.parametrize("name", ["messages", "stream", "seed", "n", "best_of", "system"])
def test_a_field_of_ragassays_own_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match="is RagAssay's own"):
        parse_extra_body({name: 1})


@pytest.mark.parametrize("body", ['{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 2}}'])
def test_a_field_that_is_given_twice_is_refused(body: str) -> None:
    with pytest.raises(SetupError, match="hold 'a' twice"):
        parse_extra_body(body)


@pytest.mark.parametrize(
    "body",
    [
        '{"api_key": "canary"',
        '["canary"]',
        '"canary"',
        '{api_key: "canary"}',
        "[" * 5_000,
        '{"a":' * 500 + "1" + "}" * 500,
    ],
)
def test_what_is_no_object_is_refused_and_not_shown(body: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_extra_body(body)
    assert caught.value.code == "E0101"
    assert "canary" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_value_that_was_not_stored_has_to_be_given_again() -> None:
    with pytest.raises(SetupError, match="field 'user' is not stored") as caught:
        parse_extra_body(storable_body('{"auth": [{"user": "canary"}]}'))
    assert "--extra-body again" in caught.value.fix
