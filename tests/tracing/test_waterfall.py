"""The spans of a trace as bars: where each lies in time, and inside which other one."""

from __future__ import annotations

from ragassay.tracing.turn_list import trace_of_row
from ragassay.tracing.waterfall import MOST_BARS, waterfall

SECOND = 10**9
START = 1_790_000_000 * SECOND


def span(id: str, parent: str, start_s: float, end_s: float, **attributes: object):
    return {
        "spanId": id,
        "parentSpanId": parent,
        "name": f"span {id}",
        "startTimeUnixNano": START + int(start_s * SECOND),
        "endTimeUnixNano": START + int(end_s * SECOND),
        "attributes": attributes,
    }


def test_bars_are_shares_of_the_whole_time_and_lie_inside_their_parents() -> None:
    spans = [span("c", "b", 1, 3), span("a", "", 0, 4), span("b", "a", 1, 4), span("d", "a", 4, 4)]
    found = waterfall(spans)
    assert found.seconds == 4.0
    assert [(bar.name, bar.depth, bar.begins, bar.lasts) for bar in found.bars] == [
        ("span a", 0, 0.0, 1.0),
        ("span b", 1, 0.25, 0.75),
        ("span c", 2, 0.25, 0.5),
        ("span d", 1, 1.0, 0.0),
    ]
    assert [bar.seconds for bar in found.bars] == [4.0, 3.0, 2.0, 0.0]


def test_a_span_whose_clock_is_wrong_has_no_time_and_moves_no_other_one() -> None:
    late = span("b", "a", -(10**6), 2)  # says it took eleven days
    backwards = span("c", "a", 3, 1)
    never = {**span("d", "a", 0, 1), "startTimeUnixNano": 0}
    found = waterfall([span("a", "", 0, 4), late, backwards, never])
    assert found.seconds == 4.0
    assert {bar.name: bar.seconds for bar in found.bars} == {
        "span a": 4.0,
        "span b": None,
        "span c": None,
        "span d": None,
    }


def test_spans_in_a_circle_and_without_a_parent_are_shown_once_each() -> None:
    found = waterfall([span("a", "b", 0, 1), span("b", "a", 0, 2), span("c", "gone", 1, 2)])
    assert sorted(bar.name for bar in found.bars) == ["span a", "span b", "span c"]


def test_of_many_spans_the_first_are_shown_and_all_are_counted() -> None:
    spans = [span("0", "", 0, 9)] + [span(str(n), str(n - 1), 0, 9) for n in range(1, 3000)]
    found = waterfall(spans)
    assert (found.spans, len(found.bars)) == (3000, MOST_BARS)
    assert found.bars[-1].depth == MOST_BARS - 1


def test_long_attributes_are_cut_and_objects_stand_once() -> None:
    long = span("a", "", 0, 1, text="x" * 10_000, held={"part": "once"})
    (bar,) = waterfall([long]).bars
    said = dict(bar.said)
    assert said["text"].endswith("6,000 more characters")
    assert set(said) == {"text", "held"}


def test_a_rows_id_names_its_trace_or_none() -> None:
    trace = "5b8efff798038103d269b633813fc60c"
    assert trace_of_row(trace) == trace_of_row(f"{trace}-2") == bytes.fromhex(trace)
    for other in ("", "row-3", trace[:-1], f"{trace}-x", "z" * 32, f" {trace[1:]}", "\u0660" * 32):
        assert trace_of_row(other) is None
