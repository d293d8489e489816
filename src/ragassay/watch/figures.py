"""The figures of a window of time: rates of what is judged with bands, and what is known of every
row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragassay.core import Interval
from ragassay.scoring.intervals import MeanAccumulator
from ragassay.scoring.reweighted import Reweighted, reweighted_mean
from ragassay.store.watches import DROPPED, JUDGED, NAMED, PENDING, Rating, WatchRow
from ragassay.watch.batches import NO_TEXT
from ragassay.watch.marks import AMOUNTS

MOST_ROWS = 200_000
"""Newest rows of a window that are read."""
_FEWEST_TOGETHER = 20
"""Sampled sessions at least of which a share that was judged is taken."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate over the rows that arrived, from those that were judged. kind: "score" or "passes".
    value None: nothing was judged, `lost` says how many rows were tried in vain. rows: judged.
    stands_for: rows that they stand for.
    """

    name: str
    kind: str
    value: float | None
    interval: Interval | None
    rows: int
    sessions: int
    stands_for: int
    lost: int


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of every row that says it: median, 95th percentile, sum. unit: "s" ..."""

    name: str
    unit: str
    median: float
    p95: float
    total: float
    rows: int


@dataclass(frozen=True, slots=True)
class Rated:
    """What users or other tools said, as a mean. beside: rows of these that were judged, and how
    often judge and rating agree on which side of the middle they are.
    """

    name: str
    value: float
    interval: Interval | None
    traces: int
    beside: int
    agree: int


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of a window. unseen: rows that were taken in when none of the sampled ones was
    judged, for which no rate stands. suspicious: reason -> rows.
    """

    rows: int
    sessions: int
    sampled: int
    judged: int
    pending: int
    dropped: Mapping[str, int]
    suspicious: Mapping[str, int]
    errors: int
    error_rate: float | None
    error_interval: Interval | None
    rates: tuple[Rate, ...]
    amounts: tuple[Amount, ...]
    unseen: int
    cut: bool
    not_applicable: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def window_of(found: Iterable[WatchRow], most: int = MOST_ROWS) -> tuple[Window, list[WatchRow]]:
    """The figures of these rows, and the rows."""
    rows = list(found)
    states = Counter(row.state for row in rows)
    dropped = Counter(row.reason for row in rows if row.state == DROPPED)
    suspicious = Counter(row.figures["suspicious"] for row in rows if row.figures.get("suspicious"))
    errors = MeanAccumulator()
    for row in rows:
        cluster = row.session.hex() if row.session >= NAMED else None
        errors.add(float(row.figures.get("error", 0)), cluster)
    result = errors.result()
    shares = response_shares(rows)
    window = Window(
        rows=len(rows),
        sessions=len({row.session for row in rows}),
        sampled=states[JUDGED] + states[PENDING] + states[DROPPED],
        judged=states[JUDGED],
        pending=states[PENDING],
        dropped=dict(sorted(dropped.items())),
        suspicious=dict(sorted(suspicious.items())),
        errors=sum(int(row.figures.get("error", 0)) for row in rows),
        error_rate=result.mean,
        error_interval=result.interval,
        rates=tuple(rates_of(rows, shares)),
        amounts=tuple(_amounts(rows)),
        unseen=sum(shares.get(_taken(row)) == 0 for row in rows),
        cut=len(rows) >= most,
        not_applicable=_not_applicable(rows),
    )
    return window, rows


def _not_applicable(rows: Sequence[WatchRow]) -> dict[str, tuple[int, str]]:
    why: dict[str, Counter[str]] = {}
    for row in rows:
        for name, reason in row.figures.get("not_applicable", {}).items():
            why.setdefault(name, Counter())[reason] += 1
    return {name: (found.total(), found.most_common(1)[0][0]) for name, found in why.items()}


def response_shares(rows: Sequence[WatchRow]) -> dict[int, float]:
    """When rows were taken in (Unix time) -> the share of the sampled sessions of that time, and of
    its neighbours where they are few, that was judged.

    Rows that were taken in together wait together, and what a budget leaves out of them is a random
    part (`Batches.chosen`): so a row's chance of being judged is its chance of being sampled times
    this share. Of rows that came later nothing is known from it.
    """
    by_time: dict[int, list[WatchRow]] = {}
    for row in rows:
        # What no judge can say anything of says nothing of how many were judged.
        if row.state in (JUDGED, PENDING, DROPPED) and row.reason != NO_TEXT:
            by_time.setdefault(_taken(row), []).append(row)
    shares: dict[int, float] = {}
    times: list[int] = []
    together: list[WatchRow] = []

    def close() -> None:
        judged = {row.session for row in together if row.state == JUDGED}
        share = len(judged) / max(1, len({row.session for row in together}))
        shares.update(dict.fromkeys(times, share))
        times.clear()
        together.clear()

    for time, waiting in sorted(by_time.items()):
        if len({row.session for row in waiting}) >= _FEWEST_TOGETHER:
            close()
        times.append(time)
        together += waiting
        if len({row.session for row in together}) >= _FEWEST_TOGETHER:
            close()
    close()
    return shares


def _taken(row: WatchRow) -> int:
    return int(row.figures.get("taken", row.received // 1000))


def rates_of(rows: Sequence[WatchRow], shares: Mapping[int, float]) -> list[Rate]:
    """The rates of what is judged, by metric: rows that pass, and the mean score. shares: as
    `response_shares` gives them of all rows, of which these may be a part.
    """
    judged = [row for row in rows if row.state == JUDGED]
    lost: Counter[str] = Counter()
    names: dict[str, None] = {}
    for row in judged:
        names.update(dict.fromkeys(row.figures.get("scores", {})))
        names.update(dict.fromkeys(row.figures.get("verdicts", {})))
        lost.update(row.figures.get("lost", {}).keys())
        names.update(dict.fromkeys(row.figures.get("lost", {})))
    found = []
    for name in sorted(names):
        if name.startswith("app_"):
            continue
        for kind in ("passes", "score"):
            rate = _rate(name, kind, judged, shares, lost[name])
            if rate is not None:
                found.append(rate)
    return found


_VERDICTS = {"pass": 1.0, "fail": 0.0}


def _rate(
    name: str, kind: str, judged: Sequence[WatchRow], shares: Mapping[int, float], lost: int
) -> Rate | None:
    values, chances, sessions = [], [], []
    codes: dict[bytes, int] = {}
    for row in judged:
        if kind == "passes":
            value = _VERDICTS.get(row.figures.get("verdicts", {}).get(name, ""))
        else:
            value = row.figures.get("scores", {}).get(name)
        if value is None or not 0 <= value <= 1:
            continue
        values.append(float(value))
        chances.append(row.chance * shares[_taken(row)])
        sessions.append(codes.setdefault(row.session, len(codes)))
    if not values and (kind == "passes" or not lost):
        return None
    mean: Reweighted = reweighted_mean(values, chances, sessions)
    return Rate(
        name, kind, mean.value, mean.interval, mean.n, mean.sessions, round(mean.rows), lost
    )


def _amounts(rows: Sequence[WatchRow]) -> list[Amount]:
    found = []
    for name, unit in AMOUNTS.items():
        values = np.array([row.figures[name] for row in rows if name in row.figures], dtype=float)
        if len(values):
            median, p95 = np.quantile(values, (0.5, 0.95))
            total = float(values.sum())
            found.append(Amount(name, unit, float(median), float(p95), total, len(values)))
    return found


def rated(ratings: Sequence[Rating], rows: Sequence[WatchRow]) -> list[Rated]:
    """What others said, by name, beside what the judge said of the same traces. Where a trace was
    rated more than once by a name, the last counts.
    """
    last: dict[str, dict[bytes, float]] = {}
    for rating in ratings:
        last.setdefault(rating.name, {})[rating.trace] = rating.value
    verdicts: dict[bytes, bool] = {}
    clusters: dict[bytes, str] = {}
    for row in rows:
        clusters[row.trace] = row.session.hex()
        said = row.figures.get("verdicts", {}).values()
        if row.state == JUDGED and not {"pass", "fail"}.isdisjoint(said):
            verdicts[row.trace] = "fail" not in said and verdicts.get(row.trace, True)
    found = []
    for name, by_trace in sorted(last.items()):
        mean = MeanAccumulator()
        beside = agree = 0
        for trace, value in by_trace.items():
            mean.add(value, clusters.get(trace))
            if trace in verdicts:
                beside += 1
                agree += verdicts[trace] == (value >= 0.5)
        result = mean.result()
        assert result.mean is not None
        found.append(Rated(name, result.mean, result.interval, len(by_trace), beside, agree))
    return found
