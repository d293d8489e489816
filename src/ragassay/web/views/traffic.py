"""What is watched of the traffic: the last report of each watch, and the map."""

from __future__ import annotations

import math
from datetime import datetime
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from ragassay.report.tables import Block
from ragassay.store import Store
from ragassay.watch.drift import DriftLine
from ragassay.watch.figures import Rate
from ragassay.watch.map import traffic_map
from ragassay.watch.page import DrawnMap, drawn_map
from ragassay.watch.report import accounts, marks, shift_words, shown_rate
from ragassay.watch.state import State
from ragassay.watch.values import Traffic
from ragassay.web.messages import Answer, Ask, Page
from ragassay.web.site import Site

_MOST_POINTS = 3_000


class _RateLine(NamedTuple):
    """A rate with its band as places from 0 to 1; low, high: None where there is no band."""

    shown: tuple[str, str, str]
    rate: Rate
    value: float | None
    low: float | None
    high: float | None


class _DriftBar(NamedTuple):
    """A scalar. filled: its evidence on the way to where it is told of, 0 to 1, by logarithms."""

    line: DriftLine
    filled: float


_MAP_S = 20.0
"""How long a page waits for its map."""


class Watched(NamedTuple):
    """One watch as its last report told it. first, then: blocks before and behind the rates. shift:
    how questions lie to earlier ones, or why that is not known. map: None where there is none.
    """

    traffic: Traffic
    first: list[Block]
    rates: list[_RateLine]
    then: list[Block]
    drift: list[_DriftBar]
    shift: str
    map: DrawnMap | None


def show(ask: Ask) -> Answer:
    """Every watch of the store."""
    store = ask.site.store
    found = []
    for name in store.watch_records.names():
        stored = store.watch_records.state(name)
        if stored is not None and stored.get("report"):
            watched = _watched(ask.site, State.of(stored))
            if watched is not None:
                found.append(watched)
    return Page("traffic.html.j2", {"watches": found})


def _watched(site: Site, state: State) -> Watched | None:
    """None where the report is one of another version; the next step makes a new one."""
    try:
        traffic = _adapter().validate_python(state.report)
    except ValidationError:
        return None
    shifted = traffic.shifted
    return Watched(
        traffic=traffic,
        first=[block for block in accounts(traffic) if block],
        rates=[_rate_line(rate) for rate in traffic.window.rates],
        then=[block for block in marks(traffic) if block],
        drift=[_DriftBar(line, _filled(line)) for line in traffic.drift],
        shift=traffic.drift_note if shifted is None else shift_words(shifted),
        # Of one report it is drawn once: of some thousand questions that takes seconds.
        map=site.figures.other(
            ("map", traffic.name, traffic.at, state.seed),
            lambda: _map(site.store, traffic, state.seed),
            _MAP_S,
        ),
    )


@cache
def _adapter() -> TypeAdapter[Traffic]:
    return TypeAdapter(Traffic)


def _rate_line(rate: Rate) -> _RateLine:
    band, shown = rate.interval, shown_rate(rate)
    if band is None:
        return _RateLine(shown, rate, rate.value, None, None)
    return _RateLine(shown, rate, rate.value, band.low, band.high)


def _filled(line: DriftLine) -> float:
    if line.evidence <= 1:
        return 0.0
    return min(1.0, math.log(line.evidence) / math.log(line.needed))


def _map(store: Store, traffic: Traffic, seed: int) -> DrawnMap | None:
    """The map of the newest questions of the window."""
    since = datetime.fromisoformat(traffic.at).timestamp() - traffic.window_s
    rows = list(store.watch_records.rows(traffic.name, int(since * 1000), _MOST_POINTS))
    drawn, _ = traffic_map(rows, store.span_records, seed)
    return None if drawn is None else drawn_map(drawn)
