"""What a watch did and how it stands, by what the store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragassay.store.watches import DROPPED, JUDGED, PENDING, UNSAMPLED, WatchRecords
from ragassay.watch.budgets import LONGEST_S, Budget, spent
from ragassay.watch.marks import as_written
from ragassay.watch.state import State
from ragassay.watch.values import Spent, Standing


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


def accounts_of(records: WatchRecords, name: str, state: State) -> Accounts:
    """What became of all rows that a watch ever came to, those included that are not kept."""
    totals = Counter(records.totals(name))
    for kind, reasons in state.gone.items():
        totals.update({(int(kind), why): number for why, number in reasons.items()})
    counts: Counter[int] = Counter()
    dropped: dict[str, int] = {}
    for (kept, why), number in sorted(totals.items()):
        counts[kept] += number
        if kept == DROPPED:
            dropped[why] = number
    arrived = sum(counts[each] for each in (UNSAMPLED, PENDING, JUDGED, DROPPED))
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
            mean = as_written(text, kept.total / kept.sessions)
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
