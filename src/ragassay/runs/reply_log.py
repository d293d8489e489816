"""The log of a run's calls and replies, written as they happen, for the case of a kill.

A reply costs money the moment it arrives, but it counts only once a judgment made of it is
committed. The log closes the gap: a record before a call is sent, another when its reply arrives,
before anything is made of it. A resume hands out the replies by the content of their call, and
knows to the cent what was spent; after a power cut the store's own ledger counts. The files stand
beside the store, hold a few megabytes, and those of the parts that a run over several processes did
not come to the end of, and are removed when the run has finished.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from ragassay.core import ChatReply, EnvironmentFailure, Ledger, Spend, memory_failure
from ragassay.dispatch import Account
from ragassay.runs.segments import Segment, records

SEGMENT_BYTES = 8 << 20
"""Size from which a segment is followed by another one."""

KEEP_SECONDS = 60.0
"""How long a full segment stays at least: by then, judgments were made of its replies and
committed.
"""

Replies = dict[str, deque[ChatReply]]
"""Replies by the key of their call, each to be handed out once."""

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
        self._account = Account()
        self._counts = True  # whether what is spent is counted here
        self._open: dict[int, Decimal | None] = {}  # worst cases of calls in flight, by ticket
        self._tickets = 0
        self._next = 0  # number of the next segment
        self._segment: Segment | None = None
        self.replies: Replies = {}
        self._lent: Replies = {}
        self._has_replies = False
        self._kept_paths: set[Path] = set()  # segments with replies that may be asked for late
        self.owner = ""
        self.ledger = self._recover()

    # -- what was there

    def _recover(self) -> Ledger | None:
        """Read all segments: replies count from each, what was spent from the newest, which begins
        with the sum of all before it.
        """
        ledger: Ledger | None = None
        for path in self._paths():
            self._next = int(path.suffix[1:]) + 1
            ledger = self._recover_segment(path)
        return ledger

    def _recover_segment(self, path: Path) -> Ledger | None:
        """Take the replies of a segment; what was spent by its end, None where it does not say."""
        account: Account | None = None
        counts = True
        waiting: dict[int, Decimal | None] = {}
        for kind, body in records(path):
            if kind == "start":
                # What a mapped file held when the machine went down may be on the disk in part.
                if body["boot"] != boot_id():
                    break
                account = Account(ledger_from_json(body["ledger"]))
                counts = body.get("counts", True)
                self.owner = body.get("owner", "")
                waiting = {int(ticket): _decimal(worst) for ticket, worst in body["open"].items()}
            elif account is None:  # it does not begin as a segment does
                break
            elif kind == "sent":
                waiting[body["ticket"]] = _decimal(body["worst"])
            elif kind == "arrived":
                reply = self._recover_reply(body)
                account.add_answer(reply.spend, waiting.pop(body["ticket"], None))
            elif kind == "kept":
                self._recover_reply(body)
                self._kept_paths.add(path)
            elif kind == "failed":
                worst = waiting.pop(body["ticket"], None)
                if body["billed"]:
                    account.add_lost_call(worst)
            else:  # damaged: what comes behind it is lost, and so is the sum
                return None
        if account is None or not counts:
            return None
        for worst in waiting.values():
            account.add_lost_call(worst)
        return account.ledger()

    def _recover_reply(self, body: dict[str, Any]) -> ChatReply:
        reply = ChatReply(body["text"], body["finish"], body["model"], Spend(*body["spend"]))
        self.replies.setdefault(body["key"], deque()).append(reply)
        self._has_replies = True
        return reply

    def borrow(self, replies: Replies) -> None:
        """Return the replies of another log as well. `take` removes them from the argument."""
        self._lent = replies

    def take(self, key: str) -> ChatReply | None:
        """The next reply that had arrived for this call, each once."""
        replies = self.replies.get(key) or self._lent.get(key)
        return replies.popleft() if replies else None

    def forget(self) -> None:
        """Drop all replies of before, on the disk too: what failed then is to be asked again, also
        after another kill. What had been spent must be stored elsewhere. Raises EnvironmentFailure.
        """
        self.replies.clear()
        self._lent = {}
        self._has_replies = False
        self._kept_paths = set()
        current = None if self._segment is None else self._segment.path
        try:
            for path in self._paths():
                if path != current:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(error, self.prefix.parent) from error

    # -- what is added

    def begin(self, base: Ledger | None, *, owner: str = "", anew: bool = False) -> None:
        """Go on from this ledger; None: what is spent is counted elsewhere. anew: replace what the
        log says was spent at once; else nothing is written before the first call is sent. Raises
        EnvironmentFailure when that cannot be written.
        """
        self._account = Account(base)
        self._counts = base is not None
        self.owner = owner
        if anew:
            try:
                self._begin_segment()
            except OSError as error:
                raise cannot_write(error, self.prefix.parent) from error

    def sent(self, worst: Decimal | None) -> int:
        """A call is about to be sent; its ticket. Raises EnvironmentFailure when that cannot be
        written: then it must not be sent.
        """
        try:
            if self._segment is None or self._segment.size > SEGMENT_BYTES:
                self._begin_segment()
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
        self._account.add_answer(reply.spend, self._open.pop(ticket))
        self._has_replies = True
        with suppress(OSError, TypeError):  # no encoder takes a lone surrogate
            self._write({"is": "arrived", "ticket": ticket, **_record(key, reply)})

    def keep(self, replies: Replies) -> None:
        """Add the replies of another log, but for those that are here already, as after a recovery
        that was broken off. Raises EnvironmentFailure.
        """
        for key, others in replies.items():
            own = self.replies.setdefault(key, deque())
            for reply in [other for other in others if other not in own]:
                try:
                    if self._segment is None:
                        self._begin_segment()
                    self._write({"is": "kept", **_record(key, reply)})
                except OSError as error:
                    raise cannot_write(error, self.prefix.parent) from error
                own.append(reply)
                self._has_replies = True
                self._kept_paths.add(self._path(self._next - 1))

    def failed(self, ticket: int, maybe_billed: bool) -> None:
        """A call ended without a reply."""
        worst = self._open.pop(ticket)
        if maybe_billed:
            self._account.add_lost_call(worst)
        with suppress(OSError):
            self._write({"is": "failed", "ticket": ticket, "billed": maybe_billed})

    @property
    def holds_no_reply(self) -> bool:
        """Whether no reply has arrived, in this part of the run or before: there is nothing that a
        resume could take from here.
        """
        return not self._has_replies

    def close(self, *, finished: bool) -> None:
        """Close the file, and remove all files of a run that has finished."""
        if self._segment is not None:
            self._segment.truncate()  # the space that was claimed for further records
        self._close_segment()
        if finished:
            for path in self._paths():
                path.unlink(missing_ok=True)

    def _begin_segment(self) -> None:
        """Begin a segment, which repeats what still counts; drop those whose replies have long
        become judgments.
        """
        self._close_segment()
        old = self._paths()
        path = self._path(self._next)
        self._segment = Segment(path)
        self._next += 1
        start = {
            "boot": boot_id(),
            "owner": self.owner,
            "ledger": asdict(self._account.ledger()),
            "counts": self._counts,
            "open": {str(ticket): _plain(worst) for ticket, worst in self._open.items()},
        }
        try:
            self._write({"is": "start", **start})
        except OSError:
            self._close_segment()
            path.unlink(missing_ok=True)
            raise
        # The segment that was closed just now stays: its last replies may not be judged yet.
        for before in old[:-1]:
            if before not in self._kept_paths and _age(before) > KEEP_SECONDS:
                before.unlink(missing_ok=True)

    def _write(self, record: dict[str, Any]) -> None:
        if self._segment is not None:
            self._segment.write(record)

    def _close_segment(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _path(self, number: int) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.{number:06}")

    def _paths(self) -> list[Path]:
        """The segments that are there, the oldest first."""
        start = self.prefix.name + "."
        with suppress(OSError):
            files = [p for p in self.prefix.parent.iterdir() if p.name.startswith(start)]
            return sorted(p for p in files if p.suffix[1:].isdecimal())
        return []


def cannot_write(error: OSError, folder: Path) -> EnvironmentFailure:
    """What a user can do about a folder that does not take a file."""
    out_of_memory = memory_failure(error)
    if out_of_memory is not None:
        return out_of_memory
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


def boot_id() -> str:
    """Which start of the machine this is, where the kernel says."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _record(key: str, reply: ChatReply) -> dict[str, Any]:
    spend = reply.spend
    numbers = (
        spend.calls,
        spend.input_tokens,
        spend.output_tokens,
        spend.cached_tokens,
        spend.cost,
        spend.seconds,
        spend.reasoning_tokens,
    )
    return {
        "key": key,
        "text": reply.text,
        "finish": reply.finish,
        "model": reply.model,
        "spend": numbers,
    }


def ledger_from_json(plain: dict[str, Any]) -> Ledger:
    """The ledger that was written as `asdict` gives it."""
    return Ledger(**{**plain, "confirmed": Spend(**plain["confirmed"])})


def _plain(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
