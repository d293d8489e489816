"""The lookup of the Judgments that rows ask for: each is asked of the judge once.

A Judgment comes from memory, from an equal Request that is on its way, from the store, from another
run that is asking for it, or from the judge, in this order. What comes from anywhere but the judge
is counted as cached and costs the run nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ragassay.core import Judgment, JudgmentAddress, Request, Sample, Spend
from ragassay.dispatch import LocalBudget
from ragassay.judges import Judge
from ragassay.metrics import MetricFlow
from ragassay.runs.journal import Journal
from ragassay.runs.judge_runner import AskedRow, JudgeRunner
from ragassay.runs.pending import PendingJudgments
from ragassay.runs.progress import Progress
from ragassay.runs.shared_purchases import SharedPurchases


class Question(NamedTuple):
    """What a metric's flow asks about a row. row: its place in its block; metric: its position;
    row_index: of the row in the data.
    """

    row: int
    metric: int
    flow: MetricFlow
    requests: list[tuple[JudgmentAddress, Request]]
    row_index: int
    sample: Sample


class JudgmentLookup:
    """Finds the Judgments for Requests. resumed: an earlier part of the run may have some."""

    def __init__(
        self,
        judge: Judge,
        journal: Journal,
        runner: JudgeRunner,
        pending: PendingJudgments,
        budget: LocalBudget,
        progress: Progress,
        shared: SharedPurchases,
        *,
        resumed: bool,
    ) -> None:
        self._judge = judge
        self._journal = journal
        self._runner = runner
        self._pending = pending
        self._budget = budget
        self._progress = progress
        self._shared = shared
        self._resumed = resumed
        self._fingerprints: dict[str, str] = {}

    def address_of(self, request: Request) -> JudgmentAddress:
        """The content address of the Request's Judgment."""
        fingerprint = self._fingerprints.get(request.rubric)
        if fingerprint is None:
            fingerprint = self._judge.fingerprint(request.rubric)
            self._fingerprints[request.rubric] = fingerprint
        return fingerprint, request.key

    async def resolve(self, questions: Sequence[Question]) -> dict[JudgmentAddress, Judgment]:
        """The Judgments that the questions ask for."""
        judgments: dict[JudgmentAddress, Judgment] = {}
        futures: dict[JudgmentAddress, asyncio.Future[Judgment]] = {}
        new: dict[JudgmentAddress, Request] = {}  # to look up in the store, or to ask
        pending = self._pending
        loop = asyncio.get_running_loop()
        for question in questions:
            for address, request in question.requests:
                if address in judgments or address in futures:
                    continue
                recent = pending.recent.get(address)
                if recent is not None:
                    judgments[address] = replace(recent, spend=Spend())
                    self._count_cached(1)
                    continue
                future = pending.futures.get(address)
                if future is None:
                    new[address] = request
                    future = pending.futures[address] = loop.create_future()
                futures[address] = future
        if new:
            await self._look_up_or_ask(questions, new)
        if futures:
            await _all_done(futures.values())
            for address, future in futures.items():
                judgments[address] = future.result()
            # What another row asked at the same moment counts as cached, as what it asked a moment
            # ago does: no figure depends on which row came first.
            reused = [address for address in futures if address not in new]
            self._count_cached(sum(judgments[address].judged for address in reused))
        return judgments

    async def _look_up_or_ask(
        self, questions: Sequence[Question], new: dict[JudgmentAddress, Request]
    ) -> None:
        """Settle the Judgments that the store holds, and have the judge answer the others."""
        if self._shared.active:
            await self._claim_and_ask(questions, new)
            return
        try:
            stored = await self._journal.lookup(list(new))
        except BaseException as error:
            self._fail(new, error)
            raise
        await self._reuse(stored)
        try:
            await self._runner.begin(_by_row(questions, new, new.keys() - stored.keys()))
        except BaseException as error:
            self._fail(new, error)
            raise

    async def _claim_and_ask(
        self, questions: Sequence[Question], new: dict[JudgmentAddress, Request]
    ) -> None:
        """Settle the Judgments that the store holds, have the judge answer what is granted to this
        run, and wait for what another run asks: until its Judgment is there, or it gives up.
        """
        left = set(new)
        deadline = self._shared.deadline
        try:
            claimed = await self._shared.claim(left)
            while True:
                await self._reuse(claimed.judgments)
                left -= claimed.judgments.keys()
                await self._runner.begin(_by_row(questions, new, claimed.granted))
                left -= claimed.granted
                if not left:
                    return
                claimed = await self._shared.claim_later(left, deadline)
        except BaseException as error:
            self._fail(left, error)
            raise

    async def _reuse(self, stored: dict[JudgmentAddress, Judgment]) -> None:
        # What an earlier part of this run has bought is in its ledger, and is no saving.
        own = frozenset[JudgmentAddress]()
        if self._resumed and stored:
            own = await self._journal.stored_by_this_run(list(stored))
        for address, judgment in stored.items():
            # The Judgment costs this run nothing, so its spend must not be counted again.
            if address not in own:
                self._budget.save(judgment.spend)
            self._pending.settle(address, replace(judgment, spend=Spend()))
        self._count_cached(len(stored) - len(own))

    def _fail(self, addresses: Iterable[JudgmentAddress], error: BaseException) -> None:
        for address in addresses:
            self._pending.fail(address, error)

    def _count_cached(self, count: int) -> None:
        self._progress.cached += count
        self._budget.cached += count


def _by_row(
    questions: Sequence[Question],
    new: dict[JudgmentAddress, Request],
    unasked: Collection[JudgmentAddress],
) -> list[AskedRow]:
    """The Requests at these addresses, by row and key, each under the first row that asks it.

    The judge is given the Requests of one row at a time: what stands in one prompt never depends on
    which rows are driven together.
    """
    rows: dict[int, AskedRow] = {}
    left = set(unasked)
    for question in questions:
        for address, request in question.requests:
            if address in left:
                left.discard(address)
                asked = rows.get(question.row)
                if asked is None:
                    asked = rows[question.row] = AskedRow(question.row_index, question.sample, {})
                asked.requests[request.key] = address, new[address]
    return list(rows.values())


async def _all_done(futures: Iterable[asyncio.Future[Judgment]]) -> None:
    """Wait until all futures have a result or an error."""
    # Not gather: where this row is cancelled, that would cancel futures other rows wait for.
    pending = [future for future in futures if not future.done()]
    if pending:
        await asyncio.wait(pending)
