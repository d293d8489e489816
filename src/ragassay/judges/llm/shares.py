"""The spend of one call, shared among the items that it was about."""

from __future__ import annotations

import math

from ragassay.core import Spend


def split(spend: Spend, n: int) -> list[Spend]:
    """`n` shares of a call's spend that add up to it exactly, in any order; the first ones take
    what does not divide.

    The call itself counts with the first share, since there is no part of a call.
    """
    calls = [spend.calls] + [0] * (n - 1)
    input_tokens = _parts(spend.input_tokens, n)
    output_tokens = _parts(spend.output_tokens, n)
    cached_tokens = _parts(spend.cached_tokens, n)
    costs: list[float] | list[None] = [None] * n
    if spend.cost is not None:
        costs = _float_parts(spend.cost, n)
    seconds = _float_parts(spend.seconds, n)
    reasoning = _parts(spend.reasoning_tokens, n)
    columns = (calls, input_tokens, output_tokens, cached_tokens, costs, seconds, reasoning)
    return [Spend(*share) for share in zip(*columns, strict=True)]


def _parts(count: int, n: int) -> list[int]:
    share, remainder = divmod(count, n)
    return [share + 1] * remainder + [share] * (n - remainder)


def _float_parts(amount: float, n: int) -> list[float]:
    # Shares are whole multiples of the amount's last binary digit, so that sums of them are exact.
    unit = math.ulp(amount)
    return [part * unit for part in _parts(round(amount / unit), n)]
