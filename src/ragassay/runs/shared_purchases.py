"""Purchases that several runs share: of two that ask the same at the same time, one buys it.

A run that works alone claims nothing: it looks now and then whether another run of the store asks
the same judge. When one comes, both claim their questions in the store before they ask them, the
newcomer only begins when the other one does so too, and each waits for what the other is asking.
Nobody waits for ever: a claim ends with its judgment, with its run, or with the process that made
it, and in the end the question is asked once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from types import TracebackType
from typing import Self

from ragassay.core import JudgmentAddress, RagAssayError
from ragassay.dispatch import Stopped, Traffic
from ragassay.runs.journal import ClaimStore, Journal
from ragassay.runs.pending import PendingJudgments
from ragassay.store import Claimed

OTHERS_S = 0.25
"""Seconds between two looks for other runs."""

ANSWER_S = 0.1
"""Seconds between two looks for the judgment of a question that another run is asking."""

ANSWERS_TO_COME_S = 5.0
"""Seconds that a run waits at its beginning for those there to claim their questions too."""

WAITING = "the answer to what another run is asking"
"""What the display shows."""


class SharedPurchases:
    """Shares what is bought with the other runs of the store. A context manager; does nothing
    without a store.

    judges: the fingerprints that this run asks. stopping: whether the run is ending, so that nobody
    waits for others any more. patience: seconds that a question waits for another run at most.
    """

    def __init__(
        self,
        store: ClaimStore | None,
        run_id: str,
        judges: frozenset[str],
        journal: Journal,
        pending: PendingJudgments,
        *,
        traffic: Traffic,
        stopping: Callable[[], bool],
        patience: float,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._judges = judges
        self._journal = journal
        self._pending = pending
        self._traffic = traffic
        self._stopping = stopping
        self._patience = patience
        self._unneeded: frozenset[JudgmentAddress] = frozenset()
        self._watch: asyncio.Task[None] | None = None
        self.active = False
        """Whether questions are claimed before they are asked."""

    async def __aenter__(self) -> Self:
        if self._store is not None:
            await self._begin(self._store)
            self._watch = asyncio.create_task(self._look_for_others(self._store))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._watch is not None:
            assert self._store is not None
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            with suppress(RagAssayError):  # whoever works with the store next is told
                await asyncio.to_thread(self._store.end_asking, self._run_id)

    @property
    def deadline(self) -> float:
        """Until when a question that is asked now waits for another run, in the loop's seconds."""
        return asyncio.get_running_loop().time() + self._patience

    async def claim(self, addresses: Collection[JudgmentAddress]) -> Claimed:
        """Claim questions, each of which has a judgment, is granted, or is asked by another run."""
        return await self._journal.claim(list(addresses))

    async def claim_later(self, addresses: Collection[JudgmentAddress], deadline: float) -> Claimed:
        """Claim, after a moment, questions that another run is asking; from the deadline on they
        are granted all the same. Raises Stopped when the run ends.
        """
        await self._pause()
        if asyncio.get_running_loop().time() > deadline:
            return Claimed({}, frozenset(addresses))
        return await self._journal.claim(list(addresses), again=True)

    async def _pause(self) -> None:
        """Wait until the next look; all who wait look at the same time, in one read."""
        now = asyncio.get_running_loop().time()
        self._traffic.waits[WAITING] += 1
        try:
            await asyncio.sleep(ANSWER_S - now % ANSWER_S)
        finally:
            self._traffic.waits[WAITING] -= 1
            if not self._traffic.waits[WAITING]:
                del self._traffic.waits[WAITING]
        if self._stopping():
            raise Stopped

    async def _begin(self, store: ClaimStore) -> None:
        others = await asyncio.to_thread(store.begin_asking, self._run_id, self._judges)
        self.active = others.runs > 0
        loop = asyncio.get_running_loop()
        until = loop.time() + ANSWERS_TO_COME_S
        while others.runs and not others.claiming and loop.time() < until and not self._stopping():
            await asyncio.sleep(ANSWER_S)
            others = await asyncio.to_thread(store.others_asking, self._run_id)

    async def _look_for_others(self, store: ClaimStore) -> None:
        while True:
            await asyncio.sleep(OTHERS_S)
            # Where the store fails for good, the journal ends the run.
            with suppress(RagAssayError):
                others = await asyncio.to_thread(store.others_asking, self._run_id)
                if others.runs and not self.active:
                    await self._begin_claiming(store)
                elif self.active and not others.runs:
                    alone = await asyncio.to_thread(store.stop_claiming, self._run_id)
                    self.active = not alone
                if self.active:
                    await self._give_up_unneeded(store)

    async def _begin_claiming(self, store: ClaimStore) -> None:
        self.active = True  # from now on: what is asked already is claimed next
        await self._journal.claim(list(self._pending.futures))
        await asyncio.to_thread(store.begin_claiming, self._run_id)

    async def _give_up_unneeded(self, store: ClaimStore) -> None:
        """Give up claims on questions that nobody here asks any more: they ended without a
        judgment, or while they were claimed.
        """
        unneeded = store.claims(self._run_id) - self._pending.futures.keys()
        # Twice in a row: a question may have been claimed between the two looks above.
        stale = self._unneeded & unneeded
        self._unneeded = unneeded
        if stale:
            await asyncio.to_thread(store.give_up_claims, self._run_id, stale)
