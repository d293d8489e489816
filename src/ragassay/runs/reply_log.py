"""The log of a run's calls and replies, written as they happen, for the case of a kill.

A reply costs money the moment it arrives, but it counts only once a judgment made of it is
committed. The log closes the gap: a record before a call is sent, another when its reply arrives,
before anything is made of it. A resume hands out the replies by the content of their call, and
knows to the cent what was spent; only what the calls have cost that were in flight it estimates,
from those that were answered. After a power cut the store's own ledger counts. The files stand
beside the store, hold a few megabytes, and those of the parts that a run over several processes did
not come to the end of, and are removed when the run has finished.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import ChatReply, EnvironmentFailure, Ledger, Spend, memory_failure
from ragassay.dispatch import Account, CallCosts, CallSize, Rate
from ragassay.runs.segments import Segment, records

SEGMENT_BYTES = 8 << 20
"""Size from which a segment is followed by another one."""

KEEP_SECONDS = 60.0
"""How long a full segment stays at least: by then, judgments were made of its replies and
committed.
"""


class LoggedReply(NamedTuple):
    """A reply that had arrived. most: what it counts as in the ledger where it has no bill, in US
    dollars; None where that is not known.
    """

    reply: ChatReply
    most: Decimal | None = None


Replies = dict[str, deque[LoggedReply]]
"""Replies by the key of their call, each to be handed out once."""


class _OpenCall(NamedTuple):
    """A call in flight. worst: its worst case in US dollars; size: None in a log of an older
    version.
    """

    worst: Decimal | None
    size: CallSize | None = None

    @classmethod
    def read(cls, plain: Any) -> _OpenCall:
        if not isinstance(plain, dict):  # of an older version: the worst case alone
            return cls(_decimal(plain))
        size = plain.get("size")
        return cls(_decimal(plain["worst"]), None if size is None else CallSize(*size))

    def plain(self) -> dict[str, Any]:
        # As a plain tuple: the encoder takes no class of its own.
        return {"worst": _plain(self.worst), "size": self.size and tuple(self.size)}


BOOT = Path("/proc/sys/kernel/random/boot_id")


class ReplyLog:
    """The log of one run: what an earlier part of the run left in it, and what this part adds.

    prefix: path that its files' names begin with. May be written only by the process that holds the
    run. `ledger` is what the earlier part had spent, its open calls as cut off; None when there is
    none, when that is kept elsewhere, or when the machine was started anew since; `owner` is who
    wrote it. `replies` are those that had arrived, and are handed out. `costs` is what calls took.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self._account = Account()
        self._counts = True  # whether what is spent is counted here
        self._open: dict[int, _OpenCall] = {}  # by ticket
        self._tickets = 0
        self._next = 0  # number of the next segment
        self._segment: Segment | None = None
        self.replies: Replies = {}
        self._lent: Replies = {}
        self._has_replies = False
        self._kept_paths: set[Path] = set()  # segments with replies that may be asked for late
        self.owner = ""
        self.costs = CallCosts()
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
        waiting: dict[int, _OpenCall] = {}
        for kind, body in records(path):
            if kind == "start":
                # What a mapped file held when the machine went down may be on the disk in part.
                if body["boot"] != boot_id():
                    break
                account = Account(ledger_from_json(body["ledger"]))
                counts = body.get("counts", True)
                self.owner = body.get("owner", "")
                waiting = {int(ticket): _OpenCall.read(v) for ticket, v in body["open"].items()}
                if body.get("rate"):
                    self.costs.rate = Rate(*body["rate"])
            elif account is None:  # it does not begin as a segment does
                break
            elif kind == "sent":
                waiting[body["ticket"]] = _OpenCall.read(body)
            elif kind == "arrived":
                call = waiting.pop(body["ticket"], _OpenCall(None))
                self._recover_answer(body, call, account)
            elif kind == "kept":
                self._recover_reply(body, None)
                self._kept_paths.add(path)
            elif kind == "failed":
                call = waiting.pop(body["ticket"], _OpenCall(None))
                self._count_failed(account, call, body["billed"], body.get("status"))
            else:  # damaged: what comes behind it is lost, and so is the sum
                return None
        if account is None or not counts:
            return None
        self._add_cut_off(waiting.values(), account)
        return account.ledger()

    def _recover_answer(self, body: dict[str, Any], call: _OpenCall, account: Account) -> None:
        logged = self._recover_reply(body, call.worst)
        account.add_answer(logged.reply.spend, logged.most)
        if call.size is not None:
            self.costs.add(call.size, logged.reply.spend)
            self.costs.note_reply(call.size.model, call.size.limit, logged.reply.spend)

    def _recover_reply(self, body: dict[str, Any], worst: Decimal | None) -> LoggedReply:
        """Take a reply in. worst: what it counts as in a log of an older version."""
        reply = ChatReply(body["text"], body["finish"], body["model"], Spend(*body["spend"]))
        logged = LoggedReply(reply, _decimal(body["most"]) if "most" in body else worst)
        self.replies.setdefault(body["key"], deque()).append(logged)
        self._has_replies = True
        return logged

    def _add_cut_off(self, calls: Collection[_OpenCall], account: Account) -> None:
        """Count calls that were in flight to the end: by what such calls took, never by more than
        their worst case.
        """
        sizes = [call.size for call in calls if call.size is not None]
        estimate = self.costs.estimate(sizes)
        if estimate is None or len(sizes) < len(calls):
            for call in calls:
                account.add_lost_call(call.worst)
        elif calls:
            worst = sum((call.worst or Decimal(0) for call in calls), Decimal(0))
            account.add_cut_off(len(calls), min(worst, estimate))

    def borrow(self, replies: Replies) -> None:
        """Return the replies of another log as well. `take` removes them from the argument."""
        self._lent = replies

    def take(self, key: str) -> LoggedReply | None:
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

    def begin(
        self,
        base: Ledger | None,
        *,
        owner: str = "",
        anew: bool = False,
        rate: Rate | None = None,
    ) -> None:
        """Go on from this ledger; None: what is spent is counted elsewhere. anew: replace what the
        log says was spent at once; else nothing is written before the first call is sent. rate: of
        the model, from which a recovery estimates. Raises EnvironmentFailure when that cannot be
        written.
        """
        self.costs.rate = rate
        self._account = Account(base)
        self._counts = base is not None
        self.owner = owner
        if anew:
            try:
                self._begin_segment()
            except OSError as error:
                raise cannot_write(error, self.prefix.parent) from error

    def sent(self, worst: Decimal | None, size: CallSize | None = None) -> int:
        """A call is about to be sent; its ticket. Raises EnvironmentFailure when that cannot be
        written: then it must not be sent.
        """
        call = _OpenCall(worst, size)
        try:
            if self._segment is None or self._segment.size > SEGMENT_BYTES:
                self._begin_segment()
            self._tickets += 1
            self._write({"is": "sent", "ticket": self._tickets, **call.plain()})
        except OSError as error:
            raise cannot_write(error, self.prefix.parent) from error
        self._open[self._tickets] = call
        return self._tickets

    def arrived(self, ticket: int, key: str, reply: ChatReply, most: Decimal | None = None) -> None:
        """The reply to a call. most: what it counts as where it has no bill; None = its worst case.
        A log that cannot be written keeps no reply from being used: the next call stops the run.
        """
        call = self._open.pop(ticket)
        if most is None and reply.spend.cost is None:
            most = call.worst
        self._account.add_answer(reply.spend, most)
        if call.size is not None:
            self.costs.add(call.size, reply.spend)
        self._has_replies = True
        with suppress(OSError, TypeError):  # no encoder takes a lone surrogate
            record = _record(key, LoggedReply(reply, most))
            self._write({"is": "arrived", "ticket": ticket, **record})

    def keep(self, replies: Replies) -> None:
        """Add the replies of another log, but for those that are here already, as after a recovery
        that was broken off. Raises EnvironmentFailure.
        """
        for key, others in replies.items():
            own = self.replies.setdefault(key, deque())
            for logged in [other for other in others if other not in own]:
                try:
                    if self._segment is None:
                        self._begin_segment()
                    self._write({"is": "kept", **_record(key, logged)})
                except OSError as error:
                    raise cannot_write(error, self.prefix.parent) from error
                own.append(logged)
                self._has_replies = True
                self._kept_paths.add(self._path(self._next - 1))

    def failed(self, ticket: int, maybe_billed: bool, status: int | None = None) -> None:
        """A call ended without a reply. status: what the server answered, if it did."""
        call = self._open.pop(ticket)
        self._count_failed(self._account, call, maybe_billed, status)
        with suppress(OSError):
            record = {"ticket": ticket, "billed": maybe_billed, "status": status}
            self._write({"is": "failed", **record})

    def _count_failed(
        self, account: Account, call: _OpenCall, maybe_billed: bool, status: int | None
    ) -> None:
        """Count a call without a reply, as the run's budget does."""
        if not maybe_billed:
            account.refused_calls += status is not None
            return
        held = call.worst
        if status is not None and status >= 500 and call.size is not None and held is not None:
            held = self.costs.at_most(call.size, held)
        account.add_lost_call(held)

    @property
    def holds_no_reply(self) -> bool:
        """Whether no reply has arrived, in this part of the run or before: there is nothing that a
        resume could take from here.
        """
        return not self._has_replies

    def replies_are_used(self) -> None:
        """What was made of all replies so far is stored: a resume would take none of them."""
        self._has_replies = False

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
            "rate": self.costs.rate and tuple(self.costs.rate),
            "open": {str(ticket): call.plain() for ticket, call in self._open.items()},
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


def _record(key: str, logged: LoggedReply) -> dict[str, Any]:
    reply, spend = logged.reply, logged.reply.spend
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
        "most": _plain(logged.most),
    }


def ledger_from_json(plain: dict[str, Any]) -> Ledger:
    """The ledger that was written as `asdict` gives it."""
    spends = {name: Spend(**plain.get(name, {})) for name in ("confirmed", "preflight")}
    return Ledger(**{**plain, **spends})


def _plain(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
