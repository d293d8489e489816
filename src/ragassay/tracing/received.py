"""Rows of received traces as a source to evaluate: `traces:last-24h`.

The rows of a period are written to a file beside the store, named by their content, and that file
is evaluated: a run can then be resumed, and what it measured does not change under it when late
spans come.
"""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ragassay.core import NothingToDo, SetupError
from ragassay.datasets.spans.rows import Assembly, TurnRow
from ragassay.datasets.spans.span import sorted_bytes
from ragassay.store import Store

PREFIX = "traces:"
_PERIOD = re.compile(r"last-(\d{1,6})(m|h|d)")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
ALL = "all"


class Snapshot(NamedTuple):
    """The rows of a period. path: the file that holds them. lines: what is said of them."""

    path: Path
    lines: list[str]


def packed(row: TurnRow) -> bytes:
    """A row as it is stored: itself, where its fields were read, what is missing, each retrieval
    with its query and its error, and what the turn failed with although it has a response. The
    same row gives the same bytes.
    """
    retrievals: list[dict[str, Any]] = []
    for each in row.turn.retrievals:
        documents = None if each.documents is None else len(each.documents)
        failed = {} if each.error is None else {"error": each.error}
        retrievals.append({"query": each.query, "documents": documents, **failed})
    stored: dict[str, Any] = {
        "row": row.row,
        "sources": row.turn.sources,
        "missing": row.turn.missing,
        "scope": row.turn.scope,
        "retrievals": retrievals,
    }
    if row.turn.failed is not None:
        stored["failed"] = row.turn.failed
    return sorted_bytes(stored)


def is_received(rows: str) -> bool:
    """Whether this argument names received traces."""
    return rows.startswith(PREFIX)


def snapshot(store: Store, rows: str, now: float | None = None) -> Snapshot:
    """Write the rows of a period beside the store. rows: "traces:last-24h", "traces:last-7d",
    "traces:all".

    Raises SetupError E0101 for another period, NothingToDo E0309 where there are no rows, DataError
    E0319 where the spans hold no questions and no responses.
    """
    moment = time.time() if now is None else now
    since = _beginning(rows, moment)
    assembly = Assembly()
    lines: list[bytes] = []
    until = int(moment * 1000) + 1
    assembly.without_turn = store.span_records.without_rows(since, until)
    for stored in store.span_records.rows(since, until):
        said = orjson.loads(stored.payload)
        assembly.note(said["sources"], said["missing"], said["scope"])
        lines.append(orjson.dumps(said["row"]))
    if not lines:
        raise _nothing(store, rows)
    assembly.check(rows)
    content = b"\n".join(lines) + b"\n"
    name = hashlib.blake2b(content, digest_size=6).hexdigest()
    path = store.beside(f"traces-{name}.jsonl")
    if not path.exists():
        _write(path, content)
    return Snapshot(path, [f"wrote the rows to {path}", *assembly.lines_on_rows()])


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, readable by its owner only: it holds what users said."""
    unfinished = path.with_suffix(".part")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _beginning(rows: str, now: float) -> int:
    """When the period begins, in milliseconds since 1970."""
    period = rows.removeprefix(PREFIX)
    if period == ALL:
        return 0
    match = _PERIOD.fullmatch(period)
    if match is None:
        raise SetupError(
            "E0101",
            f"No period {period[:40]!r} of traces.",
            where=rows[:60],
            fix="traces:last-24h, traces:last-30m, traces:last-7d or traces:all",
        )
    return int((now - int(match[1]) * _SECONDS[match[2]]) * 1000)


def _nothing(store: Store, rows: str) -> NothingToDo:
    counts = store.span_records.counts()
    waiting, _ = store.span_records.waiting()
    fix = "ragassay receive, and send spans to it"
    if waiting:
        fix = "wait until the traces were quiet for 30 seconds, while ragassay receive runs"
    return NothingToDo(
        "E0309",
        f"There are no rows of received traces in {rows}.",
        where=store.location,
        why=f"{counts['spans']} spans are stored, {waiting} traces wait to be put together",
        fix=fix,
    )
