"""What is watched of the traffic: rates with bands, marks and alerts, and the map."""

from __future__ import annotations

from typing import NamedTuple

from ragassay.report.tables import Block
from ragassay.watch.outside import look
from ragassay.watch.page import DrawnMap, drawn_map
from ragassay.watch.report import blocks
from ragassay.web.messages import Answer, Ask, Page


class Watched(NamedTuple):
    """One watch as its last step left it. at: ISO 8601 UTC. map: None where there is none."""

    name: str
    at: str
    blocks: list[Block]
    map: DrawnMap | None


def show(ask: Ask) -> Answer:
    """Every watch of the store."""
    store = ask.site.store
    found = []
    for name in store.watch_records.names():
        traffic = look(store, name)
        if traffic is not None:
            drawn = None if traffic.map is None else drawn_map(traffic.map)
            lines = [block for block in blocks(traffic) if block]
            found.append(Watched(name, traffic.at, lines, drawn))
    return Page("traffic.html.j2", {"watches": found})
