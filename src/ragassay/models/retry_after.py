"""The time that a server asks to wait before the next call, read from the headers of its answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def retry_after(
    headers: Mapping[str, str], *, limited: bool = False, now: float | None = None
) -> float | None:
    """Seconds that the server asks to wait, or None.

    Reads `retry-after-ms`, then `Retry-After` (seconds or HTTP date, which is compared with the
    server's own `Date` so that clocks need not agree), and for a rate limit (`limited`) the resets
    of the budgets that are used up.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("Retry-After")
    seconds = _number(header)
    if seconds is not None:
        return seconds
    when = _date(header)
    if when is not None:
        server_time = _date(headers.get("Date"))
        if server_time is None:
            server_time = time.time() if now is None else now
        return max(0.0, when - server_time)
    if not limited:
        return None
    resets = [
        _duration(headers.get(f"x-ratelimit-reset-{budget}", ""))
        for budget in ("requests", "tokens")
        if _number(headers.get(f"x-ratelimit-remaining-{budget}")) == 0
    ]
    return max((reset for reset in resets if reset is not None), default=None)


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


def _duration(text: str) -> float | None:
    """Seconds of "20ms", "1s", "6m0s"; None when it reads otherwise."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return _number(text)
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
