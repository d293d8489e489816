"""Turns as rows in our own shape, and what is said of many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.core import DataError, NothingToDo
from ragassay.datasets.spans.missing import remedy
from ragassay.datasets.spans.turns import Turn, turns_of

FIELDS = ("question", "response", "contexts")
_MOST_REMEDIES = 4


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One row of a trace. id: of the trace, with "-2", "-3" ... for its later turns. row: in our
    own shape, its contexts as they were recorded.
    """

    id: str
    row: Mapping[str, Any]
    turn: Turn


def rows_of_trace(trace: str, spans: Sequence[Mapping[str, Any]]) -> list[TurnRow]:
    """The rows of a trace, one a turn of the user, in order of time; none where nobody asked
    anything, as in a trace of indexing.
    """
    rows: list[TurnRow] = []
    for number, turn in enumerate(turns_of(spans), 1):
        own = trace if number == 1 else f"{trace}-{number}"
        rows.append(TurnRow(own, _row(own, turn), turn))
    return rows


def _row(id: str, turn: Turn) -> dict[str, Any]:
    usage: dict[str, float] = dict(turn.figures)
    if turn.latency is not None:
        usage["latency"] = turn.latency
    fields: dict[str, Any] = {
        "question": turn.question,
        "contexts": turn.contexts,
        "response": turn.response,
        "error": turn.error,
        "cluster": turn.session,
        "usage": usage or None,
    }
    named: dict[str, Any] = {"id": id} if id else {}
    return named | {name: value for name, value in fields.items() if value is not None}


class Assembly:
    """What is known of the rows of many traces: counts, where the fields were read, what is
    missing and what to set for it.
    """

    def __init__(self) -> None:
        self.spans = 0
        self.traces = 0
        self.rows = 0
        self.without_turn = 0
        self._sources: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
        self._missing: Counter[tuple[str, str, str]] = Counter()

    def add(self, rows: Iterable[TurnRow], spans: int) -> None:
        """Count the rows of one trace of so many spans."""
        self.spans += spans
        self.traces += 1
        count = 0
        for row in rows:
            count += 1
            self.note(row.turn.sources, row.turn.missing, row.turn.scope)
        self.without_turn += count == 0

    def note(self, sources: Mapping[str, str], missing: Mapping[str, str], scope: str) -> None:
        """Count one row, with what `Turn` says of its fields."""
        self.rows += 1
        for name, source in sources.items():
            self._sources[name][source] += 1
        for name, reason in missing.items():
            self._missing[name, reason, scope] += 1

    def lines(self) -> list[str]:
        """One sentence each, for the user."""
        spans, traces = _counted(self.spans, "span"), _counted(self.traces, "trace")
        lines = [f"put {spans} of {traces} together: {_counted(self.rows, 'row')}, one a user turn"]
        return lines + self.lines_on_rows()

    def lines_on_rows(self) -> list[str]:
        """What was left out, where the fields were read, and what to set for those that are
        missing.
        """
        lines: list[str] = []
        if self.without_turn:
            left = _counted(self.without_turn, "trace")
            lines.append(
                f"left out {left} in which nobody asked anything (indexing, embeddings, retrievals"
                " whose parent did not come)"
            )
        for name, sources in self._sources.items():
            said = [f"{source} in {_counted(count, 'row')}" for source, count in _largest(sources)]
            if said:
                lines.append(f"{name}: {'; '.join(said)}")
        for (name, reason, scope), count in _largest(self._missing)[:_MOST_REMEDIES]:
            by = f" ({scope})" if scope else ""
            lines.append(
                f"{name} not recorded in {_counted(count, 'row')}{by}: {remedy(reason, scope)}"
            )
        return lines

    def check(self, where: str) -> None:
        """Raises NothingToDo (E0309) where there is no turn of a user, DataError (E0319) where no
        turn has a question or a response.
        """
        if not self.rows:
            raise NothingToDo(
                "E0309",
                "The traces hold no turn of a user.",
                where=where,
                why=f"{_counted(self.traces, 'trace')} of indexing, embeddings or other work",
                fix="export the traces of the application that answers",
            )
        if self._sources["question"] or self._sources["response"]:
            return
        # Contexts are missing in nearly all of them, and are not what this is about.
        missing = [key for key, _ in _largest(self._missing) if key[0] != "contexts"]
        _, reason, scope = missing[0]
        raise DataError(
            "E0319",
            "The spans hold no questions and no responses.",
            where=where,
            why=f"{scope or 'their instrumentor'} recorded calls and times without content",
            fix=remedy(reason, scope),
        )


def _largest(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """The counts from the largest, then by name."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
