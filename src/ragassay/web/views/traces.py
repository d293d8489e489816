"""Received traces: how receiving them goes, the turns that were put together of them, and one trace
as a waterfall of its spans.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ragassay.core import RowResult
from ragassay.report.text import one_line
from ragassay.tracing.turn_list import StoredTurn, newest_turns, trace_of_row, turns_of_trace
from ragassay.tracing.waterfall import Waterfall, waterfall_of
from ragassay.web.messages import Answer, Ask, NotThere, Page, refused
from ragassay.web.site import url
from ragassay.web.views.shell import run_title, stored_run

A_PAGE = 100
RUNS_LOOKED_AT = 30
TURNS_SHOWN = 50
_SNIPPET = 160


class _Line(NamedTuple):
    """A turn as it is listed."""

    turn: StoredTurn
    question: str
    response: str
    received: str
    address: str


def show(ask: Ask) -> Answer:
    """How receiving traces goes, and the last turns."""
    records = ask.site.store.span_records
    turns = newest_turns(records, A_PAGE + 1, _before(ask))
    lines = [_line(turn) for turn in turns[:A_PAGE]]
    more = ""
    if len(turns) > A_PAGE:
        last = turns[A_PAGE - 1]
        more = url("/traces", before=f"{last.received}:{last.trace}:{last.number}")
    values: dict[str, Any] = {
        "lines": lines,
        "more": more,
        "first": not ask.query.get("before"),
        "totals": records.totals(),
        "ingest": ask.site.ingest,
        "address": f"http://{ask.host}",
    }
    ingest = ask.site.ingest
    if ingest is not None:
        values["counts"] = ingest.counters.counts
        values["reasons"] = ingest.counters.reasons
        values["behind"] = ingest.intake.job.behind() if ingest.intake.job is not None else (0, 0.0)
    return Page("traces.html.j2", values)


def trace(ask: Ask) -> Answer:
    """One trace: its waterfall, its turns with where each field was read, the runs they are in."""
    records = ask.site.store.span_records
    name = ask.path["trace"]
    key = trace_of_row(name)
    if key is None or "-" in name:
        raise NotThere(f"There is no trace {name[:40]!r}.")
    found = waterfall_of(records, key)
    turns = turns_of_trace(records, key)[:TURNS_SHOWN]
    if found is None and not turns:
        raise NotThere(f"No spans of the trace {name[:40]!r} are stored; they may be too old.")
    values = {"name": name, "fall": found, "turns": turns, "judged": _judged(ask, turns)}
    return Page("trace.html.j2", values)


def waterfall_of_row(ask: Ask, row: RowResult) -> tuple[str, Waterfall] | None:
    """(address of the trace, its waterfall) of the trace that a row was made of; None for a row of
    anything else.
    """
    key = trace_of_row(row.id)
    if key is None:
        return None
    found = waterfall_of(ask.site.store.span_records, key)
    return None if found is None else (url("/traces/{}", key.hex()), found)


def _judged(ask: Ask, turns: list[StoredTurn]) -> dict[str, list[tuple[str, str, RowResult]]]:
    """Row id -> (run's title, address, row) of the last runs that judged it."""
    store = ask.site.store
    judged: dict[str, list[tuple[str, str, RowResult]]] = {turn.id: [] for turn in turns}
    for listed in store.runs(RUNS_LOOKED_AT, names="used"):
        run = stored_run(ask, listed.run_id)
        for row_id, found in judged.items():
            row = store.row(run.run_id, row_id)
            if row is not None:
                address = url("/runs/{}/rows/{}", run.run_id, row.index)
                found.append((run_title(run), address, row))
    return judged


def _line(turn: StoredTurn) -> _Line:
    moment = datetime.fromtimestamp(turn.received / 1000, UTC)
    return _Line(
        turn,
        one_line(_text(turn.row.get("question")), _SNIPPET),
        one_line(_text(turn.row.get("response") or turn.row.get("error")), _SNIPPET),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        url("/traces/{}", turn.trace),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _before(ask: Ask) -> tuple[int, bytes, int] | None:
    text = ask.query.get("before", "")
    if not text:
        return None
    received, _, rest = text.partition(":")
    name, _, number = rest.partition(":")
    key = trace_of_row(name)
    digits = received + number
    in_digits = digits.isascii() and digits.isdigit() and received and len(digits) < 18
    if key is None or not in_digits:
        raise refused("before", text, "a place in this list")
    return int(received), key, int(number or 0)
