"""The wait that a server asks for, wherever it says so."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.retry_after import retry_after

DATE = {"Date": "Tue, 26 Mar 2024 19:59:00 GMT"}


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please try again in 3.89s. Visit https://x.example", 3.89),  # OpenAI
        ("Please try again in 9m38.016s. Need more tokens?", 578.016),  # Groq: 540 + 38.016
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 1h2m3s.", 3723.0),
        ("Please retry in 3.98361248s.", 3.98361248),  # Gemini
        ("Please retry after 60 seconds. To increase your limit", 60.0),  # Azure
        ("Please wait 0 seconds before retrying.", 0.0),  # GitHub
        ("Try again in 2 minutes", 120.0),
        ("retry in 37s", 37.0),  # Google's retryDelay
        ("Rate limit of 20 per 60s exceeded", None),  # the limit's span is no wait
        ("Please retry shortly", None),
    ],
)
def test_a_wait_in_words_is_understood_where_no_header_names_one(
    words: str, seconds: float | None
) -> None:
    assert retry_after({}, limited=True, text=words) == seconds
    assert retry_after({"Retry-After": "7"}, limited=True, text=words) == 7.0
    assert retry_after({}, limited=False, text=words) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        # Only what is used up has to be waited for.
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "8.64s",
                "x-ratelimit-remaining-tokens": "5",
                "x-ratelimit-reset-tokens": "9m",
            },
            8.64,
        ),
        (
            {
                "x-ratelimit-remaining-requests-day": "0",
                "x-ratelimit-reset-requests-day": "33011.38",  # Cerebras
            },
            33011.38,
        ),
        # OpenRouter: a moment, in milliseconds since 1970: 60 s after the server's Date
        (
            DATE | {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1711483200000"},
            60.0,
        ),
        (
            DATE
            | {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2024-03-26T20:00:00Z",
                "anthropic-ratelimit-tokens-remaining": "16000",
                "anthropic-ratelimit-tokens-reset": "2024-03-26T23:00:00Z",
            },
            60.0,
        ),
        ({"retry-after-ms": "1250", "Retry-After": "2"}, 1.25),  # Azure
        ({"ratelimit-remaining": "0", "ratelimit-reset": "12"}, 12.0),
        ({"ratelimit": '"api";r=0;t=12'}, 12.0),
        ({"ratelimit": "limit=10, remaining=0, reset=12"}, 12.0),
        ({"ratelimit": '"api";r=4;t=12'}, None),
        ({"x-ratelimit-remaining-requests": "4", "x-ratelimit-reset-requests": "8s"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
    ],
)
def test_the_reset_of_a_used_up_budget_is_the_wait(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, limited=True) == pytest.approx(seconds)
    if not any(name.lower().startswith("retry") for name in headers):
        assert retry_after(headers, limited=False) is None


@given(st.text(max_size=200))
def test_whatever_the_words_are_a_wait_is_none_or_finite(text: str) -> None:
    wait = retry_after({"ratelimit": text}, limited=True, text=text)
    assert wait is None or 0 <= wait < float("inf")


def test_hostile_words_are_read_in_time_that_grows_with_them() -> None:
    hostile = ["try again in 9" * 4_000, "try again in " + "9s" * 30_000 + "z", "wait " * 12_000]
    started = time.process_time()
    for text in hostile:
        retry_after({"ratelimit": text}, limited=True, text=text)
    assert time.process_time() - started < 2.0
