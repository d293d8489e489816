"""The order in which one call shows its items.

A judge that reads several items rates some of them by their place. Retrieved chunks come best
first, so that in the order given this error would add up: it would be the first ranks' in every
row. Shuffled it is spread evenly. The order follows from the items alone: the same items are shown
in the same order by every run, and a run that is resumed asks what it asked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ragassay.core import Request, SetupError, digest, nearest

Order = Literal["shuffled", "given", "opposite"]
ORDERS: tuple[Order, ...] = ("shuffled", "given", "opposite")
"""By a hash of each item, as they come, or against the first: the shuffled items from the last to
the first, and the texts of each list as well.
"""

VERSION = 1
"""Raised when items are arranged otherwise: judgments made under the old order are then not reused.
"""


def check_order(value: str) -> Order:
    """The order, if it is one. Raises SetupError E0101."""
    for order in ORDERS:
        if value == order:
            return order
    raise SetupError(
        "E0101",
        f"The order of items is one of {', '.join(ORDERS)}, not {value!r}."
        f"{nearest(str(value), ORDERS)}",
        where="order",
        fix="use shuffled, given, or opposite",
    )


def arranged(order: Order, items: Mapping[str, Request], seed: object) -> list[str]:
    """The ids of the items (id -> Request of one group) as a call shows them.

    seed: another one gives another order (JSON-like). One item more or less leaves the others in
    the order that they have.
    """
    if order == "given" or len(items) < 2:
        return list(items)
    places = {name: digest("order", seed, request.key) for name, request in items.items()}
    return sorted(items, key=places.__getitem__, reverse=order == "opposite")


def reverses_lists(order: Order) -> bool:
    """Whether the texts of a list are shown from the last to the first; each keeps its number."""
    return order == "opposite"
