"""A watch over a store of its own, with a clock that the test sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragassay.store import Store
from ragassay.watch.door import watch_traffic
from ragassay.watch.values import Traffic
from support.traffic import arrive

NOON = 1_795_348_800.0
"""A Unix time: noon of a day in UTC."""


@dataclass
class Watched:
    """A store, the time of its clock, and what the watch said."""

    path: Path
    now: float = NOON
    said: list[str] = field(default_factory=list)

    def arrive(self, turns: Sequence[Any], ago: float = 1.0) -> None:
        """Turns that came so many seconds ago."""
        with Store.open(self.path) as store:
            arrive(store, turns, self.now - ago)

    def step(self, **options: Any) -> Traffic:
        """One step of the watch, by the offline judge's groundedness where nothing else is said."""
        chosen = {"metrics": "groundedness", "sample": 1.0, "session_quiet_s": 0.0, **options}
        return watch_traffic(store=self.path, now=lambda: self.now, tell=self.said.append, **chosen)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "store.db")


def accounted(traffic: Traffic) -> bool:
    """sampled = judged + dropped + pending, exactly, ever and in the window."""
    window = traffic.window
    ever = traffic.judged + sum(traffic.dropped.values()) + traffic.pending
    lately = window.judged + sum(window.dropped.values()) + window.pending
    return traffic.sampled == ever and window.sampled == lately
