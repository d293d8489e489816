"""The proposer over a language model: one call a task, whose reply is kept before it is read."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ragassay.core import (
    BudgetExhausted,
    CallFailed,
    ChatCall,
    ChatReply,
    Ledger,
    ProviderError,
    digest,
    shorten,
)
from ragassay.dispatch import (
    CallPolicy,
    Dispatcher,
    LocalBudget,
    output_limit_of,
    worst_case_tokens,
)
from ragassay.models import Model
from ragassay.report.wording import money
from ragassay.tuning.proposal import messages
from ragassay.tuning.record import SearchRecord
from ragassay.tuning.spending import Spending
from ragassay.tuning.values import ProposerTask

# Room for three edits with their reasons; a model that thinks gets more from its own settings.
_MOST_TOKENS = 2048
# Calls in a row that fail, each after its retries, before a model that never replied is given up.
_MOST_FAILED = 3


@dataclass
class ModelProposer:
    """Asks a language model for edits. Its calls count against the caps of the search.

    failures: reason -> calls that came back without a reply. replies: those that came.
    """

    model: Model
    record: SearchRecord
    spending: Spending
    policy: CallPolicy = field(default_factory=CallPolicy)
    failures: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    # One loop for all calls: the model's connections, and what it has learnt, belong to it.
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self.model.close())
        self._runner.close()

    def propose(self, task: ProposerTask) -> str:
        """The reply to a task; "" where the model gave none. Raises BudgetExhausted E0604 where a
        cap leaves no room, ProviderError where no call can succeed.
        """
        asked = messages(task)
        key = digest([(message.role, message.content) for message in asked])
        kept = self.record.reply(key)
        if kept is not None:
            self.spending.add(Ledger(confirmed=kept.spend))
            self.replies += 1
            return kept.texts[0]
        # The temperature is the server's own: a proposer at 0 says the same to like tasks.
        call = ChatCall(asked, max_tokens=_MOST_TOKENS, temperature=None)
        reply, ledger = self._runner.run(self._call(call))
        if isinstance(reply, ChatReply):
            self.record.keep_reply(key, reply.text, ledger.confirmed)
            self.spending.add(ledger)
            self.replies += 1
            return reply.text
        self.spending.add(ledger)
        if reply.kind == "over_budget":
            raise BudgetExhausted(
                "E0604",
                "A cap was reached before the search was done.",
                where="the reflector",
                why=self._why_no_room(call, reply.message),
                fix="the same command with a higher --max-calls or --max-cost goes on where it was",
            )
        self.failures[reply.message or reply.kind] += 1
        self._check_that_it_replies()
        return ""

    def _check_that_it_replies(self) -> None:
        """Raise ProviderError E0708 where a model never replied: then nothing is searched, and "no
        gain" would say more than is known.
        """
        failed = sum(self.failures.values())
        if self.replies or failed < _MOST_FAILED:
            return
        ((why, _),) = self.failures.most_common(1)
        raise ProviderError(
            "E0708",
            f"The reflector never replied: {failed} calls failed.",
            where=self.model.uri,
            why=shorten(why, 200),
            fix="mend what stands in its way; the same command then goes on from here",
        )

    def _why_no_room(self, call: ChatCall, why: str) -> str:
        """Why a call may not be made: where it is for money, what it may cost."""
        left = self.spending.left()["max_cost"]
        most = worst_case_tokens(call, output_limit_of(self.model))
        cost = self.model.price(*most)
        if left is None or cost is None or cost <= left:
            return f"{why} of the reflector"
        return f"a call of the reflector may cost {money(cost)}, and {money(left)} are left for it"

    async def _call(self, call: ChatCall) -> tuple[ChatReply | CallFailed, Ledger]:
        """The reply, and what it cost."""
        left = self.spending.left()
        budget = LocalBudget(self.model.price, output_limit=output_limit_of(self.model), **left)
        dispatcher = Dispatcher(self.model, budget, self.policy, 1, on_budget=_nothing)
        try:
            reply = await dispatcher.call(call)
        finally:
            dispatcher.close()
        assert isinstance(reply, ChatReply | CallFailed)
        return reply, budget.ledger()


def _nothing() -> None:
    """The search itself ends where a cap leaves no room."""
