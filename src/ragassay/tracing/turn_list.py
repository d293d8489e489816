"""Turns that were put together of received traces, as they are listed and looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ragassay.datasets.names import TEXT_KEYS
from ragassay.datasets.spans.missing import remedy
from ragassay.store.spans import SpanRecords, TraceRow


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn of a received trace. id: of its row. sources: field -> the attribute or span that it
    was read from. missing: field -> what to set so that it is recorded. received: when the trace's
    last span came, in milliseconds since 1970, 0 where not asked for.
    """

    id: str
    trace: str
    number: int
    row: Mapping[str, Any]
    sources: Mapping[str, str]
    missing: Mapping[str, str]
    scope: str
    received: int = 0

    @property
    def contexts(self) -> int | None:
        """How many contexts it has, None where that is not known."""
        contexts = self.row.get("contexts")
        return len(contexts) if isinstance(contexts, list) else None

    def context_texts(self, most: int) -> list[str]:
        """The texts of the first contexts."""
        contexts = self.row.get("contexts")
        return [_context_text(each) for each in contexts[:most]] if contexts else []


def newest_turns(
    records: SpanRecords, limit: int, before: tuple[int, bytes, int] | None = None
) -> list[StoredTurn]:
    """The last turns, newest first; before: as `SpanRecords.newest_rows`."""
    found = records.newest_rows(limit, before)
    return [_turn(TraceRow(row.trace, row.number, row.payload), row.received) for row in found]


def turns_of_trace(records: SpanRecords, trace: bytes) -> list[StoredTurn]:
    """The turns of one trace, in order."""
    return [_turn(row) for row in records.rows_of_trace(trace)]


def trace_of_row(row_id: str) -> bytes | None:
    """The id of the trace that a row's id names, None for other ids. A trace's later turns have
    "-2", "-3" ... behind it.
    """
    name, dash, number = row_id.partition("-")
    if dash and not (number.isascii() and number.isdigit()):
        return None
    if len(name) != 32 or not name.isascii():
        return None
    try:
        return bytes.fromhex(name)
    except ValueError:
        return None


def _context_text(context: object) -> str:
    """The text of a context as it was recorded, a text or an object that has one."""
    if isinstance(context, Mapping):
        for name in TEXT_KEYS:
            if isinstance(context.get(name), str):
                return str(context[name])
    return str(context)


def _turn(stored: TraceRow, received: int = 0) -> StoredTurn:
    said = orjson.loads(stored.payload)
    row, trace, scope = said["row"], stored.trace.hex(), str(said["scope"])
    return StoredTurn(
        id=str(row.get("id") or trace),
        trace=trace,
        number=stored.number,
        row=row,
        sources=said["sources"],
        missing={name: remedy(reason, scope) for name, reason in said["missing"].items()},
        scope=scope,
        received=received,
    )
