"""Drift of a watch as it is told: the martingales of its scalars, and a look at the wording of
today's questions beside earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from ragassay.scoring.arrays import FloatArray
from ragassay.scoring.clusters import codes
from ragassay.scoring.energy import MOST_ROWS, energy_test
from ragassay.scoring.evidence import DriftAlarm
from ragassay.scoring.word_vectors import word_vectors
from ragassay.store.spans import SpanRecords
from ragassay.store.watches import WatchRow
from ragassay.watch import sampling

DAY_S = 86_400
_LEAST_SESSIONS = 20
"""On either side, below which sides are not compared."""
_LATER_ROWS = 300


@dataclass(frozen=True, slots=True)
class DriftLine:
    """A scalar. evidence: that it drifted, told of at `needed`. sessions: that said it."""

    name: str
    evidence: float
    needed: float
    sessions: int


@dataclass(frozen=True, slots=True)
class Shifted:
    """The last day's questions beside those of before. size: 0 for alike, up to 1. p: of "alike",
    one look. examples: questions of the last day that lie farthest from the earlier ones.
    """

    size: float
    p: float | None
    earlier: int
    later: int
    sessions: int
    examples: tuple[str, ...]


def drift_lines(alarms: Mapping[str, DriftAlarm]) -> list[DriftLine]:
    """How each scalar stands, the most evidence first."""
    lines = [
        DriftLine(name, alarm.evidence.value, alarm.evidence.needed, alarm.evidence.seen)
        for name, alarm in alarms.items()
    ]
    return sorted(lines, key=lambda line: (-line.evidence, line.name))


def shifted(
    rows: Sequence[WatchRow], spans: SpanRecords, now: float, seed: int
) -> tuple[Shifted | None, str]:
    """The comparison, or why there is none. Only earlier rows of the same hours of the day as the
    later ones are compared, so that a part of a day is not set beside whole ones.
    """
    begin = int((now - DAY_S) * 1000)
    later = [row for row in rows if row.received >= begin]
    hours = {_hour(row) for row in later}
    earlier = [row for row in rows if row.received < begin and _hour(row) in hours]
    if min(_sessions(earlier), _sessions(later)) < _LEAST_SESSIONS:
        return None, (
            f"questions of the last day are not compared with earlier ones: {_sessions(later)}"
            f" sessions beside {_sessions(earlier)}, at least {_LEAST_SESSIONS} each are needed"
        )
    before = questions_of(_some(earlier, MOST_ROWS, seed), spans)
    after = questions_of(_some(later, _LATER_ROWS, seed), spans)
    for side in (before, after):
        if _sessions([row for row, _ in side]) < _LEAST_SESSIONS:
            return None, "questions are not compared: the texts of too many rows were deleted"
    code = codes(row.session for row, _ in [*before, *after])
    result = energy_test(
        _vectors(before),
        _vectors(after),
        (code[: len(before)], code[len(before) :]),
        seed=seed,
    )
    examples = tuple(after[place][1] for place in result.farthest)
    found = Shifted(result.size, result.p, result.earlier, result.later, result.sessions, examples)
    return found, ""


def _sessions(rows: Sequence[WatchRow]) -> int:
    return len({row.session for row in rows})


def _vectors(side: Sequence[tuple[WatchRow, str]]) -> FloatArray:
    return word_vectors([question for _, question in side]).astype(np.float64)


def _hour(row: WatchRow) -> int:
    return row.received // 3_600_000 % 24


def _key(row: WatchRow) -> tuple[bytes, int]:
    return row.trace, row.number


def _some(rows: Sequence[WatchRow], most: int, seed: int) -> list[WatchRow]:
    """At most so many rows, chosen by session."""
    ordered = sorted(rows, key=lambda row: (sampling.place(row.session, seed, "drift"), row.id))
    return ordered[:most]


def _questions(rows: Sequence[WatchRow], spans: SpanRecords) -> dict[tuple[bytes, int], str]:
    """The questions of rows whose texts are still kept."""
    found: dict[tuple[bytes, int], str] = {}
    for key, payload in spans.rows_of(list(dict.fromkeys(row.trace for row in rows))).items():
        question = orjson.loads(payload)["row"].get("question")
        if isinstance(question, str) and question.strip():
            found[key] = question
    return found


def questions_of(rows: Sequence[WatchRow], spans: SpanRecords) -> list[tuple[WatchRow, str]]:
    """Rows with their questions, as far as they have one that is still kept."""
    texts = _questions(rows, spans)
    return [(row, texts[_key(row)]) for row in rows if _key(row) in texts]
