"""Spans in the store, in both databases: stored once, indexed in the order of arrival, deleted by
age.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.store.spans import SpanRecords, StoredLog, StoredSpan

TRACE, OTHER = b"\x01" * 16, b"\x02" * 16


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SpanRecords]:
    location = tmp_path / "store.db"
    if request.param == "postgres":
        location = request.getfixturevalue("postgres_url")
    with Store.open(location) as store:
        yield store.span_records


def span(
    trace: bytes, number: int, *, root: bool = False, complete: bool = False, origin: bytes = b"o"
) -> StoredSpan:
    """A span of a trace."""
    key = trace + number.to_bytes(8, "big")
    return StoredSpan(key, origin, root, complete, 1, 2, b"span %d" % number)


def indexed(records: SpanRecords) -> None:
    """Take all spans into the index."""
    while records.index_traces():
        pass


def test_a_span_that_comes_again_is_stored_once(records: SpanRecords) -> None:
    log = StoredLog(TRACE, b"log")
    assert records.put([span(TRACE, 1), span(TRACE, 2)], [log], 1000) == (2, 1)
    # In a later commit, and twice in one.
    assert records.put([span(TRACE, 2), span(TRACE, 3), span(TRACE, 3)], [log], 2000) == (1, 0)
    assert [payload for _, payload in records.of_trace(TRACE, 10)] == [
        b"span 1",
        b"span 2",
        b"span 3",
    ]
    assert records.logs_of_trace(TRACE, 10) == [b"log"]


def test_of_two_spans_with_the_same_ids_the_one_that_ended_later_stays(
    records: SpanRecords,
) -> None:
    early = span(TRACE, 1)
    late = early._replace(ended=3, payload=b"late")
    # In either order, in one commit and in two; it is the same span, and no new one.
    assert records.put([late, span(TRACE, 2)], [], 1000) == (2, 0)
    assert records.put([early], [], 1000) == (0, 0)
    other = OTHER + early.key[16:]
    assert records.put([each._replace(key=other) for each in (early, late)], [], 1000) == (1, 0)
    for trace in (TRACE, OTHER):
        assert b"late" in [payload for _, payload in records.of_trace(trace, 10)]
        assert early.payload not in [payload for _, payload in records.of_trace(trace, 10)]


def test_a_span_that_stands_in_for_another_and_a_late_log_record_have_rows_made_again(
    records: SpanRecords,
) -> None:
    def put_together(payload: bytes) -> list[bytes]:
        indexed(records)
        ready = records.ready(9000, 0, 0, 10)
        records.put_rows([(each, [payload]) for each in ready])
        return [each.trace for each in ready]

    records.put([], [StoredLog(TRACE, b"before its spans")], 900)
    records.put([span(TRACE, 1, root=True), span(OTHER, 1, root=True)], [], 1000)
    assert put_together(b"row") == [TRACE, OTHER]
    assert put_together(b"row") == []
    records.put([span(TRACE, 1, root=True)._replace(ended=9, payload=b"later")], [], 1000)
    assert put_together(b"second") == [TRACE]
    records.put([], [StoredLog(OTHER, b"late")], 2000)
    assert put_together(b"third") == [OTHER]
    # It is quiet since the log record, not since the span.
    assert [row.trace for row in records.rows(2000, 2001)] == [OTHER]


def test_many_spans_are_not_counted_one_by_one(
    records: SpanRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert records.totals() == (0, False, 0, 0)
    records.put([span(TRACE, number) for number in range(1, 400)], [], 1000)
    indexed(records)
    assert records.totals() == (399, False, 1, 0)
    monkeypatch.setattr("ragassay.store.spans._MOST_COUNTED", 100)
    assert records.totals() == (399, True, 1, 0)


def test_each_span_keeps_the_library_that_wrote_it(records: SpanRecords) -> None:
    records.put([span(TRACE, 1, origin=b"one"), span(TRACE, 2, origin=b"two")], [], 1000)
    records.put([span(TRACE, 3, origin=b"one"), span(OTHER, 1, origin=b"one")], [], 1000)
    assert [origin for origin, _ in records.of_trace(TRACE, 10)] == [b"one", b"two", b"one"]


def test_a_trace_is_ready_when_its_root_came_and_it_was_quiet(records: SpanRecords) -> None:
    records.put([span(TRACE, 2), span(OTHER, 2)], [], 1000)
    records.put([span(TRACE, 1, root=True)], [], 5000)
    indexed(records)

    def ready(now: int) -> list[bytes]:
        return [each.trace for each in records.ready(now, 30_000, 600_000, 10)]

    assert ready(34_999) == []
    assert ready(35_000) == [TRACE]
    # Without its root a trace is put together when it is old.
    assert ready(601_000) == [OTHER, TRACE]


def test_a_trace_that_waits_for_its_root_is_not_behind(records: SpanRecords) -> None:
    records.put([span(TRACE, 2)], [], 1000)
    indexed(records)
    assert records.waiting() == (1, None)
    records.put([span(OTHER, 1, root=True)], [], 3000)
    assert records.waiting() == (1, 3000), "spans that are not indexed yet"
    indexed(records)
    assert records.waiting() == (2, 3000)


def test_a_trace_that_says_that_it_is_complete_is_ready_at_once(records: SpanRecords) -> None:
    records.put([span(TRACE, 1, root=True, complete=True), span(OTHER, 1, root=True)], [], 1000)
    indexed(records)
    assert [each.trace for each in records.ready(1000, 30_000, 600_000, 10)] == [TRACE]


def test_late_spans_make_a_new_revision_only_where_they_change_the_rows(
    records: SpanRecords,
) -> None:
    def put_together(now: int, rows: list[bytes]) -> tuple[int, int]:
        """(changed, the revision before)."""
        indexed(records)
        (ready,) = records.ready(now, 0, 0, 10)
        return records.put_rows([(ready, rows)]), ready.revision

    records.put([span(TRACE, 1, root=True)], [], 1000)
    assert put_together(1000, [b"row"]) == (1, 0)
    assert records.ready(9000, 0, 0, 10) == []
    records.put([span(TRACE, 2)], [], 2000)
    assert put_together(2000, [b"row"]) == (0, 1)
    records.put([span(TRACE, 3)], [], 3000)
    assert put_together(3000, [b"other", b"second"]) == (1, 1)
    assert [row.payload for row in records.rows(0, 9000)] == [b"other", b"second"]
    assert list(records.rows(0, 3000)) == []


def test_of_traces_that_are_stored_together_each_keeps_what_is_its_own(
    records: SpanRecords,
) -> None:
    names = [bytes([n]) * 16 for n in range(1, 5)]
    rows = [[b"a"], [b"b", b"c"], [], [b"d"]]

    def put_together(payloads: list[list[bytes]]) -> int:
        records.put([span(name, number) for name in names], [], 1000 * number)
        indexed(records)
        ready = sorted(records.ready(90_000, 0, 0, 10), key=lambda each: each.trace)
        assert [each.trace for each in ready] == names
        return records.put_rows(list(zip(ready, payloads, strict=True)))

    number = 1
    assert put_together(rows) == 3
    number = 2
    assert put_together([[b"a"], [b"c"], [b"e"], []]) == 3
    assert records.without_rows(0, 90_000) == 1
    kept = {(row.trace[0], row.number): row.payload for row in records.rows(0, 90_000)}
    assert kept == {(1, 1): b"a", (2, 1): b"c", (3, 1): b"e"}
    # In the order of the last change of each, and only what changed.
    assert [(each.trace[0], len(each.rows)) for each in records.changes(0, 10)] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 0),
    ]
    assert records.with_logs(names) == set()
    records.put([], [StoredLog(names[1], b"log")], 3000)
    assert records.with_logs(names) == {names[1]}


def test_spans_that_come_between_reading_and_storing_are_not_passed_over(
    records: SpanRecords,
) -> None:
    records.put([span(TRACE, 1, root=True)], [], 1000)
    indexed(records)
    (ready,) = records.ready(1000, 0, 0, 10)
    records.put([span(TRACE, 2)], [], 1500)
    indexed(records)
    records.put_rows([(ready, [b"row"])])
    assert [each.trace for each in records.ready(2000, 0, 0, 10)] == [TRACE]


def test_retention_deletes_spans_with_what_was_made_of_them(records: SpanRecords) -> None:
    records.put([span(TRACE, n, root=n == 1) for n in range(1, 5)], [StoredLog(TRACE, b"l")], 1000)
    records.put([span(OTHER, 1, root=True)], [], 5000)
    indexed(records)
    records.put_rows([(each, [b"row"]) for each in records.ready(5000, 0, 0, 10)])
    assert records.drop_before(5000) == 4
    assert records.drop_before(5000) == 0
    assert records.counts() == {"spans": 1, "span_logs": 0, "traces": 1, "trace_rows": 1}
    # What is deleted and sent again is no duplicate.
    assert records.put([span(TRACE, 1)], [], 6000) == (1, 0)
