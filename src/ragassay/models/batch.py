"""Chat calls through a provider's batch API: submitted together, answered within a day.

Calls that wait at the same time are written into one file and sent as one batch, at half of the
price. A batch is paid for once it is at the provider, so it is never submitted twice: the store
knows of it before the provider does (an intent, then a receipt), and a batch whose receipt a kill
took along is found again by what it is labelled with. A call is known by the content of its
request, so that the same call made days later by another process finds its answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from ragassay.core import Batch, Call, CallError, ChatCall, ChatReply, Reply, Spend
from ragassay.models import batch_api
from ragassay.models.base import NOT_SENT
from ragassay.models.batch_api import (
    NOT_FOUND,
    Answers,
    BatchApi,
    label_of,
)
from ragassay.models.capabilities import Capabilities

PRICE_SHARE = 0.5
"""Share of the usual price that providers charge for a call in a batch."""

MAX_CALLS = 50_000
"""Calls that one batch may hold: the provider's limit."""

MAX_BYTES = 190 * 10**6
"""Bytes that the file of one batch may have. The provider's limit is 200 MB."""

LINGER = 2.0
"""Seconds after which a batch is submitted when no further call has joined it."""

LONGEST_LINGER = 60.0
"""Seconds that the first call of a batch waits for others at most."""

FIRST_POLL = 5.0
"""Seconds before the first poll of a batch."""

POLLS_UNTIL_LOST = 3
"""How often in a row it must say so to be believed: a new batch or file may appear late."""

PATIENCE = 26 * 3600.0
"""Seconds after which a batch that the provider never ends is given up: its window of 24 hours and
some grace.
"""

SETTLE_AFTER = 60.0
"""Seconds after which the answers of a batch are on disk as judgments, counted from their return to
the callers.
"""

CLOSE_GRACE = 10.0
"""Seconds that a submission under way gets when the run ends, so that its receipt is stored."""

LIMIT_WORDS = ("token_limit_exceeded", "enqueued token limit", "request_limit_exceeded")
"""Words of an error by which a provider says that too much is enqueued."""

NO_BILL = Spend(cost=0.0)
"""Spend of an answer that another caller with the same request has been billed for."""


class BatchStore(Protocol):
    """What the model needs of a store."""

    def put_batch(self, run_id: str, batch: Batch) -> None: ...

    def batches(self, run_id: str) -> tuple[Batch, ...]: ...


class _Refused(Exception):
    """The provider rejected a batch. limit: because too much is enqueued there already."""

    def __init__(self, message: str, *, limit: bool) -> None:
        super().__init__(message)
        self.message = message
        self.limit = limit


@dataclass(slots=True, eq=False)
class _PendingBatch:
    """A batch that is being gathered or submitted.

    keys: content hashes of its calls. file: one line per call, in the order of `keys`. done: set
    when `answers` are complete, or with the error of all of its calls.
    """

    started: float
    last_joined: float
    done: asyncio.Future[None]
    keys: list[str] = field(default_factory=list)
    file: io.BytesIO = field(default_factory=io.BytesIO)
    answers: Answers = field(default_factory=dict)
    sent: bool = False

    def take_file(self) -> bytes:
        """The file's content, dropped here: two copies of 200 MB would stay in memory else."""
        data = self.file.getvalue()
        self.file = io.BytesIO()
        return data


@dataclass(slots=True, eq=False)
class _SubmittedBatch:
    """A batch at the provider.

    submitted_here: by this process; of an earlier one's batch only the answers count. data: the
    file, until the provider has validated it: a batch that it has no room for is submitted again.
    fresh: no process has read its answers yet. polled: its state is known and leaves nothing to do
    but to wait. billed: keys whose answer was returned with its spend.
    """

    record: Batch
    submitted_here: bool
    data: bytes = b""
    fresh: bool = False
    finished: int = 0
    polled: bool = False
    next_poll: float = 0.0
    task: asyncio.Task[Answers] | None = None
    billed: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _PollFailures:
    """Counts of failed polls of one batch in a row, by what they mean."""

    not_found: int = 0
    refused: int = 0

    def is_lost(self, error: CallError) -> bool:
        """Whether the provider has now said often enough that it no longer has the batch."""
        if error.status in NOT_FOUND:
            self.not_found += 1
        else:
            self.not_found = 0
        return self.not_found == POLLS_UNTIL_LOST

    def check_refusal(self, error: CallError, batch: str) -> None:
        """Raise CallError where the batch cannot be polled: at once if the error is fatal."""
        if error.retryable or error.status in NOT_FOUND:
            self.refused = 0
            return
        self.refused += 1
        if error.fatal:
            error.maybe_billed = True  # the batch itself was accepted, so it is paid for
            raise error
        if self.refused == POLLS_UNTIL_LOST:
            text = f"{batch} was taken and cannot be looked at: {error.message}"
            raise CallError(
                "batch", text, fatal=True, maybe_billed=True, status=error.status
            ) from None


class BatchModel(BatchApi):
    """A chat model whose calls go through batches. `begin` it before the first call.

    A call may wait a day: it is not the runner's to time it out. Arguments as for `ChatModel`.
    """

    announces_sending = False

    def __init__(self, name: str, **rest: Any) -> None:
        super().__init__(name, **rest)
        self._linger = LINGER
        self._first_poll = FIRST_POLL
        self._run_id = ""
        self._store: BatchStore | None = None
        self._open: _PendingBatch | None = None
        self._in_flight: dict[str, _PendingBatch] = {}
        self._earlier: dict[str, list[_SubmittedBatch]] = {}
        self._submitted: list[_SubmittedBatch] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._submissions = 0
        self._expired: set[str] = set()
        self._refusal: CallError | None = None
        self._last_change = 0.0

    # -- for the runner

    @property
    def concurrency(self) -> int | None:
        """None, no limit: a call that waits at the provider takes no resource here."""
        return None

    @property
    def status(self) -> str:
        """A description of what is waited for; "" when nothing is."""
        if self._retry_note:
            return self._retry_note
        awaited = self._awaited()
        if not awaited:
            gathering = self._open is not None or self._submissions > 0
            return "calls gather for the next batch" if gathering else ""
        done = sum(batch.finished for batch in awaited)
        total = sum(len(batch.record.calls) for batch in awaited)
        next_poll = min(batch.next_poll for batch in awaited)
        seconds = max(0.0, next_poll - time.monotonic())
        if len(awaited) == 1:
            subject = f"batch {awaited[0].record.id}"
        else:
            subject = f"{len(awaited)} batches"
        return f"{subject}: {done:,}/{total:,} done, next look in {seconds:.0f} s"

    @property
    def waits_for_provider(self) -> bool:
        """Whether nothing can be done but to wait for the provider: all calls are submitted, and no
        batch is ready.
        """
        if self._open is not None or self._submissions:
            return False
        # A call that has just been answered may lead to the next one: its metric gets a moment.
        if time.monotonic() - self._last_change <= self._linger:
            return False
        awaited = self._awaited()
        return bool(awaited) and all(batch.polled for batch in awaited)

    def _awaited(self) -> list[_SubmittedBatch]:
        """The batches that are being polled."""
        return [
            batch for batch in self._submitted if batch.task is not None and not batch.task.done()
        ]

    async def begin(self, run_id: str, store: BatchStore, *, again: bool = False) -> int:
        """As `_begin`, with nothing left open when it fails."""
        try:
            return await self._begin(run_id, store, again)
        except BaseException:
            await self.close()
            raise

    async def _begin(self, run_id: str, store: BatchStore, again: bool) -> int:
        """Get ready for a run: find the batches that an earlier process left at the provider.
        Returns how many calls they hold.

        again: calls that have been answered already shall be made anew (the user retries failures).
        """
        self._run_id = run_id
        self._store = store
        stored = await asyncio.to_thread(store.batches, run_id)
        records = {record.id: record for record in stored}
        await self._find_lost(records)
        count = 0
        for record in records.values():
            is_waiting = record.state == "submitted"
            # The answers of a collected batch may not have reached the store as judgments before
            # the process ended, so they are fetched once more where they are asked for.
            if not is_waiting and (again or record.state != "collected"):
                continue
            if is_waiting:
                count += len(record.calls)
            submitted = _SubmittedBatch(record, submitted_here=False, fresh=is_waiting)
            self._submitted.append(submitted)
            for key in record.calls:
                self._earlier.setdefault(key, []).append(submitted)
        return count

    async def _find_lost(self, records: dict[str, Batch]) -> None:
        """Add to `records` the batches that were created, and whose receipt a kill took along."""
        intents = [record for record in records.values() if record.state == "intent"]
        if not intents:
            return
        by_id = {intent.id: intent for intent in intents}
        async for provider_batch in self._listing(min(intent.created for intent in intents)):
            intent = by_id.get(f"intent-{label_of(provider_batch)}")
            name = provider_batch.get("id")
            if intent is None or not isinstance(name, str):
                continue
            if name not in records:
                records[name] = replace(intent, id=name, state="submitted")
                await self._save(records[name])
        for intent in intents:
            await self._save(replace(intent, state="dropped", calls=()))

    async def call(self, call: Call) -> Reply:
        """The answer, when its batch is back. Raises CallError as `ChatModel`."""
        if not isinstance(call, ChatCall):
            raise CallError("bad_request", f"{self.uri} answers chat calls only", fatal=True)
        self._last_change = time.monotonic()
        # Of the full request, whatever the server turns out to refuse: a later process, which has
        # not learnt that yet, must find the same key.
        key = hashlib.sha256(self._body(call, Capabilities(), call.max_tokens)).hexdigest()[:32]
        while earlier := self._earlier.get(key):
            submitted = earlier[0]
            answer = (await self._answers_of(submitted)).get(key)
            if earlier and earlier[0] is submitted:
                earlier.pop(0)
            if isinstance(answer, ChatReply):
                return self._bill_once(submitted, key, answer)
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        batch = self._in_flight.get(key) or self._join(key, call)
        try:
            await asyncio.wait((batch.done,))
        except asyncio.CancelledError:
            if batch.sent:
                raise
            if self._open is batch:  # the run stops: unawaited calls are not paid for
                self._open = None
            raise asyncio.CancelledError(NOT_SENT) from None
        error = batch.done.exception()
        if error is not None:
            raise error.with_traceback(None)
        outcome = batch.answers[key]
        if isinstance(outcome, ChatReply):
            # All waiting callers of the same request share one bill.
            batch.answers[key] = replace(outcome, spend=NO_BILL)
            return outcome
        raise outcome

    async def close(self) -> None:
        """Leave the batches at the provider; a submission under way may finish for a moment."""
        self._open = None
        end = time.monotonic() + CLOSE_GRACE
        while self._submissions and time.monotonic() < end:
            await asyncio.sleep(0.02)
        tasks = [*self._tasks, *(batch.task for batch in self._submitted if batch.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super().close()

    def unclaimed(self) -> Spend:
        """Spend of answers that came back and that no call has asked for."""
        total = Spend()
        for batch in self._submitted:
            task = batch.task
            if not batch.fresh or task is None or not task.done():
                continue
            if task.cancelled() or task.exception():
                continue
            for key, answer in task.result().items():
                if key not in batch.billed and isinstance(answer, ChatReply):
                    total += answer.spend
        return total

    def _price(self, input_tokens: int, output_tokens: int, cached: int) -> float | None:
        usual = super()._price(input_tokens, output_tokens, cached)
        # A rate that the user gave is what a call costs here, with any discount in it.
        if usual is None or self._rate is not None:
            return usual
        return usual * PRICE_SHARE

    # -- gathering

    def _join(self, key: str, call: ChatCall) -> _PendingBatch:
        now = time.monotonic()
        body = self._body(call, self._known, self.output_limit(call))
        line = b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n' % (
            key.encode(),
            body,
        )
        batch = self._open
        if batch is not None:
            full = len(batch.keys) >= MAX_CALLS or batch.file.tell() + len(line) > MAX_BYTES
            if full:
                self._send_open()
                batch = None
        if batch is None:
            batch = self._open = _PendingBatch(now, now, asyncio.get_running_loop().create_future())
            self._start(self._send_when_quiet(batch))
        batch.keys.append(key)
        batch.file.write(line)
        batch.last_joined = self._last_change = now
        self._in_flight[key] = batch
        return batch

    async def _send_when_quiet(self, batch: _PendingBatch) -> None:
        while self._open is batch:
            due = min(batch.last_joined + self._linger, batch.started + LONGEST_LINGER)
            pause = due - time.monotonic()
            if pause <= 0:
                self._send_open()
            else:
                await asyncio.sleep(pause)

    def _send_open(self) -> None:
        batch = self._open
        self._open = None
        if batch is not None:
            batch.sent = True
            self._start(self._run_batch(batch))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_batch(self, batch: _PendingBatch) -> None:
        """Submit a batch, and bring its answers to the waiting calls."""
        failure: BaseException | None = None
        try:
            if self._refusal is not None:
                raise self._refusal.with_traceback(None)
            await self._submit(batch, batch.keys, batch.take_file())
        except _Refused as refused:
            failure = self._refusal = CallError("batch", refused.message, fatal=True)
        except CallError as error:
            # The provider rejects the batch as a whole, and no call of it is at fault.
            if not error.fatal and not error.retryable:
                error = CallError("batch", error.message, fatal=True, status=error.status)
            failure = error
            # Nothing more is submitted, so that nothing more is billed.
            self._refusal = CallError(
                error.kind,
                error.message,
                retryable=error.retryable,
                fatal=error.fatal,
                status=error.status,
            )
        except Exception as error:  # such as the store's
            failure = error
        finally:
            self._last_change = time.monotonic()
            for key in batch.keys:
                if self._in_flight.get(key) is batch:
                    del self._in_flight[key]
            if failure is None:
                batch.done.set_result(None)
            else:
                batch.done.set_exception(failure)
                batch.done.exception()  # retrieved here: all waiting calls may have been cancelled

    async def _submit(self, batch: _PendingBatch, keys: Sequence[str], data: bytes) -> None:
        """Submit these calls, in parts where the provider takes no more at once, and wait for their
        answers.
        """
        parts = [(keys, data)]
        while parts:
            keys, data = parts.pop()
            self._submissions += 1
            try:
                submitted = await self._submit_one(keys, data)
                submitted.data = data
                del data  # up to 200 MB
            finally:
                self._submissions -= 1
            try:
                batch.answers |= await self._answers_of(submitted)
                continue
            except _Refused as refused:
                others = [
                    other.task for other in self._awaited() if other is not submitted and other.task
                ]
                if not refused.limit or not submitted.data or (len(keys) < 2 and not others):
                    raise
            self._submitted.remove(submitted)  # the provider never accepted it
            data = submitted.data
            submitted.data = b""
            if others:  # there is room once one of them has ended
                parts.append((keys, data))
                await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            else:
                parts += reversed(_halves(keys, data))

    async def _submit_one(self, keys: Sequence[str], data: bytes) -> _SubmittedBatch:
        """One batch of these calls at the provider, with its receipt in the store."""
        token = uuid.uuid4().hex
        created = datetime.now(UTC).isoformat(timespec="seconds")
        # Stored first: a kill after the order and before its receipt must not lose a paid batch.
        intent = Batch(f"intent-{token}", "intent", tuple(keys), created, self.base_url)
        await self._save(intent)
        try:
            file = await self._upload(data)
            name = await self._create_batch(file, self._run_id, token, created)
        except CallError:
            await self._save(replace(intent, state="dropped", calls=()))
            raise
        submitted = _SubmittedBatch(
            Batch(name, "submitted", tuple(keys), created, self.base_url), submitted_here=True
        )
        self._submitted.append(submitted)
        await self._save(submitted.record)
        await self._save(replace(intent, state="dropped", calls=()))
        return submitted

    async def _save(self, record: Batch) -> None:
        assert self._store is not None, "the model is used before it was begun"
        await asyncio.to_thread(self._store.put_batch, self._run_id, record)

    # -- waiting

    async def _answers_of(self, submitted: _SubmittedBatch) -> Answers:
        if submitted.task is None:
            submitted.task = asyncio.get_running_loop().create_task(self._poll(submitted))
        await asyncio.wait((submitted.task,))
        error = submitted.task.exception()
        if error is not None:
            raise error.with_traceback(None)
        return submitted.task.result()

    async def _poll(self, submitted: _SubmittedBatch) -> Answers:
        """Poll a batch until it has ended, and fetch its answers. Raises _Refused when the provider
        rejected it.
        """
        started = time.monotonic()
        pause = self._first_poll
        failures = _PollFailures()
        has_to_wait = submitted.submitted_here
        while True:
            if has_to_wait:
                submitted.next_poll = time.monotonic() + pause
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, max(self._first_poll, batch_api.LONGEST_PAUSE))
            has_to_wait = True
            try:
                provider_batch = await self._request("GET", self._batches / submitted.record.id)
            except CallError as error:
                if failures.is_lost(error):
                    why = "the provider knows the batch no more"
                    return await self._finish(submitted, {}, "failed", why, again=False)
                failures.check_refusal(error, submitted.record.id)
                continue
            failures = _PollFailures()
            answers = await self._check_status(submitted, provider_batch)
            if answers is not None:
                return answers
            if time.monotonic() - started > PATIENCE:
                why = "its batch did not end in time"
                return await self._finish(submitted, {}, "submitted", why, again=False)

    async def _check_status(
        self, submitted: _SubmittedBatch, provider_batch: dict[str, Any]
    ) -> Answers | None:
        """The answers of a batch that the provider shows; None while it is under way."""
        submitted.polled = True
        counts = provider_batch.get("request_counts")
        if isinstance(counts, dict):
            ended = (counts.get("completed"), counts.get("failed"))
            submitted.finished = sum(count for count in ended if isinstance(count, int))
        status = provider_batch.get("status")
        if status == "failed":
            if not submitted.submitted_here:
                return await self._finish(submitted, {}, "failed", "the provider did not take it")
            await self._save(replace(submitted.record, state="failed", calls=()))
            raise self._refused(provider_batch)
        if status != "validating":  # accepted: its file will not be submitted again
            submitted.data = b""
        if status not in ("completed", "expired", "cancelled"):
            return None
        submitted.polled = False  # there is something to do
        answers, lost = await self._fetch(submitted, provider_batch)
        why = f"its batch {status}"
        if lost:
            why += ", and its file is gone"
        return await self._finish(submitted, answers, "collected", why, again=not lost)

    def _refused(self, provider_batch: dict[str, Any]) -> _Refused:
        errors = provider_batch.get("errors")
        data = errors.get("data") if isinstance(errors, dict) else None
        entries = data if isinstance(data, list) else []
        reasons = [_error_words(entry) for entry in entries if isinstance(entry, dict)]
        text = "it does not say why"
        if reasons:
            text = "; ".join(reasons[:3])
        if len(reasons) > 3:
            text += f" and {len(reasons) - 3} more"
        everything = "\n".join(reasons).lower()
        is_limit = any(word in everything for word in LIMIT_WORDS)
        return _Refused(self._clean(f"{self._host}: {text}"), limit=is_limit)

    async def _finish(
        self,
        submitted: _SubmittedBatch,
        answers: Answers,
        state: str,
        why: str,
        *,
        again: bool = True,
    ) -> Answers:
        """The answers, with an error for each call that has none.

        again: such a call may be retried without asking the user, which would pay twice where it
        was answered or may yet be.
        """
        own_keys = submitted.record.calls if submitted.submitted_here else ()
        for key in own_keys:
            if key not in answers:
                answers[key] = CallError(
                    "bad_reply", f"no answer: {why}", retryable=again, maybe_billed=True
                )
        submitted.record = replace(submitted.record, state=state)
        await self._save(submitted.record)
        if submitted.submitted_here:
            self._submitted.remove(submitted)
            if state == "collected":
                self._start(self._settle(submitted.record))
        self._last_change = time.monotonic()
        return answers

    async def _settle(self, record: Batch) -> None:
        await asyncio.sleep(SETTLE_AFTER)
        await self._save(replace(record, state="done", calls=()))

    # -- answers

    async def _fetch(
        self, submitted: _SubmittedBatch, provider_batch: dict[str, Any]
    ) -> tuple[Answers, bool]:
        """The answers in the files of a batch, and whether one of the files is lost."""
        answers: Answers = {}
        # What was completed was paid for: without a file it is lost, and is not retried unasked.
        has_file = bool(provider_batch.get("output_file_id") or provider_batch.get("error_file_id"))
        lost = submitted.finished > 0 and not has_file
        expected_keys = frozenset(submitted.record.calls)
        # The answers before the errors: of two lines about a call an answer counts.
        for field_name in ("output_file_id", "error_file_id"):
            file = provider_batch.get(field_name)
            if isinstance(file, str) and file:
                lost |= not await self._fetch_file(submitted, file, expected_keys, answers)
        for key, answer in answers.items():
            if isinstance(answer, CallError) and answer.kind == "expired":
                answer.retryable = key not in self._expired  # one retry, not an endless loop
                self._expired.add(key)
        return answers, lost

    async def _fetch_file(
        self, submitted: _SubmittedBatch, file: str, expected_keys: frozenset[str], answers: Answers
    ) -> bool:
        """Add the answers of this file; False when the provider no longer has it.

        Any other failure ends the run, and the batch stays to be collected: calls that were wrongly
        taken for unanswered would be paid for twice.
        """
        for attempt in range(1, POLLS_UNTIL_LOST + 1):
            try:
                await self._retry(
                    lambda: self._read_file(file, expected_keys, answers), "fetching a batch"
                )
                return True
            except CallError as error:
                if error.status not in NOT_FOUND:
                    what = (
                        f"the answers of {submitted.record.id} are there and cannot be fetched:"
                        f" {error.message}"
                    )
                    raise CallError(
                        "batch", what, fatal=True, maybe_billed=True, status=error.status
                    ) from None
            if attempt < POLLS_UNTIL_LOST:  # a file may appear a moment after its batch
                await asyncio.sleep(self._first_poll * attempt)
        return False

    def _bill_once(self, submitted: _SubmittedBatch, key: str, answer: ChatReply) -> ChatReply:
        if key in submitted.billed:
            return replace(answer, spend=NO_BILL)
        submitted.billed.add(key)
        return answer


def _halves(
    keys: Sequence[str], data: bytes
) -> tuple[tuple[Sequence[str], bytes], tuple[Sequence[str], bytes]]:
    """The first and the second half of the calls, each with its lines."""
    lines = data.splitlines(keepends=True)
    half = len(keys) // 2
    first = (keys[:half], b"".join(lines[:half]))
    second = (keys[half:], b"".join(lines[half:]))
    return first, second


def _error_words(entry: Mapping[str, Any]) -> str:
    """One reason why a batch was refused, in the provider's words."""
    words: list[str] = []
    for name in ("code", "message", "param"):
        value = entry.get(name)
        if isinstance(value, str | int):
            words.append(str(value))
    line = f" (line {entry['line']})" if isinstance(entry.get("line"), int) else ""
    return " ".join(words) + line
