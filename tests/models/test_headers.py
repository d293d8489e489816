"""The user's own headers: what is refused, what is stored, what is hidden."""

from __future__ import annotations

import pytest

from ragassay.core import SetupError
from ragassay.models.headers import check_header, checked_headers, filled, is_secret, secrets_in


@pytest.mark.parametrize(
    "header",
    [
        "X-Bearer: canary",
        "X-Session: Bearer canary-canary",
        "X-JWT: canary",
        "X-Pass: canary",
        "X-Pw: canary",
        "X-Other: Bearer canary-canary",
        "X-Other: eyJhbGciOiJIUzI1NiJ9",
        "X-Api-Key: canary-$VARIABLE",
        "X-Other: canary-${VARIABLE}",
    ],
)
def test_a_secret_by_name_by_form_or_beside_a_variable(header: str) -> None:
    assert is_secret(header)


@pytest.mark.parametrize(
    "header",
    [
        "X-Api-Key: $VARIABLE",
        "Authorization: Bearer ${VARIABLE}",
        "X-Pair: $USER_NAME:$USER_CODE",
        "X-Team: search",
        "OpenAI-Organization: org-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8",
    ],
)
def test_no_secret_stands_in_these(header: str) -> None:
    assert not is_secret(header)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("Authorization Bearer canary", "there is no colon between a name and a value"),
        ("Bearer canary: x", "what stands before the colon is no name"),
        ("X-Key: canary\u00e4", "the value of X-Key holds characters that no header has"),
    ],
)
def test_a_malformed_header_is_refused_and_not_shown(header: str, why: str) -> None:
    with pytest.raises(SetupError) as caught:
        check_header(header)
    assert caught.value.why == why
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("name", ["Content-Length", "host", "Transfer-Encoding", "CONNECTION"])
def test_a_header_of_the_connection_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match="belongs to the connection") as caught:
        check_header(f"{name}: 5")
    assert (caught.value.code, caught.value.where) == ("E0101", "--header")


def test_a_header_that_is_given_twice_is_refused() -> None:
    with pytest.raises(SetupError, match="The header x-team is given twice"):
        checked_headers(["X-Team: a", "X-Other: c", "x-team: b"])


@pytest.mark.parametrize("value", ["abc$canary", "$canary", "$Canary", "abc$CANARY"])
def test_the_rest_of_a_secret_behind_a_dollar_is_not_shown_as_a_variable(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANARY", raising=False)
    with pytest.raises(SetupError, match="a variable that is not set") as caught:
        filled(f"X-Api-Key: {value}")
    assert "canary" not in str(caught.value).lower()


def test_a_variable_with_a_line_break_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANARY", "canary\nX-Evil: 1")
    with pytest.raises(SetupError, match="variable of the header X-A holds characters") as caught:
        filled("X-A: $CANARY")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "hidden"),
    [
        ("X-Api-Key: canary-one", {"canary-one"}),
        ("Authorization: Bearer canary-one", {"Bearer canary-one", "canary-one"}),
        # base64 of "user:canary"
        (
            "Authorization: Basic dXNlcjpjYW5hcnk=",
            {"dXNlcjpjYW5hcnk=", "user:canary", "canary"},
        ),
        ("X-Api-Key: pre-$CANARY", {"pre-from-outside-1", "pre-", "from-outside-1"}),
        ("X-Route: $CANARY", {"from-outside-1"}),
        ("Cookie: a=canary-1; b=canary-2", {"canary-1", "canary-2", "a=canary-1"}),
    ],
)
def test_what_is_hidden_of_a_header(
    header: str, hidden: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "from-outside-1")
    assert hidden <= set(secrets_in(header))


def test_a_plain_word_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    # Judgments may speak of search, and a quote of it would no longer be one.
    monkeypatch.setenv("TEAM", "search")
    assert list(secrets_in("X-Team: $TEAM")) == list(secrets_in("X-Team: search")) == []
