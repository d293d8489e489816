"""The page of traffic under watch, over real HTTP."""

from __future__ import annotations

import time

from ragassay.store import Store
from ragassay.watch.door import watch_traffic
from support.traffic import RIGHT, WRONG, arrive, turn
from web.conftest import serving

EVIL = '<script>alert(1)</script>"onload=x'


def test_a_watch_is_shown_with_bands_alerts_and_a_map_that_has_a_table(store: Store) -> None:
    with serving(store) as client:
        assert "No traffic is watched" in client.ask("/traffic").text
        turns = [
            turn(f"{n}", RIGHT if n % 2 else WRONG, question=f"{EVIL} topic{n % 2} card {n % 3}")
            for n in range(60)
        ]
        arrive(store, turns, time.time() - 5)
        marks = ["groundedness>=0.9"]
        traffic = watch_traffic(store=store.location, metrics="groundedness", sample=1, marks=marks)
        assert traffic.marks[0].standing
        page = client.ask("/traffic")
        assert page.status == 200
        assert "since the start 60 arrived, 60 sampled = 60 judged + 0 dropped" in page.text
        assert "groundedness passes" in page.text
        assert "ALERT" in page.text
        assert "chance of ever raising a false alarm: at most 5%" in page.text
        assert 'class="wordmap"' in page.text
        assert 'aria-label="Clusters of the map"' in page.text
        assert "<script>alert" not in page.text
