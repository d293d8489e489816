"""The runner of the judge's flows: its calls are made, its judgments are durable before use.

Requests that a judge answers together are a group, and each group is a task of its own, so that an
answer that is paid for reaches the disk although the row that asked has given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from ragassay.core import (
    Ask,
    CallFailed,
    Exchange,
    JudgeFlow,
    Judgment,
    JudgmentAddress,
    Keep,
    RagAssayError,
    Recall,
    Reply,
    Request,
    Sample,
    Status,
    is_fault,
    memory_failure,
    shorten,
)
from ragassay.dispatch import Dispatcher, Stopped
from ragassay.judges import Judge
from ragassay.runs.exchanges import exchange_of
from ragassay.runs.journal import Journal
from ragassay.runs.pending import PendingJudgments

NO_VERDICT = "the judge gave no verdict"


class AskedRow(NamedTuple):
    """What a row asks: its index in the data, the row, and the Requests by key."""

    row_index: int
    sample: Sample
    requests: dict[str, tuple[JudgmentAddress, Request]]


@dataclass(slots=True)
class _Group:
    """Requests of one rubric that a judge answers together, about one row. unsettled: the
    addresses of those that have no Judgment yet, by key. exchanges: the calls that were answered
    since the last Judgments, to be stored with the next ones.
    """

    rubric: str
    unsettled: dict[str, JudgmentAddress]
    row: AskedRow
    exchanges: list[Exchange] = field(default_factory=list)


class JudgeRunner:
    """Has a judge answer Requests. Whatever happens, every Request is settled or failed in
    `pending`.

    abort: called with the error that ends the whole run. keep_replies: whether exchanges are
    stored.
    """

    def __init__(
        self,
        judge: Judge,
        journal: Journal,
        dispatcher: Dispatcher,
        pending: PendingJudgments,
        abort: Callable[[BaseException], None],
        *,
        keep_replies: bool = False,
    ) -> None:
        self._keep_replies = keep_replies
        self._judge = judge
        self._journal = journal
        self._dispatcher = dispatcher
        self._pending = pending
        self._abort = abort
        self.tasks: set[asyncio.Task[None]] = set()
        self.asked = 0
        """How often a flow asked for calls."""

    async def begin(self, rows: Iterable[AskedRow]) -> None:
        """Have the judge answer the Requests of each row, each group as a task of its own. Groups
        that it answers without a call, as by rules, are stored together.
        """
        immediate: list[tuple[_Group, Sequence[Judgment]]] = []
        for row in rows:
            asked = row.requests
            for requests in self._judge.groups([request for _, request in asked.values()]):
                await self._dispatcher.turn()  # a prompt takes long to write
                unsettled = {request.key: asked[request.key][0] for request in requests}
                group = _Group(requests[0].rubric, unsettled, row)
                try:
                    flow = self._judge.answer(requests)
                    first = next(flow)
                except StopIteration as end:
                    immediate.append((group, end.value))
                except BaseException as error:
                    if not is_fault(error):
                        raise
                    self._start(self._answer(group, None, error))
                else:
                    self._start(self._answer(group, flow, first))
        if immediate:
            self._start(self._store_together(immediate))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _store_together(self, answers: list[tuple[_Group, Sequence[Judgment]]]) -> None:
        """Settle what flows returned without asking anything, in one job of the journal."""
        try:
            judgments: list[Judgment] = []
            for group, returned in answers:
                judgments += returned
                keys = {judgment.key for judgment in returned}
                missing = [address for key, address in group.unsettled.items() if key not in keys]
                judgments += [
                    self._failed(group.rubric, address, NO_VERDICT) for address in missing
                ]
            await self._journal.put(judgments)
        except (RagAssayError, asyncio.CancelledError) as error:
            for group, _ in answers:
                self._give_up(group, error)
        except Exception:
            # One of them returned what is no judgment: each is settled, or fails, by itself.
            for group, returned in answers:
                self._start(self._answer(group, None, tuple(returned)))
        else:
            by_key = {judgment.key: judgment for judgment in judgments}
            for group, _ in answers:
                for key, address in group.unsettled.items():
                    self._pending.settle(address, by_key[key])

    async def _answer(self, group: _Group, flow: JudgeFlow | None, step: object) -> None:
        """Drive the judge's flow for one group; whatever happens, every Request of the group is
        settled.

        step: what the flow has yielded first; without a flow, what it returned or raised.
        """
        try:
            await self._settle(group, await self._drive(group, flow, step))
            if group.unsettled:
                await self._settle(group, self._all_failed(group, NO_VERDICT))
        except (Stopped, RagAssayError, asyncio.CancelledError) as error:
            if isinstance(error, RagAssayError) and not error.where:
                # A model does not know about which row it was asked.
                error.where = f"row {shorten(group.row.sample.id)}, rubric {group.rubric}"
            self._give_up(group, error)
        except BaseException as error:
            await self._fail_group(group, error)

    async def _drive(
        self, group: _Group, flow: JudgeFlow | None, step: object
    ) -> Sequence[Judgment]:
        """What the flow returns in the end."""
        try:
            if isinstance(step, BaseException):
                raise step
            while flow is not None:
                step = flow.send(await self._serve(group, step))
            return cast(tuple[Judgment, ...], step)
        except StopIteration as end:
            return cast(tuple[Judgment, ...], end.value)

    async def _serve(self, group: _Group, step: object) -> tuple[Reply, ...]:
        """Do what a flow asks for; returned is what the flow is sent."""
        if isinstance(step, Keep):
            if step.beside:
                await self._journal.put(step.judgments)
            else:
                await self._settle(group, step.judgments)
            return ()
        if isinstance(step, Recall):
            stored = await self._journal.lookup(step.addresses)
            return cast(tuple[Reply, ...], tuple(stored.values()))
        return await self._ask(group, cast(Ask, step))

    async def _settle(self, group: _Group, judgments: Sequence[Judgment]) -> None:
        exchanges, group.exchanges = group.exchanges, []
        await self._journal.put(judgments, exchanges)
        for judgment in judgments:
            address = group.unsettled.pop(judgment.key, None)
            if address is not None:
                self._pending.settle(address, judgment)

    async def _fail_group(self, group: _Group, error: BaseException) -> None:
        """A judge's own fault is these requests' failure, not the run's end."""
        if not is_fault(error):
            self._give_up(group, error)
            raise error
        failure = memory_failure(error)
        if failure is not None:
            self._give_up(group, failure)
            return
        reason = f"the judge raised {type(error).__name__}: {shorten(str(error), 200)}"
        try:
            await self._settle(group, self._all_failed(group, reason))
        except RagAssayError as second:
            self._give_up(group, second)

    def _give_up(self, group: _Group, error: BaseException) -> None:
        # A CancelledError in a future would cancel the rows that wait for it, which nobody has
        # cancelled.
        reason = Stopped() if isinstance(error, asyncio.CancelledError) else error
        for address in group.unsettled.values():
            self._pending.fail(address, reason)
        if isinstance(error, RagAssayError):
            self._abort(error)

    async def _ask(self, group: _Group, step: Ask) -> tuple[Reply, ...]:
        replies = await self._replies_to(step)
        if self._keep_replies and group.unsettled:
            judge = next(iter(group.unsettled.values()))[0]
            keys = list(group.unsettled)
            index, sample, _ = group.row
            for call, reply in zip(step.calls, replies, strict=True):
                kept = exchange_of(call, reply, index, sample, group.rubric, judge, keys)
                if kept is not None:
                    group.exchanges.append(kept)
        return replies

    async def _replies_to(self, step: Ask) -> tuple[Reply, ...]:
        self.asked += 1
        if len(step.calls) == 1:
            return (await self._dispatcher.call(step.calls[0]),)
        tasks = [asyncio.ensure_future(self._dispatcher.call(call)) for call in step.calls]
        try:
            ended, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                error = task.exception()
                if isinstance(error, RagAssayError):
                    self._abort(error)
            if left:
                # Whatever the result of one is: the others are paid for, and their answers count.
                await asyncio.wait(left)
        finally:
            # Where the run ends before them, each is settled with the budget before the ledger is
            # written.
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        return _replies(results)

    def _all_failed(self, group: _Group, reason: str) -> list[Judgment]:
        return [self._failed(group.rubric, address, reason) for address in group.unsettled.values()]

    def _failed(self, rubric: str, address: JudgmentAddress, reason: str) -> Judgment:
        fingerprint, key = address
        version = self._judge.rubric_version(rubric)
        return Judgment(key, fingerprint, version, Status.FAILED, reason=reason)


def _replies(results: Sequence[Reply | BaseException]) -> tuple[Reply, ...]:
    """The replies to calls that were made together. Where the run stopped before some of them,
    these have failed; raises Stopped where none was made.
    """
    stopped = 0
    for result in results:
        if isinstance(result, Stopped):
            stopped += 1
        elif isinstance(result, BaseException):
            raise result
    if not stopped:
        return tuple(cast(list[Reply], results))
    if stopped == len(results):
        raise Stopped
    # As over budget, so that the row is done again.
    unsent = CallFailed("over_budget", "the run was stopped before this call")
    return tuple(
        unsent if isinstance(result, Stopped) else cast(Reply, result) for result in results
    )
