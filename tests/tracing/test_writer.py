"""The writer of spans: one commit for all that wait, a bound on what waits, and no acknowledgement
of what was not stored.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from ragassay.core import EnvironmentFailure
from ragassay.store.spans import StoredLog, StoredSpan
from ragassay.tracing.counters import Counters
from ragassay.tracing.decoding import Batch
from ragassay.tracing.writer import MOST_WAITING, Overloaded, SpanWriter


class Records:
    """A store that waits until it may, or fails, and says what it was given."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.failing = False
        self.commits: list[int] = []

    def put(
        self, spans: Sequence[StoredSpan], logs: Sequence[StoredLog], received: int
    ) -> tuple[int, int]:
        assert self.may.wait(120)
        if self.failing:
            raise EnvironmentFailure("E0506", "The disk is full.")
        self.commits.append(len(spans))
        return len({span.key for span in spans}), len(logs)


def batch(first: int, count: int = 2, size: int = 100, rejected: int = 0) -> Batch:
    spans = [
        StoredSpan(number.to_bytes(24, "big"), b"", False, False, 0, 0, b"")
        for number in range(first, first + count)
    ]
    return Batch(spans, [], Counter({"bad": rejected} if rejected else {}), size)


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def writer(records: Records, counters: Counters):
    writer = SpanWriter(records, counters)  # type: ignore[arg-type]
    writer.start()
    yield writer
    records.may.set()
    writer.stop()


def test_all_that_waits_is_stored_in_one_commit(
    writer: SpanWriter, records: Records, counters: Counters
) -> None:
    done = [writer.submit(batch(10 * n, rejected=1)) for n in range(6)]
    assert not any(each.done() for each in done)
    assert counters.counts.received == 0
    records.may.set()
    for each in done:
        each.result(20)
    # The first may have been taken before the others came.
    assert len(records.commits) <= 2
    assert sum(records.commits) == 12
    counted = counters.counts
    assert (counted.received, counted.stored, counted.rejected) == (18, 12, 6)


def test_a_span_that_comes_twice_in_a_commit_is_counted_once(
    writer: SpanWriter, records: Records, counters: Counters
) -> None:
    done = [writer.submit(batch(1)) for _ in range(3)]
    records.may.set()
    for each in done:
        each.result(20)
    counted = counters.counts
    assert counted.received == counted.stored + counted.duplicate + counted.rejected == 6


def test_more_than_may_wait_is_refused_and_what_is_alone_never_is(
    writer: SpanWriter, records: Records
) -> None:
    first = writer.submit(batch(1, size=2 * MOST_WAITING))
    with pytest.raises(Overloaded):
        writer.submit(batch(10))
    records.may.set()
    first.result(20)
    writer.submit(batch(10)).result(20)
    assert writer.waiting_bytes == 0


def test_what_a_commit_that_failed_held_is_not_acknowledged_and_the_next_one_is(
    writer: SpanWriter, records: Records, counters: Counters
) -> None:
    records.failing = True
    records.may.set()
    failed = writer.submit(batch(1))
    assert isinstance(failed.exception(20), EnvironmentFailure)
    assert "The disk is full." in writer.failing
    assert counters.counts.received == 0
    records.failing = False
    writer.submit(batch(1)).result(20)
    assert writer.failing == ""


def test_a_request_that_gave_up_before_its_commit_is_not_stored(
    writer: SpanWriter, records: Records
) -> None:
    held: Future[None] = writer.submit(batch(1))
    while not held.running():
        pass
    left = writer.submit(batch(10, count=5))
    assert left.cancel()
    records.may.set()
    held.result(20)
    writer.submit(batch(20)).result(20)
    assert sum(records.commits) == 4
