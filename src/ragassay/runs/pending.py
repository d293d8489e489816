"""The Judgments on their way, and those that have just come: equal Requests are asked once.

Rows that are driven at the same time often ask the same (a shared context, a shared claim). The
first that asks makes the future, all wait for it, and rows that come a moment later find the
Judgment in memory without reading the disk.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from ragassay.core import Judgment, JudgmentAddress

RECENT = 1024
"""Judgments kept in memory, so that rows that share contexts do not go to the disk for what was
just judged.
"""


class PendingJudgments:
    """The futures of Judgments that are on their way, and the most recent ones that came."""

    def __init__(self) -> None:
        self.recent: OrderedDict[JudgmentAddress, Judgment] = OrderedDict()
        self.futures: dict[JudgmentAddress, asyncio.Future[Judgment]] = {}

    def settle(self, address: JudgmentAddress, judgment: Judgment) -> None:
        """A Judgment has come, and is durable: whoever waits for it goes on."""
        future = self.futures.pop(address, None)
        if future is not None and not future.done():
            future.set_result(judgment)
        # One that failed is asked again by the next row.
        if judgment.judged:
            self.recent[address] = judgment
            if len(self.recent) > RECENT:
                self.recent.popitem(last=False)

    def fail(self, address: JudgmentAddress, error: BaseException) -> None:
        """A Judgment will not come: the error is raised in whoever waits for it."""
        future = self.futures.pop(address, None)
        if future is not None and not future.done():
            future.set_exception(error)
            future.exception()  # marked as seen: a row that has given up does not come to fetch it
