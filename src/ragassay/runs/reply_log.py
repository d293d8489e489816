"""What had a run sent, and what had come back, when it was killed? A log of calls, written as they
happen.

A reply costs money the moment it arrives, but it counts only once a judgment made of it is
committed. The log closes the gap: a record before a call is sent, another when its reply arrives,
before anything is made of it. They are put into a file that is mapped into memory, which costs no
call of the system: what stands there outlives a process that is killed, though not a power cut;
after one, the store's own ledger counts. A resume hands out the replies by the content of their
call, and knows to the cent what was spent. The files stand beside the store, hold a few megabytes,
and those of the parts that a run over several processes did not come to the end of, and are gone
when the run has finished.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import time
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from ragassay.core import (
    Call,
    CallError,
    ChatCall,
    ChatReply,
    EnvironmentFailure,
    Ledger,
    Reply,
    Spend,
    memory_failure,
)
from ragassay.dispatch import Account, LocalBudget, PriceOf, schema_text, worst_case
from ragassay.models import NOT_SENT, Model

SEGMENT_BYTES = 8 << 20
KEEP_SECONDS = 60.0
"""How long a full segment stays at least: by then, judgments were made of its replies and
committed.
"""

CHUNK_BYTES = 1 << 20
"""By so much a segment grows; its blocks are claimed first, for a mapped file must not meet a full
disk.
"""

Replies = dict[str, deque[ChatReply]]
"""Replies by the key of their call, each to be handed out once."""

HEAD = struct.Struct("<II")  # length of the body, CRC-32 of the body
BOOT = Path("/proc/sys/kernel/random/boot_id")


class ReplyLog:
    """The log of one run: what an earlier part of the run left in it, and what this part adds.

    prefix: path that its files' names begin with. May be written only by the process that holds the
    run. `ledger` is what the earlier part had spent, its open calls as uncertain; None when there
    is none, when that is kept elsewhere, or when the machine was started anew since; `owner` is who
    wrote it. `replies` are those that had arrived, and are handed out.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self._account, self._counts = Account(), True
        self._open: dict[int, Decimal | None] = {}
        self._next = self._size = self._tickets = 0
        self._file: int | None = None
        self._map: mmap.mmap | None = None
        self.replies: Replies = {}
        self._lent: Replies = {}
        self._holds = False  # a reply
        self._keeping: set[Path] = set()  # segments with replies that may be asked for late
        self.owner = ""
        self.ledger = self._recover()

    # ── what was there
    # ──────────────────────────────────────────────────────────────────────────────────────────

    def _recover(self) -> Ledger | None:
        ledger: Ledger | None = None
        for path in self._segments():
            self._next = int(path.suffix[1:]) + 1
            account: Account | None = None
            counts = True
            waiting: dict[int, Decimal | None] = {}
            for kind, body in _records(path):
                if kind == "start":
                    if body["boot"] != boot_id():
                        break
                    account = Account(_ledger(body["ledger"]))
                    counts, self.owner = body.get("counts", True), body.get("owner", "")
                    waiting = {
                        int(ticket): _decimal(worst) for ticket, worst in body["open"].items()
                    }
                elif account is None:
                    break
                elif kind == "sent":
                    waiting[body["ticket"]] = _decimal(body["worst"])
                elif kind == "arrived":
                    account.answered(self._recovered(body).spend, waiting.pop(body["ticket"], None))
                elif kind == "kept":
                    self._recovered(body)
                    self._keeping.add(path)
                elif kind == "failed":
                    worst = waiting.pop(body["ticket"], None)
                    if body["billed"]:
                        account.lost(worst)
                else:  # damaged: what comes behind it is lost, and so is the sum
                    account = None
                    break
            ledger = None
            if (
                account is not None and counts
            ):  # the newest segment begins with what all before it came to
                for worst in waiting.values():
                    account.lost(worst)
                ledger = account.ledger()
        return ledger

    def _recovered(self, body: dict[str, Any]) -> ChatReply:
        reply = ChatReply(body["text"], body["finish"], body["model"], Spend(*body["spend"]))
        self.replies.setdefault(body["key"], deque()).append(reply)
        self._holds = True
        return reply

    def borrow(self, replies: Replies) -> None:
        """Hand these out too, which another log holds. They are taken out of what is given."""
        self._lent = replies

    def take(self, key: str) -> ChatReply | None:
        """The next reply that had arrived for this call, each once."""
        replies = self.replies.get(key) or self._lent.get(key)
        return replies.popleft() if replies else None

    def forget(self) -> None:
        """Hand out no reply of before, nor after another kill: what was lost then is to be asked
        anew. What had been spent must be stored elsewhere. Raises EnvironmentFailure.
        """
        self.replies.clear()
        self._lent, self._holds, self._keeping = {}, False, set()
        try:
            for path in self._segments():
                if self._file is None or path != self._path(self._next - 1):
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(error, self.prefix.parent) from error

    # ── what is added
    # ───────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, base: Ledger | None, *, owner: str = "", anew: bool = False) -> None:
        """Go on from this ledger; None: what is spent is counted elsewhere. Nothing is written
        before the first call is sent, but for anew: then what the log says was spent is replaced at
        once. Raises EnvironmentFailure when that cannot be written.
        """
        self._account, self._counts, self.owner = Account(base), base is not None, owner
        if anew:
            try:
                self._turn()
            except OSError as error:
                raise cannot_write(error, self.prefix.parent) from error

    def sent(self, worst: Decimal | None) -> int:
        """A call is about to be sent; its ticket. Raises EnvironmentFailure when that cannot be
        written: then it must not be sent.
        """
        try:
            if self._file is None or self._size > SEGMENT_BYTES:
                self._turn()
            self._tickets += 1
            self._write({"is": "sent", "ticket": self._tickets, "worst": _plain(worst)})
        except OSError as error:
            raise cannot_write(error, self.prefix.parent) from error
        self._open[self._tickets] = worst
        return self._tickets

    def arrived(self, ticket: int, key: str, reply: ChatReply) -> None:
        """The reply to a call. A log that cannot be written keeps no reply from being used: the
        next call stops the run.
        """
        self._account.answered(reply.spend, self._open.pop(ticket))
        self._holds = True
        with suppress(OSError, TypeError):  # no encoder takes a lone surrogate
            self._write({"is": "arrived", "ticket": ticket, **_record(key, reply)})

    def keep(self, replies: Replies) -> None:
        """Hold replies of another log, to be handed out from here, but for those that are held
        already. Raises EnvironmentFailure.
        """
        for key, known in replies.items():
            held = self.replies.setdefault(key, deque())
            for reply in [one for one in known if one not in held]:
                try:
                    if self._file is None:
                        self._turn()
                    self._write({"is": "kept", **_record(key, reply)})
                except OSError as error:
                    raise cannot_write(error, self.prefix.parent) from error
                held.append(reply)
                self._holds = True
                self._keeping.add(self._path(self._next - 1))

    def failed(self, ticket: int, maybe_billed: bool) -> None:
        """A call ended without a reply."""
        worst = self._open.pop(ticket)
        if maybe_billed:
            self._account.lost(worst)
        with suppress(OSError):
            self._write({"is": "failed", "ticket": ticket, "billed": maybe_billed})

    @property
    def holds_no_reply(self) -> bool:
        """No reply has arrived, in this part of the run or before: there is nothing that a resume
        could take from here.
        """
        return not self._holds

    def close(self, *, finished: bool) -> None:
        """Let go of the file; remove all of the run's when it has finished; an orderly stop keeps
        only what is written.
        """
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
        self._let_go()
        for path in self._segments() if finished else ():
            path.unlink(missing_ok=True)

    def _turn(self) -> None:
        """Begin a segment, which repeats what still counts; drop those whose replies have long
        become judgments.
        """
        self._let_go()
        old = self._segments()
        path = self._path(self._next)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._next += 1
        self._size = 0
        waiting = {str(ticket): _plain(worst) for ticket, worst in self._open.items()}
        try:
            ledger = asdict(self._account.ledger())
            start = {
                "boot": boot_id(),
                "owner": self.owner,
                "ledger": ledger,
                "counts": self._counts,
                "open": waiting,
            }
            self._write({"is": "start", **start})
        except OSError:
            self._let_go()
            path.unlink(missing_ok=True)
            raise
        for before in old[:-1]:
            if before not in self._keeping and time.time() - before.stat().st_mtime > KEEP_SECONDS:
                before.unlink(missing_ok=True)

    def _write(self, record: dict[str, Any]) -> None:
        if self._file is None:
            return
        body = orjson.dumps(record)
        start = self._size + HEAD.size
        end = start + len(body)
        if self._map is None or end + HEAD.size > len(self._map):
            self._grow(end + HEAD.size)
        assert self._map is not None
        self._map[start:end] = body
        # Last, so that a kill in between leaves the zeros of no record here.
        self._map[self._size : start] = HEAD.pack(len(body), zlib.crc32(body))
        self._size = end

    def _grow(self, least: int) -> None:
        """Make room for `least` bytes in all. Raises OSError on a full disk, with what is written
        untouched.
        """
        assert self._file is not None
        have, want = len(self._map or b""), -(-least // CHUNK_BYTES) * CHUNK_BYTES
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file, have, want - have)
            elif os.pwrite(self._file, bytes(want - have), have) != want - have:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except (
            OSError
        ) as error:  # what is free is looked for now: a file that cannot begin goes away again
            with suppress(OSError):
                free = shutil.disk_usage(self.prefix.parent).free
                error.strerror = (
                    f"{error.strerror}: {want - have:,} bytes were asked for, {free:,} bytes free"
                )
            raise
        if self._map is not None:
            self._map.close()
            self._map = None
        self._map = mmap.mmap(self._file, want)

    def _let_go(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _path(self, number: int) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.{number:06}")

    def _segments(self) -> list[Path]:
        """The files that are there, the oldest first."""
        start = self.prefix.name + "."
        with suppress(OSError):
            found = [
                p
                for p in self.prefix.parent.iterdir()
                if p.name.startswith(start) and p.suffix[1:].isdecimal()
            ]
            return sorted(found)
        return []


def cannot_write(error: OSError, folder: Path) -> EnvironmentFailure:
    """What a user can do about a folder that does not take a file."""
    if (starved := memory_failure(error)) is not None:
        return starved
    where = str(folder)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return EnvironmentFailure(
            "E0506",
            "The disk is full (or a quota or a limit on the size of files is reached).",
            where=where,
            why=str(error),
            fix="free some space: everything stored before is intact",
        )
    return EnvironmentFailure(
        "E0501",
        "The folder of the store cannot be written.",
        where=where,
        why=str(error),
        fix="check that the folder exists and may be written, or name another store with --store",
    )


class LoggedModel:
    """A model whose calls are logged, and whose replies of before a kill are handed out instead of
    being bought again.

    Chat calls only: a model that runs here costs nothing to ask again. Everything else is the
    model's own.
    """

    def __init__(self, model: Model, log: ReplyLog, budget: LocalBudget) -> None:
        self._model, self._log, self._budget = model, log, budget

    @property
    def uri(self) -> str:
        """The model's."""
        return self._model.uri

    @property
    def concurrency(self) -> int | None:
        """The model's."""
        return self._model.concurrency

    def lane(self, call: ChatCall) -> str:
        """The model's."""
        return self._model.lane(call)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """The model's."""
        return self._model.price(input_tokens, output_tokens)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def call(self, call: Call) -> Reply:
        """One attempt, or a reply that had arrived before. Raises as the model, and
        EnvironmentFailure on a full disk.
        """
        if not isinstance(call, ChatCall):
            return await self._model.call(call)
        key = key_of(call)
        if (known := self._log.take(key)) is not None:
            self._budget.withdraw(
                call, known.spend
            )  # the ledger has its receipt; whoever asked settles it again
            return known
        price: PriceOf = self._model.price
        ticket = self._log.sent(worst_case(price, call))
        try:
            reply = await self._model.call(call)
        except CallError as error:
            self._log.failed(ticket, error.maybe_billed)
            raise
        except (
            BaseException
        ) as error:  # out of time or cancelled: where it had left, it may be billed all the same
            self._log.failed(ticket, error.args != (NOT_SENT,))
            raise
        if isinstance(reply, ChatReply):
            self._log.arrived(ticket, key, reply)
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


def key_of(call: ChatCall) -> str:
    """Hash of all that a reply depends on."""
    asked = (
        call.model,
        call.max_tokens,
        call.temperature,
        call.seed,
        call.schema_name,
        [m.role for m in call.messages],
    )
    first, *rest = [message.content for message in call.messages] or [""]
    known = _begun(first).copy()
    for text in (repr(asked), schema_text(call), *rest):
        _update(known, text)
    return known.hexdigest()


@lru_cache(maxsize=64)
def _begun(text: str) -> blake2b:
    """The hash as far as the first message, which is the same for most calls of a run."""
    known = blake2b(digest_size=16)
    _update(known, text)
    return known


def _update(known: blake2b, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    known.update(b"%d:" % len(data))
    known.update(data)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a segment, up to one that a kill has torn; a damaged one is ("damaged", {})
    and the last.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return
    at = 0
    while at + HEAD.size <= len(data):
        size, checksum = HEAD.unpack_from(data, at)
        if not size:
            return
        body = data[at + HEAD.size : at + HEAD.size + size]
        if len(body) != size:
            return
        if zlib.crc32(body) != checksum:
            yield "damaged", {}
            return
        record = orjson.loads(body)
        yield record["is"], record
        at += HEAD.size + size


def _record(key: str, reply: ChatReply) -> dict[str, Any]:
    spend = reply.spend
    numbers = (
        spend.calls,
        spend.input_tokens,
        spend.output_tokens,
        spend.cached_tokens,
        spend.cost,
        spend.seconds,
    )
    return {
        "key": key,
        "text": reply.text,
        "finish": reply.finish,
        "model": reply.model,
        "spend": numbers,
    }


def _ledger(plain: dict[str, Any]) -> Ledger:
    return Ledger(**{**plain, "confirmed": Spend(**plain["confirmed"])})


def _plain(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def boot_id() -> str:
    """Which start of the machine this is, where the kernel says."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""
