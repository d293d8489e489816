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
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import aiohttp
import orjson
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from ragassay.core import Batch, Call, CallError, ChatCall, ChatReply, Message, Reply, Spend
from ragassay.models.base import NOT_SENT
from ragassay.models.dialect import Dialect, without_refused
from ragassay.models.openai import OpenAIModel, open_model
from ragassay.models.prices import Rate
from ragassay.models.server_reply import MAX_BODY, MAX_ERROR, parse_json, read_body

T = TypeVar("T")

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

LONGEST_PAUSE = 60.0
"""Seconds between two polls, or two tries of a request, at most."""

NOT_FOUND = (404, 410)
"""Status codes by which a provider says that it no longer has a batch or file."""

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

FILE_TIMEOUT = aiohttp.ClientTimeout(total=3600.0, sock_connect=10.0, sock_read=120.0)
"""A file has up to 200 MB."""

CLOCK_DIFFERENCE = 24 * 3600.0
"""Seconds by which the provider's clock may differ from ours."""

COMPLETION_WINDOW = "24h"
"""The only window that the API offers."""

LABEL = "ragassay_batch"
"""Metadata key under which a batch carries our token, to be recognized without a receipt."""

LIMIT_WORDS = ("token_limit_exceeded", "enqueued token limit", "request_limit_exceeded")
"""Words of an error by which a provider says that too much is enqueued."""

NO_BILL = Spend(cost=0.0)
"""Spend of an answer that another caller with the same request has been billed for."""

FULL_CALL = ChatCall((Message("user", ""),), schema={}, seed=0)
"""A call that uses everything a server may refuse."""


Answers = dict[str, ChatReply | CallError]
"""By the content hash of the request."""


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

    own: submitted by this process; of an earlier one's batch only the answers count. data: the
    file, until the provider has validated it. fresh: no process has read its answers yet. polled:
    its state is known and leaves nothing to do. billed: keys whose answer was returned with its
    spend.
    """

    record: Batch
    own: bool
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


class BatchModel(OpenAIModel):
    """A chat model whose calls go through batches. `begin` it before the first call.

    A call may wait a day: it is not the runner's to time it out. Arguments as for `OpenAIModel`.
    """

    def __init__(self, name: str, **rest: Any) -> None:
        super().__init__(name, **rest)
        self._linger = LINGER
        self._first_poll = FIRST_POLL
        base = URL(self.base_url)
        self._files = base / "files"
        self._batches = base / "batches"
        self._run_id = ""
        self._store: BatchStore | None = None
        self._open: _PendingBatch | None = None
        self._in_flight: dict[str, _PendingBatch] = {}
        self._earlier: dict[str, list[_SubmittedBatch]] = {}
        self._sent: list[_SubmittedBatch] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._submissions = 0
        self._expired: set[str] = set()
        self._refusal: CallError | None = None
        self._retry_note = ""
        self._reached = False
        self._last_change = 0.0
        self.unmatched_lines = 0

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
        return [one for one in self._sent if one.task is not None and not one.task.done()]

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
        records = {one.id: one for one in await asyncio.to_thread(store.batches, run_id)}
        lost = {one.id: one for one in records.values() if one.state == "intent"}
        if lost:  # the kill came between the order and the receipt
            async for theirs in self._listing(min(one.created for one in lost.values())):
                intent = lost.get(f"intent-{_label(theirs)}")
                name = theirs.get("id")
                if intent is None or not isinstance(name, str):
                    continue
                if name not in records:
                    records[name] = replace(intent, id=name, state="submitted")
                    await self._save(records[name])
            for one in lost.values():
                await self._save(replace(one, state="dropped", calls=()))
        count = 0
        for one in records.values():
            if one.state not in ("submitted", "collected") or (again and one.state == "collected"):
                continue
            count += len(one.calls) if one.state == "submitted" else 0
            sent = _SubmittedBatch(one, own=False, fresh=one.state == "submitted")
            self._sent.append(sent)
            for key in one.calls:
                self._earlier.setdefault(key, []).append(sent)
        return count

    async def call(self, call: Call) -> Reply:
        """The answer, when its batch is back. Raises CallError as `OpenAIModel`."""
        if not isinstance(call, ChatCall):
            raise CallError("bad_request", f"{self.uri} answers chat calls only", fatal=True)
        self._last_change = time.monotonic()
        # Of the full request, whatever the server turns out to refuse: a later process, which has
        # not learnt that yet, must find the same key.
        key = hashlib.sha256(self._body(call, Dialect())).hexdigest()[:32]
        while earlier := self._earlier.get(key):
            sent = earlier[0]
            answer = (await self._answers_of(sent)).get(key)
            if earlier and earlier[0] is sent:
                earlier.pop(0)
            if isinstance(answer, ChatReply):
                return self._bill_once(sent, key, answer)
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
        tasks = [*self._tasks, *(one.task for one in self._sent if one.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super().close()

    def unclaimed(self) -> Spend:
        """Spend of answers that came back and that no call has asked for."""
        total = Spend()
        for one in self._sent:
            if not one.fresh or one.task is None or not one.task.done():
                continue
            if one.task.cancelled() or one.task.exception():
                continue
            for key, answer in one.task.result().items():
                if key not in one.billed and isinstance(answer, ChatReply):
                    total += answer.spend
        return total

    def _price(self, given: int, written: int, cached: int) -> float | None:
        usual = super()._price(given, written, cached)
        # A rate that the user gave is what a call costs here, with any discount in it.
        if usual is None or self._rate is not None:
            return usual
        return usual * PRICE_SHARE

    # -- gathering

    def _join(self, key: str, call: ChatCall) -> _PendingBatch:
        now = time.monotonic()
        body = self._body(call, self._dialect)
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
                sent = await self._submit_one(keys, data)
                sent.data = data
                del data  # up to 200 MB
            finally:
                self._submissions -= 1
            try:
                batch.answers |= await self._answers_of(sent)
                continue
            except _Refused as refused:
                others = [one.task for one in self._awaited() if one is not sent and one.task]
                if not refused.limit or not sent.data or (len(keys) < 2 and not others):
                    raise
            self._sent.remove(sent)  # the provider never accepted it
            data = sent.data
            sent.data = b""
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
            file = await self._retry(
                lambda: self._request("POST", self._files, file=data), "handing a batch over"
            )
            order = {
                "input_file_id": _id_of(file),
                "endpoint": "/v1/chat/completions",
                "completion_window": COMPLETION_WINDOW,
                "metadata": {"ragassay_run": self._run_id, LABEL: token},
            }
            unsure = False

            async def once() -> dict[str, Any]:
                nonlocal unsure
                if unsure:
                    existing = await self._find_by_label(token, created)
                    if existing is not None:
                        return existing
                try:
                    return await self._request("POST", self._batches, body=order)
                except CallError as error:  # it may have been created all the same
                    unsure = error.maybe_billed or (error.status or 0) >= 500
                    raise

            name = _id_of(await self._retry(once, "submitting a batch"))
        except CallError:
            await self._save(replace(intent, state="dropped", calls=()))
            raise
        sent = _SubmittedBatch(
            Batch(name, "submitted", tuple(keys), created, self.base_url), own=True
        )
        self._sent.append(sent)
        await self._save(sent.record)
        await self._save(replace(intent, state="dropped", calls=()))
        return sent

    async def _find_by_label(self, token: str, created: str) -> dict[str, Any] | None:
        async for theirs in self._listing(created):
            if _label(theirs) == token:
                return theirs
        return None

    async def _listing(self, since: str) -> AsyncIterator[dict[str, Any]]:
        """The account's batches, newest first, back to that time."""
        begin = datetime.fromisoformat(since).timestamp() - CLOCK_DIFFERENCE
        after = ""
        while True:
            query = {"limit": "100"}
            if after:
                query["after"] = after
            url = self._batches.with_query(query)
            page = await self._retry(partial(self._request, "GET", url), "looking for a batch")
            data = page.get("data")
            entries = data if isinstance(data, list) else []
            batches = [entry for entry in entries if isinstance(entry, dict)]
            for batch in batches:
                created_at = batch.get("created_at")
                if isinstance(created_at, int) and created_at < begin:
                    return
                yield batch
            last = batches[-1].get("id") if batches else None
            if not page.get("has_more") or not isinstance(last, str) or last == after:
                return
            after = last

    async def _save(self, record: Batch) -> None:
        assert self._store is not None, "the model is used before it was begun"
        await asyncio.to_thread(self._store.put_batch, self._run_id, record)

    # -- waiting

    async def _answers_of(self, sent: _SubmittedBatch) -> Answers:
        if sent.task is None:
            sent.task = asyncio.get_running_loop().create_task(self._poll(sent))
        await asyncio.wait((sent.task,))
        error = sent.task.exception()
        if error is not None:
            raise error.with_traceback(None)
        return sent.task.result()

    async def _poll(self, sent: _SubmittedBatch) -> Answers:
        """Poll a batch until it has ended, and fetch its answers. Raises _Refused when the provider
        rejected it.
        """
        started = time.monotonic()
        pause = self._first_poll
        failures = _PollFailures()
        has_to_wait = sent.own
        while True:
            if has_to_wait:
                sent.next_poll = time.monotonic() + pause
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, max(self._first_poll, LONGEST_PAUSE))
            has_to_wait = True
            try:
                theirs = await self._request("GET", self._batches / sent.record.id)
            except CallError as error:
                if failures.is_lost(error):
                    why = "the provider knows the batch no more"
                    return await self._finish(sent, {}, "failed", why, again=False)
                failures.check_refusal(error, sent.record.id)
                continue
            failures = _PollFailures()
            answers = await self._check_status(sent, theirs)
            if answers is not None:
                return answers
            if time.monotonic() - started > PATIENCE:
                why = "its batch did not end in time"
                return await self._finish(sent, {}, "submitted", why, again=False)

    async def _check_status(self, sent: _SubmittedBatch, theirs: dict[str, Any]) -> Answers | None:
        """The answers of a batch that the provider shows; None while it is under way."""
        sent.polled = True
        counts = theirs.get("request_counts")
        if isinstance(counts, dict):
            ended = (counts.get("completed"), counts.get("failed"))
            sent.finished = sum(count for count in ended if isinstance(count, int))
        status = theirs.get("status")
        if status == "failed":
            if not sent.own:
                return await self._finish(sent, {}, "failed", "the provider did not take it")
            await self._save(replace(sent.record, state="failed", calls=()))
            raise self._refused(theirs)
        if status != "validating":  # accepted: its file will not be submitted again
            sent.data = b""
        if status not in ("completed", "expired", "cancelled"):
            return None
        sent.polled = False  # there is something to do
        answers, lost = await self._fetch(sent, theirs)
        why = f"its batch {status}"
        if lost:
            why += ", and its file is gone"
        return await self._finish(sent, answers, "collected", why, again=not lost)

    def _refused(self, theirs: dict[str, Any]) -> _Refused:
        errors = theirs.get("errors")
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
        self, sent: _SubmittedBatch, answers: Answers, state: str, why: str, *, again: bool = True
    ) -> Answers:
        """The answers, with an error for each call that has none.

        again: such a call may be retried without asking the user, which would pay twice where it
        was answered or may yet be.
        """
        own_keys = sent.record.calls if sent.own else ()
        for key in own_keys:
            if key not in answers:
                answers[key] = CallError(
                    "bad_reply", f"no answer: {why}", retryable=again, maybe_billed=True
                )
        sent.record = replace(sent.record, state=state)
        await self._save(sent.record)
        if sent.own:
            self._sent.remove(sent)
            if state == "collected":
                self._start(self._settle(sent.record))
        self._last_change = time.monotonic()
        return answers

    async def _settle(self, record: Batch) -> None:
        await asyncio.sleep(SETTLE_AFTER)
        await self._save(replace(record, state="done", calls=()))

    # -- answers

    async def _fetch(self, sent: _SubmittedBatch, theirs: dict[str, Any]) -> tuple[Answers, bool]:
        """The answers in the files of a batch, and whether one of the files is lost."""
        answers: Answers = {}
        # What was completed was paid for: without a file it is lost, and is not retried unasked.
        has_file = bool(theirs.get("output_file_id") or theirs.get("error_file_id"))
        lost = sent.finished > 0 and not has_file
        asked_keys = frozenset(sent.record.calls)
        # The answers before the errors: of two lines about a call an answer counts.
        for field_name in ("output_file_id", "error_file_id"):
            file = theirs.get(field_name)
            if isinstance(file, str) and file:
                lost |= not await self._fetch_file(sent, file, asked_keys, answers)
        for key, answer in answers.items():
            if isinstance(answer, CallError) and answer.kind == "expired":
                answer.retryable = key not in self._expired  # one retry, not an endless loop
                self._expired.add(key)
        return answers, lost

    async def _fetch_file(
        self, sent: _SubmittedBatch, file: str, asked_keys: frozenset[str], answers: Answers
    ) -> bool:
        """Add the answers of this file; False when the provider no longer has it.

        Any other failure ends the run, and the batch stays to be collected: calls that were wrongly
        taken for unanswered would be paid for twice.
        """
        for attempt in range(1, POLLS_UNTIL_LOST + 1):
            try:
                await self._retry(
                    lambda: self._read_file(file, asked_keys, answers), "fetching a batch"
                )
                return True
            except CallError as error:
                if error.status not in NOT_FOUND:
                    what = (
                        f"the answers of {sent.record.id} are there and cannot be fetched:"
                        f" {error.message}"
                    )
                    raise CallError(
                        "batch", what, fatal=True, maybe_billed=True, status=error.status
                    ) from None
            if attempt < POLLS_UNTIL_LOST:  # a file may appear a moment after its batch
                await asyncio.sleep(self._first_poll * attempt)
        return False

    async def _read_file(self, file: str, asked_keys: frozenset[str], answers: Answers) -> None:
        failure: CallError | None = None
        try:
            url = self._files / file / "content"
            async with self._session().get(
                url, allow_redirects=False, timeout=FILE_TIMEOUT
            ) as response:
                if response.status != 200:
                    text = self._error_text(await read_body(response, MAX_ERROR))
                    raise self._failure(response.status, response.headers, text)
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    if len(rest) > MAX_BODY:
                        raise CallError(
                            "bad_reply", f"a line of the batch is longer than {MAX_BODY >> 20} MB"
                        )
                    for line in lines:
                        self._add_line(line, asked_keys, answers)
                self._add_line(rest, asked_keys, answers)
        except CallError as error:
            failure = error
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            failure = self._broken(error)
        if failure is not None:
            raise failure

    def _add_line(self, line: bytes, asked_keys: frozenset[str], answers: Answers) -> None:
        if not line.strip():
            return
        data = parse_json(line)
        key = data.get("custom_id") if isinstance(data, dict) else None
        if not isinstance(key, str) or key not in asked_keys:
            self.unmatched_lines += 1
            return
        if isinstance(answers.get(key), ChatReply):  # the first answer of a call counts
            return
        answers[key] = self._read_line(data)

    def _read_line(self, line: dict[str, Any]) -> ChatReply | CallError:
        """The reply, or the error, that one line of a file holds."""
        response = line.get("response")
        status = response.get("status_code") if isinstance(response, dict) else None
        if not isinstance(response, dict) or not isinstance(status, int):
            return self._line_without_response(line.get("error"))
        body = orjson.dumps(response.get("body"))
        if status == 200:
            try:
                reply = self._reply(body, {}, Spend(calls=1))
            except CallError as failure:
                return failure
            self._accepted |= {"batch"}
            return reply
        text = self._error_text(body)
        if status in (400, 422) and "content_filter" in text:
            return ChatReply("", "content_filter", self.name, Spend(1))
        # A server that has accepted a full request does not refuse its fields now: the words come
        # from a row that the error repeats.
        if not self._accepted:
            changed = without_refused(self._dialect, FULL_CALL, status, text)
            if changed is not None:
                self._dialect = changed
            # Retried: the next body leaves out what this one was refused for.
            is_refused_field = without_refused(Dialect(), FULL_CALL, status, text) is not None
            if self._dialect != Dialect() and is_refused_field:
                return CallError("server", text, retryable=True, status=status)
        return self._failure(status, {}, text)

    def _line_without_response(self, error: object) -> CallError:
        """The error of a call that the provider has not answered."""
        if not error:
            text = "a line has neither an answer nor an error"
            return CallError("bad_reply", text, retryable=True, maybe_billed=True)
        text = self._error_text(orjson.dumps(error))
        code = error.get("code") if isinstance(error, dict) else None
        if code in ("batch_expired", "batch_cancelled"):
            return CallError(str(code).removeprefix("batch_"), f"no answer: {text}")
        return CallError("server", text, retryable=True, maybe_billed=False)

    def _bill_once(self, sent: _SubmittedBatch, key: str, answer: ChatReply) -> ChatReply:
        if key in sent.billed:
            return replace(answer, spend=NO_BILL)
        sent.billed.add(key)
        return answer

    # -- requests

    async def _retry(self, ask: Callable[[], Awaitable[T]], doing: str) -> T:
        """The result of `ask`, tried until it works or fails for good. There is no time limit: a
        batch loses nothing while its provider is away for an hour.
        """
        tries = 0
        pause = 0.5
        try:
            while True:
                try:
                    return await ask()
                except CallError as error:
                    if not error.retryable:
                        raise
                    tries += 1
                    # A host that never answered is more likely mistyped than away.
                    if tries == 5 and error.kind == "network" and not self._reached:
                        raise
                    if error.retry_after is None:
                        pause = min(2 * pause, LONGEST_PAUSE)
                    else:
                        pause = error.retry_after
                    self._retry_note = f"{doing} failed ({error.message}); again in {pause:.0f} s"
                await asyncio.sleep(pause)
        finally:
            self._retry_note = ""

    async def _request(
        self, method: str, url: URL, *, body: object | None = None, file: bytes | None = None
    ) -> dict[str, Any]:
        """One request of the batch API, and the object it answers with."""
        data: Any = None if body is None else orjson.dumps(body)
        headers: dict[str, str] = {}
        if file is not None:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field(
                "file",
                io.BytesIO(file),
                filename="ragassay.jsonl",
                content_type="application/jsonl",
            )
            data = form()
            headers["Content-Type"] = data.headers["Content-Type"]  # the session's own is JSON
        failure: CallError | None = None
        try:
            async with self._session().request(
                method, url, data=data, headers=headers, allow_redirects=False, timeout=FILE_TIMEOUT
            ) as response:
                self._reached = True
                status = response.status
                raw = await read_body(response, MAX_BODY)
                if status not in (200, 201):
                    if status in (404, 405, 501) and method == "POST":
                        what = f"{self._host} has no batch API (it answered {status} at {url.path})"
                        raise CallError("batch", what, fatal=True, status=status)
                    raise self._failure(status, response.headers, self._error_text(raw))
            answer = parse_json(raw)
            if not isinstance(answer, dict):
                raise self._bad_reply("the reply is not a JSON object")
            return answer
        except CallError as error:
            failure = error
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            failure = self._broken(error)
        raise failure


def open_batch_model(
    name: str, *, base_url: str | None, api_key_env: str | None, rate: Rate | None, concurrency: int
) -> OpenAIModel:
    """The model `name` through batches; arguments and errors as of `openai.open_model`."""
    return open_model(
        name,
        base_url=base_url,
        api_key_env=api_key_env,
        rate=rate,
        concurrency=concurrency,
        kind=BatchModel,
    )


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


def _label(theirs: Mapping[str, Any]) -> object:
    """The token with which we labelled a batch; None for a batch that is not ours."""
    labels = theirs.get("metadata")
    return labels.get(LABEL) if isinstance(labels, dict) else None


def _id_of(theirs: Mapping[str, Any]) -> str:
    """The provider's id of a file or batch."""
    name = theirs.get("id")
    if not isinstance(name, str) or not name or len(name) > 200:
        raise CallError(
            "batch",
            "the server answered without an id: it has no batch API that we know",
            fatal=True,
        )
    return name
