"""What a store keeps of watches: cursors in the order of commits, rows once, older stores."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.store.watches import (
    COUNTED,
    DROPPED,
    JUDGED,
    LATE,
    LONE,
    NAMED,
    OPEN,
    PENDING,
    TRAFFIC,
    UNSAMPLED,
    Judging,
    Rating,
    WatchBatch,
    WatchRow,
)
from support.traffic import arrive, turn


def row(number: int, *, session: bytes = b"", state: int = PENDING, received: int = 0) -> WatchRow:
    own = session or LONE + bytes([number])
    trace = bytes(15) + bytes([number])
    return WatchRow(0, trace, 1, own, received or number, state, "", 0.5, OPEN, 0, {"error": 0})


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def test_changes_of_rows_are_read_by_number_and_never_by_time(store: Store) -> None:
    arrive(store, [turn("first")], 2_000_000_000)
    arrive(store, [turn("second")], 1_000_000_000)  # the clock went back a long way
    found = store.span_records.changes(0, 10)
    assert [change.number for change in found] == [1, 2]
    assert [change.received for change in found] == [2_000_000_000_000, 1_000_000_000_000]
    assert store.span_records.changes(2, 10) == []
    late = turn("first")[1] | {"spanId": f"{7:016x}"}
    document = "retrieval.documents.1.document.content"
    late["attributes"] = [*late["attributes"], {"key": document, "value": {"stringValue": "New."}}]
    arrive(store, [[late]], 2_000_000_100)
    (again,) = store.span_records.changes(2, 10)
    assert (again.number, again.trace) == (3, found[0].trace)
    assert b"New." in again.rows[0][1]


def test_numbers_of_changes_are_not_used_again_after_all_were_deleted(store: Store) -> None:
    arrive(store, [turn("first")], 1_000)
    while store.span_records.drop_before(2_000_000):
        pass
    assert store.span_records.changes(0, 10) == []
    arrive(store, [turn("second")], 3_000)
    (change,) = store.span_records.changes(1, 10)
    assert change.number == 2


def test_a_row_is_stored_once_and_its_states_add_up(store: Store) -> None:
    watches = store.watch_records
    watches.take_in("w", {"cursor": 1}, [row(1), row(2), row(3, state=UNSAMPLED)])
    watches.take_in("w", {"cursor": 2}, [row(1), row(4)])
    assert watches.state("w") == {"cursor": 2}
    assert watches.state("other") is None
    first, second, last = watches.pending("w", 10)
    batch = WatchBatch(1, 5.0, None, 2, 0, 0.0, "run", {})
    watches.begin_batch("w", batch, [first.id, second.id])
    assert [each.trace for each in watches.in_batch("w", 1)] == [first.trace, second.trace]
    settled = [Judging(first.id, JUDGED, "", {"a": 1}), Judging(second.id, DROPPED, "late", {})]
    watches.settle("w", settled, batch)
    assert watches.totals("w") == {
        (UNSAMPLED, ""): 1,
        (PENDING, ""): 1,
        (JUDGED, ""): 1,
        (DROPPED, "late"): 1,
    }
    assert last.state == PENDING
    assert watches.names() == ["w"]


def test_sessions_rest_when_they_are_quiet_and_rows_without_one_at_once(store: Store) -> None:
    watches, busy, quiet = store.watch_records, NAMED + b"busy", NAMED + b"quiet"
    rows = [
        row(1, session=busy, received=10),
        row(2, session=quiet, received=20),
        row(3, session=busy, received=90),
        row(4, state=JUDGED, received=95),
    ]
    watches.take_in("w", {}, rows)
    closed = watches.closed_sessions("w", OPEN, 50, 10)
    assert [[each.received for each in session] for session in closed] == [[20], [95]]
    stages = {each.id: TRAFFIC for session in closed for each in session}
    watches.counted("w", {}, stages)
    # The quiet one waits for its judge still.
    (done,) = watches.closed_sessions("w", TRAFFIC, 50, 10)
    assert [each.received for each in done] == [95]
    watches.counted("w", {"n": 1}, {done[0].id: COUNTED}, [{"text": "told"}])
    assert watches.counted_sessions("w", [busy, quiet]) == {quiet}
    assert [each.received for each in watches.in_order_of_counting("w", 0)] == [95]
    ((number, alert),) = watches.alerts("w")
    watches.put_alert(number, {**alert, "told": {"x": ""}})
    assert watches.alerts("w")[0][1] == {"text": "told", "told": {"x": ""}}
    gone = watches.drop_before("w", 1_000, COUNTED, 10, lambda gone: {"n": 1, "gone": len(gone)})
    assert gone == {(JUDGED, ""): 1}
    assert watches.state("w") == {"n": 1, "gone": 1}, "in the commit that deleted them"
    assert not watches.drop_before("w", 1_000, COUNTED, 10, lambda gone: {})
    assert watches.state("w") == {"n": 1, "gone": 1}


def test_late_rows_that_wait_for_nothing_are_let_go_as_well(store: Store) -> None:
    watches = store.watch_records
    rows = [row(1, state=JUDGED), row(2), row(3, state=UNSAMPLED)]
    watches.take_in("w", {}, rows)
    late = {each.id: LATE for each in watches.rows("w", 0, 10) if each.state != UNSAMPLED}
    watches.counted("w", {}, late)
    assert watches.drop_before("w", 1_000, COUNTED, 10, lambda gone: {}) == {(JUDGED, ""): 1}
    assert watches.totals("w") == {(PENDING, ""): 1, (UNSAMPLED, ""): 1}


def test_old_ratings_batches_and_alerts_are_forgotten(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches = store.watch_records
    ratings = [Rating(bytes(16), "thumbs", 1.0, moment) for moment in (1_000, 9_000)]
    watches.take_in("w", {}, [], ratings)
    for number in (1, 2, 3):
        watches.put_batch("w", WatchBatch(number, 1.0, 2.0, 1, 0, 0.0, f"run {number}", {}))
    watches.put_batch("w", WatchBatch(4, 1.0, None, 1, 0, 0.0, "goes on", {}))
    watches.put_batch("other", WatchBatch(1, 1.0, 2.0, 1, 0, 0.0, "another", {}))
    monkeypatch.setattr("ragassay.store.watches._MOST_ALERTS", 2)
    watches.counted("w", {}, {}, [{"text": text} for text in ("a", "b", "c")])
    watches.forget_before("w", 5.0)
    assert [rating.received for rating in watches.ratings("w", 0)] == [9_000]
    assert [batch.number for batch in watches.batches("w")] == [4]
    assert watches.last_batch("w") == 4
    assert len(watches.batches("other")) == 1
    assert [alert["text"] for _, alert in watches.alerts("w")] == ["c", "b"]


def test_ratings_and_the_newest_rows_of_a_window(store: Store) -> None:
    watches = store.watch_records
    found = [Rating(b"t", "stars \x00", 0.5, 7), Rating(b"t", "thumbs", 1.0, 9)]
    watches.take_in("w", {}, [row(n) for n in range(1, 9)], found)
    assert watches.ratings("w", 0) == found
    assert watches.ratings("w", 8) == found[1:]
    assert [each.received for each in watches.rows("w", 3, 100)] == [3, 4, 5, 6, 7, 8]
    assert [each.received for each in watches.rows("w", 0, 2)] == [7, 8]
    assert watches.last_received("w") == 8


def test_rows_of_an_older_store_are_new_to_a_watch_once_it_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        arrive(store, [turn("old")], 1_000)
    with sqlite3.connect(path) as former:
        for table in ("trace_changes", "watches", "watch_rows", "watch_batches"):
            former.execute(f"DROP TABLE {table}")
        for table in ("watch_alerts", "watch_ratings"):
            former.execute(f"DROP TABLE {table}")
        former.execute("UPDATE ragassay_version SET version_num = '0009'")
    former.close()
    with Store.open(path) as store:
        assert store.backup is not None
        (change,) = store.span_records.changes(0, 10)
        assert len(change.rows) == 1
        assert store.check() == ()
