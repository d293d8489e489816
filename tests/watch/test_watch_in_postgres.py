"""A watch over a store in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.watch.door import watch_traffic
from support.traffic import RIGHT, WRONG, arrive, turn
from watch.conftest import NOON, accounted


def test_a_watch_keeps_its_accounts_in_postgres(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # its lock and the rows of a batch lie there
    turns = [turn(f"{n}", RIGHT if n < 10 else WRONG, session=f"s{n // 2}") for n in range(40)]
    with Store.open(postgres_url) as store:
        arrive(store, turns, NOON - 30)
        for _ in range(2):
            traffic = watch_traffic(
                store=postgres_url,
                now=lambda: NOON,
                metrics="groundedness",
                sample=0.8,
                label_share=0.5,
                marks=["groundedness>=0.9", "error_rate<=0.1"],
                session_quiet_s=0.0,
            )
            assert accounted(traffic)
            assert traffic.arrived == 40
            assert 20 <= traffic.judged == traffic.sampled < 40
            assert [mark.standing for mark in traffic.marks] == [True, False]
        kept = (store.watch_records.state("traffic") or {})["report"]
        assert (kept["judged"], len(kept["alerts"])) == (traffic.judged, len(traffic.alerts))
        gone = store.watch_records.drop_before(
            "traffic", int(NOON * 1000), 10_000, 10_000, lambda _: {}
        )
        assert sum(gone.values()) > 0
        store.watch_records.forget_before("traffic", NOON)
    assert not list((tmp_path / ".ragassay").glob("*.jsonl")), "what users said is deleted again"
