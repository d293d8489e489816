"""Ids of runs, which sort by age."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4


def new_run_id(newest: str = "") -> str:
    """Time first, to the microsecond, so that ids sort by age; then chance.

    newest: the id of the store's newest run: the new one comes after it, also when the clock was
    put back since.
    """
    moment = datetime.now(UTC)
    # Digits of fixed width in front let ids sort as text. An id of another form gives no time.
    with suppress(ValueError, OverflowError):
        last = datetime.strptime(newest[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        moment = max(moment, last + timedelta(microseconds=int(newest[16:21], 16) + 1))
    return f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond:05x}{uuid4().hex[0]}"
