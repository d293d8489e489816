"""The calls that a test set buys, kept in the store: none is bought twice, and caps hold.

What is asked is known by its content. The same command after a stop or a kill finds every reply
that was paid for, also one that arrived for another set with the same question; the ledger is
written before a call is sent where there is a cap, so that it holds over all attempts together.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from ragassay.core import (
    MEASURING,
    BudgetExhausted,
    CallFailed,
    ChatCall,
    ChatReply,
    JudgeInfo,
    Judgment,
    Ledger,
    Manifest,
    RunState,
    SetupError,
    Status,
    digest,
)
from ragassay.dispatch import CallPolicy, Dispatcher, LocalBudget, output_limit_of
from ragassay.models import Model
from ragassay.runs.ledger_recovery import spent_before
from ragassay.store import Store
from ragassay.version import __version__

_RUBRIC = "testset@1"


class Caps(NamedTuple):
    """What may be bought in all; None = no cap."""

    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 16


NO_CAPS = Caps()


@dataclass
class Purchases:
    """Asks models and remembers what they said.

    key: hash of everything that the set was asked for. failures: reason -> calls without a reply.
    """

    store: Store
    model: Model
    key: str
    caps: Caps = NO_CAPS
    policy: CallPolicy = field(default_factory=CallPolicy)
    failures: Counter[str] = field(default_factory=Counter)
    cached: int = 0
    """Replies that were in the store already."""

    def __post_init__(self) -> None:
        self.run_id = f"testset-{self.key[:20]}"
        self._started = time.monotonic()
        self._create()
        self.store.acquire(self.run_id)
        base = spent_before(self.store.run(self.run_id), self.store, None)
        self.budget = LocalBudget(
            self.model.price,
            max_calls=self.caps.max_calls,
            max_cost=self.caps.max_cost,
            base=base,
            output_limit=output_limit_of(self.model),
        )
        self._capped = ""
        self._dispatcher = Dispatcher(
            self.model,
            self.budget,
            self.policy,
            self.caps.concurrency,
            on_budget=self._on_cap,
            write_intent=self._write_intent if self.budget.capped else None,
        )

    @property
    def ledger(self) -> Ledger:
        """What was spent on this set, over all attempts."""
        return self.budget.ledger()

    async def ask(self, calls: Sequence[ChatCall]) -> list[str | None]:
        """The replies to calls, in order; None where a model gave none. Each is on disk before it
        is returned. Calls that say the same are one.

        Raises BudgetExhausted E0604 where a cap stopped one of them: those before it are kept.
        """
        addresses = [_address(call) for call in calls]
        unlike = dict(zip(addresses, calls, strict=True))
        given = await asyncio.gather(*map(self._one, unlike.values(), unlike))
        by_address = dict(zip(unlike, given, strict=True))
        self._save(RunState.RUNNING, self.budget.ledger())
        if self._capped:
            raise BudgetExhausted(
                "E0604",
                "A cap was reached before the test set was done.",
                where=f"run {self.run_id}",
                why=self.budget.stop_reason(),
                fix="the same command with a higher --max-calls or --max-cost goes on where it was",
            )
        return [by_address[address] for address in addresses]

    async def _one(self, call: ChatCall, address: tuple[str, str]) -> str | None:
        known = self.store.get_judgments([address]).get(address)
        if known is not None:
            self.cached += 1
            return known.texts[0]
        if self._capped:
            return None
        reply = await self._dispatcher.call(call)
        if isinstance(reply, ChatReply):
            judgment = Judgment(
                address[1],
                address[0],
                _RUBRIC,
                Status.JUDGED,
                texts=(reply.text,),
                spend=reply.spend,
            )
            self.store.put_judgments(self.run_id, [judgment])
            return reply.text
        assert isinstance(reply, CallFailed)
        if reply.kind != "over_budget":
            self.failures[reply.message or reply.kind] += 1
        return None

    def close(self, state: RunState, why: str = "") -> None:
        """Write down where the set stands, and let go of it."""
        self._dispatcher.close()
        self._save(state, self.budget.ledger(), why)
        self.store.release(self.run_id)

    def _on_cap(self) -> None:
        self._capped = self.budget.refusal

    async def _write_intent(self, ledger: Ledger) -> None:
        self._save(RunState.RUNNING, ledger)

    def _save(self, state: RunState, ledger: Ledger, why: str = "") -> None:
        seconds = time.monotonic() - self._started
        self.store.update_run(
            self.run_id, state=state, stop_reason=why, ledger=ledger, seconds=seconds
        )

    def _create(self) -> None:
        """Create the record of the set where it is not there yet."""
        try:
            self.store.run(self.run_id)
        except SetupError:
            options = {"max_calls": self.caps.max_calls, "max_cost": self.caps.max_cost}
            manifest = Manifest(
                run_id=self.run_id,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                version=__version__,
                source="memory",
                source_hash=self.key,
                rows=0,
                mapping={},
                metrics=(),
                judge=JudgeInfo(self.model.uri, {}, {}, ""),
                options=options,
                name=f"{MEASURING}make a test set",
                kept={"testset": self.key},
            )
            self.store.create_run(manifest)


def _address(call: ChatCall) -> tuple[str, str]:
    """What a call is known by in the store."""
    asked = [(message.role, message.content) for message in call.messages]
    return digest("testset", call.model), digest(call.schema_name, asked)
