"""What certificates say of the judge on today's rows: their age, and whether the rows that are
judged now are like those that they were measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragassay.runs.trust import known_certificates, trust_of
from ragassay.store import Store

_OLD_DAYS = 180


@dataclass(frozen=True, slots=True)
class Certified:
    """A metric: what its certificate says, how many days old it is (None where there is none), and
    whether it holds for rows like these.
    """

    metric: str
    sentence: str
    days: int | None
    alike: bool

    @property
    def old(self) -> bool:
        """Whether it is so old that models and traffic may well have changed."""
        return self.days is not None and self.days > _OLD_DAYS


def certified(store: Store, runs: Sequence[str], now: float) -> list[Certified]:
    """Of the newest of these runs that has rows, metric by metric."""
    for run in reversed(runs):
        if next(iter(store.some_rows(run, 1)), None) is None:
            continue
        created = {each.id: each.created for each in known_certificates(store)}
        found = []
        for line in trust_of(store, run):
            days = _age(created.get(line.certificate, ""), now)
            found.append(Certified(line.metric, line.sentence, days, line.measured))
        return found
    return []


def _age(created: str, now: float) -> int | None:
    try:
        made = datetime.fromisoformat(created)
    except ValueError:
        return None
    if made.tzinfo is None:
        made = made.replace(tzinfo=UTC)
    return max(0, int((now - made.timestamp()) // 86_400))


def judged_as(store: Store, run: str) -> str:
    """What determines the judge of a run: the rubrics' texts, model and parameters. Raises
    SetupError where the run is gone.
    """
    from ragassay.core import digest

    info = store.run(run).manifest.judge
    return digest(
        info.uri, *(f"{name}={value}" for name, value in sorted(info.measured_as.items()))
    )
