"""Counts: what was asked, what became of it."""

from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Counts, Status

statuses = st.lists(st.sampled_from(Status), max_size=20)


def test_not_applicable_is_not_asked() -> None:
    assert Counts.of([Status.NOT_APPLICABLE]) == Counts()
    assert Counts().coverage is None


def test_coverage_is_judged_over_asked() -> None:
    counts = Counts.of([Status.JUDGED, Status.JUDGED, Status.UNPARSED, Status.FAILED])
    assert (counts.asked, counts.judged, counts.unparsed, counts.failed, counts.coverage) == (
        4,
        2,
        1,
        1,
        0.5,
    )


@given(statuses, statuses)
def test_counting_in_two_heaps_and_adding_is_counting_once(a, b) -> None:
    assert Counts.of(a) + Counts.of(b) == Counts.of(a + b)


@given(statuses)
def test_what_was_asked_is_what_was_judged_plus_every_loss(items) -> None:
    c = Counts.of(items)
    assert c.asked == c.judged + c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
