"""Chat calls through a provider's batch API: handed over with many others, answered within a day.

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

SHARE = 0.5
"""Of the usual price, what providers charge for a call in a batch."""

MAX_CALLS, MAX_BYTES = 50_000, 190 * 10**6
"""What one batch may hold (the limits are 50,000 requests and 200 MB a file)."""

LINGER, LONGEST = 2.0, 60.0
"""A batch is sent when no call has joined it for so many seconds, or when its first call has waited
so long.
"""

FIRST_LOOK, MOST_BETWEEN = 5.0, 60.0
"""Seconds before the first look at a batch, and between two looks at most."""

GONE, LOOKS_FOR_GONE = (404, 410), 3
"""What a provider says of a batch or file that it has no more, and how often it must say so to be
believed.
"""

PATIENCE = 26 * 3600.0
"""Seconds after which a batch that the provider never ends is given up: its window of 24 hours and
some grace.
"""

SETTLED = 60.0
"""Seconds after which the answers of a batch, once handed to those who asked, are on disk as
judgments.
"""

LAST_WORDS = 10.0
"""Seconds that a submission under way gets when the run ends, so that its receipt is kept."""

LONG_TIMEOUT = aiohttp.ClientTimeout(total=3600.0, sock_connect=10.0, sock_read=120.0)
"""A file has up to 200 MB."""

CLOCKS_APART = 24 * 3600.0
"""Seconds by which the provider's clock may differ from ours."""

WINDOW = "24h"
MARK = "ragassay_batch"
LIMIT = ("token_limit_exceeded", "enqueued token limit", "request_limit_exceeded")
FREE = Spend(cost=0.0)
"""Of an answer whose bill another asker of the same has."""

FULL = ChatCall((Message("user", ""),), schema={}, seed=0)
"""A call that uses everything a server may refuse."""


Answers = dict[str, ChatReply | CallError]
"""By the content hash of the request."""


class BatchStore(Protocol):
    """What the model needs of a store."""

    def put_batch(self, run_id: str, batch: Batch) -> None: ...

    def batches(self, run_id: str) -> tuple[Batch, ...]: ...


class _Refused(Exception):
    """The provider would not take a batch. `limit`: because too much waits there already."""

    def __init__(self, what: str, *, limit: bool) -> None:
        super().__init__(what)
        self.what, self.limit = what, limit


@dataclass(slots=True, eq=False)
class _Open:
    """A batch that calls may still join, or that is on its way. file: a line a call, in the order
    of keys.
    """

    begun: float
    joined: float
    done: asyncio.Future[None]
    keys: list[str] = field(default_factory=list)
    file: io.BytesIO = field(default_factory=io.BytesIO)
    answers: Answers = field(default_factory=dict)
    sent: bool = False

    def emptied(self) -> bytes:
        """The file's content, which the caller alone holds then."""
        data, self.file = self.file.getvalue(), io.BytesIO()
        return data


@dataclass(slots=True, eq=False)
class _Sent:
    """A batch at the provider. own: submitted by this process; of another's only the answers count,
    its failures are past. data: the file, until the provider has taken it for good. fresh: no
    process has had its answers yet.
    """

    record: Batch
    own: bool
    data: bytes = b""
    fresh: bool = False
    finished: int = 0
    looked: bool = False
    next_look: float = 0.0
    task: asyncio.Task[Answers] | None = None
    taken: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _LookFailures:
    """Looks at a batch that failed in a row."""

    gone: int = 0
    refused: int = 0

    def is_gone(self, error: CallError) -> bool:
        """Whether the provider has now said often enough that it has the batch no more."""
        self.gone = self.gone + 1 if error.status in GONE else 0
        return self.gone == LOOKS_FOR_GONE

    def check_refusal(self, error: CallError, batch: str) -> None:
        """Raise CallError where the batch cannot be looked at: at once if the error is fatal."""
        if error.retryable or error.status in GONE:
            self.refused = 0
            return
        self.refused += 1
        if error.fatal:
            error.maybe_billed = True  # it is bought, whoever may look at it
            raise error
        if self.refused == LOOKS_FOR_GONE:
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
        self._linger, self._first_look = LINGER, FIRST_LOOK
        base = URL(self.base_url)
        self._files, self._batches = base / "files", base / "batches"
        self._run_id = ""
        self._book: BatchStore | None = None
        self._open: _Open | None = None
        self._flying: dict[str, _Open] = {}
        self._former: dict[str, list[_Sent]] = {}
        self._sent: list[_Sent] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ordering = 0
        self._expired: set[str] = set()
        self._refusal: CallError | None = None
        self._waiting_for = ""
        self._heard = False
        self._moved = 0.0
        self.strays = 0

    # -- what the runner asks

    @property
    def concurrency(self) -> int | None:
        """As many as there are: what waits at the provider costs nothing here."""
        return None

    @property
    def status(self) -> str:
        """What is waited for, in words; "" when nothing is."""
        if self._waiting_for:
            return self._waiting_for
        here = [one for one in self._sent if one.task is not None and not one.task.done()]
        if not here:
            return (
                "calls gather for the next batch"
                if self._open is not None or self._ordering
                else ""
            )
        done, total = sum(one.finished for one in here), sum(len(one.record.calls) for one in here)
        look = max(0.0, min(one.next_look for one in here) - time.monotonic())
        what = f"batch {here[0].record.id}" if len(here) == 1 else f"{len(here)} batches"
        return f"{what}: {done:,}/{total:,} done, next look in {look:.0f} s"

    @property
    def parked(self) -> bool:
        """Whether nothing can be done but to wait for the provider: all is handed over, looked at,
        and not ready.
        """
        here = [one for one in self._sent if one.task is not None and not one.task.done()]
        quiet = time.monotonic() - self._moved > self._linger
        return (
            bool(here)
            and quiet
            and self._open is None
            and not self._ordering
            and all(one.looked for one in here)
        )

    async def begin(self, run_id: str, book: BatchStore, *, again: bool = False) -> int:
        """As `_begin`, with nothing left open when it fails."""
        try:
            return await self._begin(run_id, book, again)
        except BaseException:
            await self.close()
            raise

    async def _begin(self, run_id: str, book: BatchStore, again: bool) -> int:
        """Get ready for a run: find the batches that an earlier process left at the provider. Says
        how many calls they hold.

        again: what has come back already shall be asked anew (the user retries what failed).
        """
        self._run_id, self._book = run_id, book
        records = {one.id: one for one in await asyncio.to_thread(book.batches, run_id)}
        lost = {one.id: one for one in records.values() if one.state == "intent"}
        if lost:  # the kill came between the order and the receipt
            async for theirs in self._listing(min(one.created for one in lost.values())):
                intent = lost.get(f"intent-{_mark(theirs)}")
                name = theirs.get("id")
                if intent is None or not isinstance(name, str):
                    continue
                if name not in records:
                    records[name] = replace(intent, id=name, state="submitted")
                    await self._keep(records[name])
            for one in lost.values():
                await self._keep(replace(one, state="dropped", calls=()))
        count = 0
        for one in records.values():
            if one.state not in ("submitted", "collected") or (again and one.state == "collected"):
                continue
            count += len(one.calls) if one.state == "submitted" else 0
            sent = _Sent(one, own=False, fresh=one.state == "submitted")
            self._sent.append(sent)
            for key in one.calls:
                self._former.setdefault(key, []).append(sent)
        return count

    async def call(self, call: Call) -> Reply:
        """The answer, when its batch is back. Raises CallError as `OpenAIModel`."""
        if not isinstance(call, ChatCall):
            raise CallError("bad_request", f"{self.uri} answers chat calls only", fatal=True)
        self._moved = time.monotonic()
        key = hashlib.sha256(self._body(call, Dialect())).hexdigest()[
            :32
        ]  # whatever the server turns out to refuse
        while former := self._former.get(key):
            sent = former[0]
            answer = (await self._wait(sent)).get(key)
            if former and former[0] is sent:
                former.pop(0)
            if isinstance(answer, ChatReply):
                return self._taken(sent, key, answer)
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        batch = self._flying.get(key) or self._join(key, call)
        try:
            await asyncio.wait((batch.done,))
        except asyncio.CancelledError:
            if batch.sent:
                raise
            if self._open is batch:  # the run stops: what nobody waits for is not bought
                self._open = None
            raise asyncio.CancelledError(NOT_SENT) from None
        if (error := batch.done.exception()) is not None:
            raise error.with_traceback(None)
        outcome = batch.answers[key]
        if isinstance(outcome, ChatReply):
            batch.answers[key] = replace(outcome, spend=FREE)  # one bill for all who asked the same
            return outcome
        raise outcome

    async def close(self) -> None:
        """Leave the batches where they are. An order under way gets a moment for its receipt."""
        self._open = None
        end = time.monotonic() + LAST_WORDS
        while self._ordering and time.monotonic() < end:
            await asyncio.sleep(0.02)
        tasks = [*self._tasks, *(one.task for one in self._sent if one.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super().close()

    def unclaimed(self) -> Spend:
        """What answers cost that came back and that nobody asked for again."""
        total = Spend()
        for one in self._sent:
            if not one.fresh or one.task is None or not one.task.done():
                continue
            if one.task.cancelled() or one.task.exception():
                continue
            for key, answer in one.task.result().items():
                if key not in one.taken and isinstance(answer, ChatReply):
                    total += answer.spend
        return total

    def _price(self, given: int, written: int, cached: int) -> float | None:
        usual = super()._price(given, written, cached)
        return usual if usual is None or self._rate is not None else usual * SHARE

    # -- gathering

    def _join(self, key: str, call: ChatCall) -> _Open:
        now = time.monotonic()
        body = self._body(call, self._dialect)
        line = b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n' % (
            key.encode(),
            body,
        )
        batch = self._open
        if batch is not None and (
            len(batch.keys) >= MAX_CALLS or batch.file.tell() + len(line) > MAX_BYTES
        ):
            self._send_open()
            batch = None
        if batch is None:
            batch = self._open = _Open(now, now, asyncio.get_running_loop().create_future())
            self._start(self._send_when_quiet(batch))
        batch.keys.append(key)
        batch.file.write(line)
        batch.joined = self._moved = now
        self._flying[key] = batch
        return batch

    async def _send_when_quiet(self, batch: _Open) -> None:
        while self._open is batch:
            left = min(batch.joined + self._linger, batch.begun + LONGEST) - time.monotonic()
            if left <= 0:
                self._send_open()
            else:
                await asyncio.sleep(left)

    def _send_open(self) -> None:
        batch, self._open = self._open, None
        if batch is not None:
            batch.sent = True
            self._start(self._carry(batch))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, batch: _Open) -> None:
        """Bring a batch to the provider, and its answers to those who asked."""
        failure: BaseException | None = None
        try:
            if self._refusal is not None:
                raise self._refusal.with_traceback(None)
            await self._submit(batch, batch.keys, batch.emptied())
        except _Refused as refused:
            failure = self._refusal = CallError("batch", refused.what, fatal=True)
        except CallError as error:
            if (
                not error.fatal and not error.retryable
            ):  # the batch is refused, and none of its calls is at fault
                error = CallError("batch", error.message, fatal=True, status=error.status)
            failure = error
            self._refusal = CallError(  # nothing more is sent, so that nothing more may be billed
                error.kind,
                error.message,
                retryable=error.retryable,
                fatal=error.fatal,
                status=error.status,
            )
        except Exception as error:  # such as the store's
            failure = error
        finally:
            self._moved = time.monotonic()
            for key in batch.keys:
                if self._flying.get(key) is batch:
                    del self._flying[key]
            if failure is None:
                batch.done.set_result(None)
            else:
                batch.done.set_exception(failure)
                batch.done.exception()  # seen: those who asked may be gone

    async def _submit(self, batch: _Open, keys: Sequence[str], data: bytes) -> None:
        """Submit these calls, in parts where the provider takes no more at once, and wait for what
        becomes of them.
        """
        parts = [(keys, data)]
        while parts:
            keys, data = parts.pop()
            self._ordering += 1
            try:
                sent = await self._order(keys, data)
                sent.data = data
                del data  # up to 200 MB
            finally:
                self._ordering -= 1
            try:
                batch.answers |= await self._wait(sent)
                continue
            except _Refused as refused:
                others = [
                    one.task
                    for one in self._sent
                    if one is not sent and one.task is not None and not one.task.done()
                ]
                if not refused.limit or not sent.data or (len(keys) < 2 and not others):
                    raise
            self._sent.remove(sent)  # it was never taken
            data, sent.data = sent.data, b""
            if others:  # there is room when one of them is back
                parts.append((keys, data))
                await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            else:
                parts += reversed(_halves(keys, data))

    async def _order(self, keys: Sequence[str], data: bytes) -> _Sent:
        """One batch of these calls at the provider, with its receipt in the store."""
        token, created = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
        intent = Batch(f"intent-{token}", "intent", tuple(keys), created, self.base_url)
        await self._keep(intent)
        try:
            file = await self._insist(
                lambda: self._ask("POST", self._files, file=data), "handing a batch over"
            )
            order = {
                "input_file_id": _name(file),
                "endpoint": "/v1/chat/completions",
                "completion_window": WINDOW,
                "metadata": {"ragassay_run": self._run_id, MARK: token},
            }
            unsure = False

            async def once() -> dict[str, Any]:
                nonlocal unsure
                if unsure and (found := await self._find(token, created)) is not None:
                    return found
                try:
                    return await self._ask("POST", self._batches, body=order)
                except CallError as error:  # it may be there although nobody said so
                    unsure = error.maybe_billed or (error.status or 0) >= 500
                    raise

            name = _name(await self._insist(once, "submitting a batch"))
        except CallError:
            await self._keep(replace(intent, state="dropped", calls=()))
            raise
        sent = _Sent(Batch(name, "submitted", tuple(keys), created, self.base_url), own=True)
        self._sent.append(sent)
        await self._keep(sent.record)
        await self._keep(replace(intent, state="dropped", calls=()))
        return sent

    async def _find(self, token: str, created: str) -> dict[str, Any] | None:
        async for theirs in self._listing(created):
            if _mark(theirs) == token:
                return theirs
        return None

    async def _listing(self, since: str) -> AsyncIterator[dict[str, Any]]:
        """The account's batches, newest first, back to that time."""
        begin = datetime.fromisoformat(since).timestamp() - CLOCKS_APART
        after = ""
        while True:
            url = self._batches.with_query({"limit": "100"} | ({"after": after} if after else {}))
            page = await self._insist(lambda url=url: self._ask("GET", url), "looking for a batch")  # type: ignore[misc]
            data = page.get("data")
            batches = (
                [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
            )
            for one in batches:
                if isinstance(made := one.get("created_at"), int) and made < begin:
                    return
                yield one
            last = batches[-1].get("id") if batches else None
            if not page.get("has_more") or not isinstance(last, str) or last == after:
                return
            after = last

    async def _keep(self, record: Batch) -> None:
        assert self._book is not None, "the model is used before it was begun"
        await asyncio.to_thread(self._book.put_batch, self._run_id, record)

    # -- waiting

    async def _wait(self, sent: _Sent) -> Answers:
        if sent.task is None:
            sent.task = asyncio.get_running_loop().create_task(self._follow(sent))
        await asyncio.wait((sent.task,))
        if (error := sent.task.exception()) is not None:
            raise error.with_traceback(None)
        return sent.task.result()

    async def _follow(self, sent: _Sent) -> Answers:
        """Look at a batch until it has ended, and fetch what came of it. Raises _Refused when it
        was not taken.
        """
        begun = time.monotonic()
        pause = self._first_look
        failures = _LookFailures()
        has_to_wait = sent.own
        while True:
            if has_to_wait:
                sent.next_look = time.monotonic() + pause
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, max(self._first_look, MOST_BETWEEN))
            has_to_wait = True
            try:
                theirs = await self._ask("GET", self._batches / sent.record.id)
            except CallError as error:
                if failures.is_gone(error):
                    why = "the provider knows the batch no more"
                    return await self._ended(sent, {}, "failed", why, again=False)
                failures.check_refusal(error, sent.record.id)
                continue
            failures = _LookFailures()
            answers = await self._looked_at(sent, theirs)
            if answers is not None:
                return answers
            if time.monotonic() - begun > PATIENCE:
                why = "its batch did not end in time"
                return await self._ended(sent, {}, "submitted", why, again=False)

    async def _looked_at(self, sent: _Sent, theirs: dict[str, Any]) -> Answers | None:
        """What came of a batch that the provider shows; None while it is under way."""
        sent.looked = True
        counts = theirs.get("request_counts")
        if isinstance(counts, dict):
            ended = [counts.get(name) for name in ("completed", "failed")]
            sent.finished = sum(count for count in ended if isinstance(count, int))
        status = theirs.get("status")
        if status == "failed":
            if not sent.own:
                return await self._ended(sent, {}, "failed", "the provider did not take it")
            await self._keep(replace(sent.record, state="failed", calls=()))
            raise self._refused(theirs)
        if status != "validating":
            sent.data = b""
        if status not in ("completed", "expired", "cancelled"):
            return None
        sent.looked = False  # there is something to do
        answers, gone = await self._fetch(sent, theirs)
        why = f"its batch {status}" + (", and its file is gone" if gone else "")
        return await self._ended(sent, answers, "collected", why, again=not gone)

    def _refused(self, theirs: dict[str, Any]) -> _Refused:
        errors = theirs.get("errors")
        data = errors.get("data") if isinstance(errors, dict) else None
        entries = data if isinstance(data, list) else []
        faults = [_fault(entry) for entry in entries if isinstance(entry, dict)]
        text = "it does not say why"
        if faults:
            more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
            text = "; ".join(faults[:3]) + more
        everything = "\n".join(faults).lower()
        is_limit = any(word in everything for word in LIMIT)
        return _Refused(self._clean(f"{self._host}: {text}"), limit=is_limit)

    async def _ended(
        self, sent: _Sent, answers: Answers, state: str, why: str, *, again: bool = True
    ) -> Answers:
        """The answers, with an error for each call that has none. again: it may be bought anew
        without the user's word, which is not so where it was answered or may yet be.
        """
        for key in sent.record.calls if sent.own else ():
            if key not in answers:
                answers[key] = CallError(
                    "bad_reply", f"no answer: {why}", retryable=again, maybe_billed=True
                )
        sent.record = replace(sent.record, state=state)
        await self._keep(sent.record)
        if sent.own:
            self._sent.remove(sent)
            if state == "collected":
                self._start(self._settle(sent.record))
        self._moved = time.monotonic()
        return answers

    async def _settle(self, record: Batch) -> None:
        await asyncio.sleep(SETTLED)
        await self._keep(replace(record, state="done", calls=()))

    # -- answers

    async def _fetch(self, sent: _Sent, theirs: dict[str, Any]) -> tuple[Answers, bool]:
        """What stands in the files of a batch, the answers' before the errors', and whether one of
        them is gone.
        """
        answers: Answers = {}
        # What was completed was paid for: without a file it is lost, not to be bought anew unasked.
        gone = sent.finished > 0 and not (
            theirs.get("output_file_id") or theirs.get("error_file_id")
        )
        wanted = frozenset(sent.record.calls)
        for which in ("output_file_id", "error_file_id"):
            file = theirs.get(which)
            if isinstance(file, str) and file:
                gone |= not await self._fetch_file(sent, file, wanted, answers)
        for key, answer in answers.items():
            if isinstance(answer, CallError) and answer.kind == "expired":
                answer.retryable = key not in self._expired  # once more, and not for ever
                self._expired.add(key)
        return answers, gone

    async def _fetch_file(
        self, sent: _Sent, file: str, wanted: frozenset[str], answers: Answers
    ) -> bool:
        """Add what stands in this file; False when it is gone. Whatever else keeps it from us ends
        the run, and the batch stays to be collected: a call that is taken for unanswered is bought
        again.
        """
        for look in range(1, LOOKS_FOR_GONE + 1):
            try:
                await self._insist(
                    lambda: self._read_file(file, wanted, answers), "fetching a batch"
                )
                return True
            except CallError as error:
                if error.status not in GONE:
                    what = (
                        f"the answers of {sent.record.id} are there and cannot be fetched:"
                        f" {error.message}"
                    )
                    raise CallError(
                        "batch", what, fatal=True, maybe_billed=True, status=error.status
                    ) from None
            if look < LOOKS_FOR_GONE:  # a file may be there a moment after its batch
                await asyncio.sleep(self._first_look * look)
        return False

    async def _read_file(self, file: str, wanted: frozenset[str], answers: Answers) -> None:
        failure: CallError | None = None
        try:
            url = self._files / file / "content"
            async with self._session().get(
                url, allow_redirects=False, timeout=LONG_TIMEOUT
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
                        self._line(line, wanted, answers)
                self._line(rest, wanted, answers)
        except CallError as error:
            failure = error
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            failure = self._broken(error)
        if failure is not None:
            raise failure

    def _line(self, line: bytes, wanted: frozenset[str], answers: Answers) -> None:
        if not line.strip():
            return
        data = parse_json(line)
        key = data.get("custom_id") if isinstance(data, dict) else None
        if not isinstance(key, str) or key not in wanted:
            self.strays += 1
            return
        if isinstance(answers.get(key), ChatReply):  # the first answer counts
            return
        answers[key] = self._outcome(data)

    def _outcome(self, line: dict[str, Any]) -> ChatReply | CallError:
        """What one line of a file says became of its call."""
        response, error = line.get("response"), line.get("error")
        status = response.get("status_code") if isinstance(response, dict) else None
        if not isinstance(response, dict) or not isinstance(status, int):
            code = error.get("code") if isinstance(error, dict) else None
            said = (
                self._error_text(orjson.dumps(error))
                if error
                else "a line has neither an answer nor an error"
            )
            if code in ("batch_expired", "batch_cancelled"):
                return CallError(str(code).removeprefix("batch_"), f"no answer: {said}")
            return CallError(
                "server" if error else "bad_reply", said, retryable=True, maybe_billed=not error
            )
        body = orjson.dumps(response.get("body"))
        if status == 200:
            try:
                reply = self._reply(body, {}, Spend(calls=1))
            except CallError as failure:
                return failure
            self._accepted |= {"batch"}
            return reply
        said = self._error_text(body)
        if status in (400, 422) and "content_filter" in said:
            return ChatReply("", "content_filter", self.name, Spend(1))
        if (
            not self._accepted
        ):  # what it has accepted before it does not refuse now: that is an echo of some row
            if (changed := without_refused(self._dialect, FULL, status, said)) is not None:
                self._dialect = changed
            if (
                self._dialect != Dialect()
                and without_refused(Dialect(), FULL, status, said) is not None
            ):
                return CallError("server", said, retryable=True, status=status)
        return self._failure(status, {}, said)

    def _taken(self, sent: _Sent, key: str, answer: ChatReply) -> ChatReply:
        if key in sent.taken:
            return replace(answer, spend=FREE)
        sent.taken.add(key)
        return answer

    # -- requests

    async def _insist(self, ask: Callable[[], Awaitable[T]], doing: str) -> T:
        """Until it works, or cannot: a provider that is away for an hour costs a batch nothing."""
        tries, pause = 0, 0.5
        try:
            while True:
                try:
                    return await ask()
                except CallError as error:
                    tries += 1
                    if not error.retryable or (
                        not self._heard and error.kind == "network" and tries == 5
                    ):
                        raise
                    pause = (
                        min(2 * pause, MOST_BETWEEN)
                        if error.retry_after is None
                        else error.retry_after
                    )
                    self._waiting_for = f"{doing} failed ({error.message}); again in {pause:.0f} s"
                await asyncio.sleep(pause)
        finally:
            self._waiting_for = ""

    async def _ask(
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
                method, url, data=data, headers=headers, allow_redirects=False, timeout=LONG_TIMEOUT
            ) as response:
                self._heard = True
                status, raw = response.status, await read_body(response, MAX_BODY)
                if status not in (200, 201):
                    if status in (404, 405, 501) and method == "POST":
                        what = f"{self._host} has no batch API (it answered {status} at {url.path})"
                        raise CallError("batch", what, fatal=True, status=status)
                    raise self._failure(status, response.headers, self._error_text(raw))
            found = parse_json(raw)
            if not isinstance(found, dict):
                raise self._bad_reply("the reply is not a JSON object")
            return found
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
    lines, half = data.splitlines(keepends=True), len(keys) // 2
    return (keys[:half], b"".join(lines[:half])), (keys[half:], b"".join(lines[half:]))


def _fault(entry: Mapping[str, Any]) -> str:
    """One reason why a batch was refused, in the provider's words."""
    words: list[str] = []
    for name in ("code", "message", "param"):
        value = entry.get(name)
        if isinstance(value, str | int):
            words.append(str(value))
    line = f" (line {entry['line']})" if isinstance(entry.get("line"), int) else ""
    return " ".join(words) + line


def _mark(theirs: Mapping[str, Any]) -> object:
    """The label that we gave a batch."""
    labels = theirs.get("metadata")
    return labels.get(MARK) if isinstance(labels, dict) else None


def _name(theirs: Mapping[str, Any]) -> str:
    """The provider's id of a file or batch."""
    name = theirs.get("id")
    if not isinstance(name, str) or not name or len(name) > 200:
        raise CallError(
            "batch",
            "the server answered without an id: it has no batch API that we know",
            fatal=True,
        )
    return name
