"""The time that a server asks to wait before the next call, read from its answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# "Please try again in 9m38.016s", "retry in 3.98s", "Please retry after 60 seconds".
_IN_WORDS = re.compile(
    r"(?:(?:try|retry)(?:ing)?(?: again| your request)?|wait)(?: in| after| for)? ?"
    r"((?:[0-9]{1,9}(?:\.[0-9]{1,12})?(?:ms|s|m|h|d)(?![a-z]))+|[0-9]{1,9}(?:\.[0-9]+)?"
    r" (?:milli)?(?:second|minute|hour)s?)",
    re.I,
)
_UNITS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0}
_RESET = re.compile(r"(?:x-)?ratelimit-reset(?:-(.+))?|anthropic-ratelimit-(.+)-reset", re.I)
# The draft of a standard: `"minute";r=0;t=12`, in an older form `limit=10, remaining=0, reset=12`.
_DRAFT = re.compile(r"\b(?:r|remaining)=0\b[^,]{0,40}[;,] ?(?:t|reset)=([0-9]{1,9})\b")
_EPOCH = 10**9
"""A reset from which on it is a moment (seconds since 1970) and no span of time."""


def retry_after(
    headers: Mapping[str, str],
    *,
    limited: bool = False,
    now: float | None = None,
    text: str = "",
) -> float | None:
    """Seconds that the server asks to wait, or None.

    Reads `retry-after-ms`, then `Retry-After` (seconds or HTTP date, which is compared with the
    server's own `Date` so that clocks need not agree), and for a rate limit (`limited`) the resets
    of the budgets that are used up, then the words of the error (`text`).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("Retry-After")
    seconds = _number(header)
    if seconds is not None:
        return seconds
    server_time = _server_time(headers, now)
    when = _date(header)
    if when is not None:
        return max(0.0, when - server_time)
    if not limited:
        return None
    resets = [_until(value, server_time) for value in _spent_budgets(headers)]
    named = max((reset for reset in resets if reset is not None), default=None)
    return _in_words(text) if named is None else named


def _server_time(headers: Mapping[str, str], now: float | None) -> float:
    date = _date(headers.get("Date"))
    if date is not None:
        return date
    return time.time() if now is None else now


def _spent_budgets(headers: Mapping[str, str]) -> list[str]:
    """The resets of the budgets (requests, tokens, those of a minute ...) that are used up."""
    resets: list[str] = []
    for name, value in headers.items():
        reset = _RESET.fullmatch(name)
        if reset is None:
            continue
        if reset[2]:
            left = headers.get(f"anthropic-ratelimit-{reset[2]}-remaining")
        else:
            # One budget for everything has no name, as of OpenRouter.
            left = headers.get(name.lower().replace("-reset", "-remaining", 1))
        if _number(left) == 0:
            resets.append(value)
    return resets + _DRAFT.findall(headers.get("ratelimit", ""))


def _until(reset: str, server_time: float) -> float | None:
    """Seconds to a reset, which is a span, a moment in milliseconds or seconds, or a date."""
    seconds = _duration(reset)
    if seconds is None:
        moment = _timestamp(reset)
        return None if moment is None else max(0.0, moment - server_time)
    if seconds > _EPOCH * 1000:
        seconds /= 1000
    return max(0.0, seconds - server_time) if seconds > _EPOCH else seconds


def _in_words(text: str) -> float | None:
    """Seconds of "please try again in 1m2s" and the like, None where the text names none."""
    match = _IN_WORDS.search(text)
    if match is None:
        return None
    number, _, unit = match[1].partition(" ")
    if unit:
        return float(number) * _UNITS[unit.lower().rstrip("s")]
    return _duration(match[1].lower())


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None


def _timestamp(text: str) -> float | None:
    """Seconds since 1970 of an RFC 3339 date."""
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def _duration(text: str) -> float | None:
    """Seconds of "20ms", "1s", "6m0s"; None when it reads otherwise."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return _number(text)
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
