"""A watch as it looks from outside: by what the store holds while another process runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragassay.store import Store
from ragassay.store.watches import DROPPED, JUDGED, PENDING, UNSAMPLED, WatchRecords
from ragassay.watch.budgets import LONGEST_S, Budget, read_budget, spent
from ragassay.watch.figures import rated, window_of
from ragassay.watch.map import traffic_map
from ragassay.watch.state import State
from ragassay.watch.values import Spent, Standing, Traffic

_MOST_ROWS = 20_000
"""Newest rows of the window that a look from outside reads."""
_MOST_POINTS = 3_000


@dataclass(frozen=True, slots=True)
class Accounts:
    """What became of all rows. sampled = judged + dropped + pending."""

    arrived: int
    judged: int
    dropped: Mapping[str, int]
    pending: int

    @property
    def sampled(self) -> int:
        """Rows in the sample."""
        return self.judged + sum(self.dropped.values()) + self.pending


def accounts_of(records: WatchRecords, name: str) -> Accounts:
    """What became of all rows that a watch ever came to."""
    totals = records.totals(name)
    counts: Counter[int] = Counter()
    dropped: dict[str, int] = {}
    for (state, why), number in sorted(totals.items()):
        counts[state] += number
        if state == DROPPED:
            dropped[why] = number
    arrived = sum(counts[state] for state in (UNSAMPLED, PENDING, JUDGED, DROPPED))
    return Accounts(arrived, counts[JUDGED], dropped, counts[PENDING])


def spendings(
    budgets: Sequence[Budget], records: WatchRecords, name: str, now: float
) -> Iterator[Spent]:
    """Each budget with what was spent of it."""
    recent = records.batches(name, now - LONGEST_S)
    for budget in budgets:
        yield Spent(str(budget), budget.unit, spent(budget, recent, now), budget.amount)


def standings(marks: Sequence[str], state: State) -> Iterator[Standing]:
    """How each mark stands. marks: their texts, in the order of the state."""
    for text, kept in zip(marks, state.marks.values(), strict=True):
        evidence = kept.alarm().evidence
        mean = None
        if kept.sessions:
            mean = kept.total / kept.sessions
            # What low values are good for is watched as its opposite; a quantile as a share.
            is_opposite = "<=" in text and "(latency)" not in text
            is_opposite = is_opposite and "(tokens)" not in text and "(cost)" not in text
            mean = 1 - mean if is_opposite else mean
        yield Standing(
            text,
            mean,
            kept.sessions,
            iso(kept.since),
            evidence.value,
            evidence.needed,
            kept.raised,
            kept.standing,
        )


def iso(moment: float) -> str:
    """A Unix time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def look(store: Store, name: str) -> Traffic | None:
    """A watch as its last step left it; None where there is no step yet. Drift, certificates and
    labels are told by the watch itself.
    """
    records = store.watch_records
    stored = records.state(name)
    if stored is None or not stored.get("shown"):
        return None
    state = State.of(stored)
    shown = state.shown
    since = int((state.now - shown["window_s"]) * 1000)
    window, rows = window_of(records.rows(name, since, _MOST_ROWS), _MOST_ROWS)
    accounts = accounts_of(records, name)
    drawn, why = traffic_map(rows[-_MOST_POINTS:], store.span_records, shown["seed"])
    last = records.last_received(name)
    batches = records.batches(name, state.now - LONGEST_S)
    last_run = batches[-1].run if batches else ""
    budgets = [read_budget(text) for text in shown["budgets"]]
    outage = [f"the judge cannot be asked: {state.down_why}"] if state.down_why else []
    return Traffic(
        name=name,
        judge=shown["judge"],
        metrics=tuple(shown["metrics"]),
        at=iso(state.now),
        since=iso(state.created),
        window_s=shown["window_s"],
        sample=shown["sample"],
        arrived=accounts.arrived,
        sampled=accounts.sampled,
        judged=accounts.judged,
        dropped=accounts.dropped,
        pending=accounts.pending,
        window=window,
        last_row="" if last is None else iso(last / 1000),
        budgets=tuple(spendings(budgets, records, name, state.now)),
        guarantee=shown["promise"],
        marks=tuple(standings(shown["marks"], state)),
        alerts=tuple(alert for _, alert in records.alerts(name, 20)),
        drift=(),
        shifted=None,
        drift_note="",
        certificates=(),
        ratings=tuple(rated(records.ratings(name, since), rows)),
        labels=(),
        notes=(*state.notes, *outage, *filter(None, [why])),
        outage=state.down_why,
        last_run=last_run,
        map=drawn,
    )
