"""The index of a run's rows finds, sorts and pages exactly what a look at every row finds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import Cause, Counts, Diagnosis, RowResult, Sample, Score, Status, Verdict
from ragassay.store import row_index
from ragassay.store.row_index import RowIndex, RowQuery, build_index, open_index

METRICS = ("a", "b")
UNSCORED = 0.25
"""Stands for no score at all, as a row that could not be read has none."""
CAUSES = ("", "lost", "found")
VERDICTS = (None, Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED)
INJECTIONS = (
    "' OR 1=1 --", "x'; DROP TABLE rows; --", '" OR ""="', "1) UNION SELECT 1,2,3,4,5,6,7,8 --",
    "%", "_", "*", "NEAR(a b)", "id:row", "a AND NOT b", "^a", "{a b}:c", "\0", "'", '"', "a*b",
)  # fmt: skip


def row(
    index: int, values=(0.5, 0.5), *, verdict=None, cause="", slices=None, text=""
) -> RowResult:
    scores = []
    for name, value in zip(METRICS, values, strict=True):
        if value == UNSCORED:
            continue
        outcome = None if value is None else (Verdict.PASS if value >= 0.5 else Verdict.FAIL)
        scores.append(
            Score(name, Status.JUDGED, value, "", outcome, 0.5, Counts.of([Status.JUDGED]))
        )
    sample = Sample(f"row-{index}", f"question {text}", (), f"answer {index}", slices=slices or {})
    found = Cause(cause, cause, "") if cause else None
    return RowResult(index, sample, tuple(scores), Diagnosis(verdict, found))


def worst(result: RowResult) -> float:
    values = [score.value for score in result.scores if score.value is not None]
    return min(values, default=1.0)


def index_of(path: Path, rows) -> RowIndex:
    return build_index(path, rows, metrics=METRICS, stamp="s", worst=worst)


rows_of_runs = st.lists(
    st.tuples(
        st.tuples(*[st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2),
        st.sampled_from(VERDICTS),
        st.sampled_from(CAUSES),
        st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), max_size=2),
        st.sampled_from(["apple", "apple pear", "Pear", ""]),
    ),
    max_size=25,
)
queries = st.builds(
    RowQuery,
    verdict=st.sampled_from(["", "pass", "fail", "undecided", "none"]),
    cause=st.sampled_from(CAUSES),
    slice=st.none() | st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"])),
    text=st.sampled_from(
        ["", "apple", "pear", "app*", "app", "apple pear", '"apple pear"', "answer 1"]
    ),
    metric=st.sampled_from(["", *METRICS]),
    outcome=st.sampled_from(["", "", "pass", "fail", "none"]),
    sort=st.sampled_from(["worst", "index", "id", "value"]),
    descending=st.booleans(),
)


def fits(result: RowResult, query: RowQuery) -> bool:
    """What the index has to find, by a look at the row."""
    sample = result.sample
    assert sample is not None
    if query.metric and not any(score.metric == query.metric for score in result.scores):
        return False
    verdict = result.diagnosis.verdict.value if result.diagnosis.verdict else "none"
    words = f"{sample.id} {sample.question} {sample.response}".lower().replace("-", " ").split()
    wanted = query.text.replace('"', "").lower().split()
    if '"' in query.text:
        found = any(words[n : n + 2] == wanted for n in range(len(words)))
    else:
        found = all(any(is_word(word, want) for word in words) for want in wanted)
    return (
        query.verdict in ("", verdict)
        and query.cause in ("", result.diagnosis.cause.name if result.diagnosis.cause else "")
        and (query.slice is None or sample.slices.get(query.slice[0]) == query.slice[1])
        and found
        and (not query.outcome or not query.metric or outcome_of(result, query) == query.outcome)
    )


def is_word(word: str, want: str) -> bool:
    return word.startswith(want[:-1]) if want.endswith("*") else word == want


def outcome_of(result: RowResult, query: RowQuery) -> str:
    score = next(score for score in result.scores if score.metric == query.metric)
    return score.verdict.value if score.verdict else "none"


def order(result: RowResult, query: RowQuery):
    """The place of a row: rows without a value come last, whichever way."""
    by = query.sort if query.sort != "value" or query.metric else "worst"
    if by == "index":
        return 0, result.index
    if by == "id":
        return 0, result.id, result.index
    if by == "value":
        value = next(s.value for s in result.scores if s.metric == query.metric)
        return (1, 0.0, result.index) if value is None else (0, value, result.index)
    return 0, worst(result), result.index


def expected(rows, query: RowQuery) -> list[int]:
    found = [result for result in rows if fits(result, query)]
    known = sorted((r for r in found if order(r, query)[0] == 0), key=lambda r: order(r, query))
    unknown = sorted((r for r in found if order(r, query)[0] == 1), key=lambda r: order(r, query))
    if query.descending:
        known.reverse()
        unknown.reverse()
    return [result.index for result in known + unknown]


@settings(max_examples=80, deadline=None)
@given(drawn=rows_of_runs, query=queries, common=st.sampled_from([0, 1000]))
def test_pages_joined_are_the_rows_that_fit_in_their_order(
    tmp_path_factory, drawn, query, common
) -> None:
    with mock.patch.object(row_index, "COMMON", common):
        check_pages(tmp_path_factory.mktemp("index") / "i", drawn, query)


def check_pages(path: Path, drawn, query: RowQuery) -> None:
    rows = [
        row(n, values, verdict=verdict, cause=cause, slices=slices, text=text)
        for n, (values, verdict, cause, slices, text) in enumerate(drawn)
    ]
    index = index_of(path, rows)
    found, after = [], None
    while page := index.page(query, 4, after):
        found += [entry.index for entry in page]
        after = (page[-1].key, page[-1].index)
    assert found == expected(rows, query)
    assert index.count(query) in (len(found), None)
    for number, place in enumerate(found):
        entry = index.at(query, place)
        assert entry is not None
        assert entry.index == place
        # What stands before a row, the nearest first.
        before = index.page(query, 99, (entry.key, entry.index), backwards=True)
        assert [each.index for each in before] == found[:number][::-1]


def test_rows_by_the_outcome_of_a_metric(tmp_path: Path) -> None:
    index = index_of(tmp_path / "i", [row(0, (0.2, 0.9)), row(1, (0.8, 0.1)), row(2, (0.1, 0.1))])
    query = RowQuery(metric="a", outcome="fail", sort="value")
    assert [(e.index, e.value) for e in index.page(query, 9)] == [(2, 0.1), (0, 0.2)]
    assert index.count(query) == 2


def test_a_slice_is_found_whose_name_holds_the_sign_before_its_value(tmp_path: Path) -> None:
    rows = [row(0, slices={"k=v": "a=b"}), row(1, slices={"k": "v=a=b"}), row(2, slices={"k": "c"})]
    index = index_of(tmp_path / "i", rows)
    assert [e.index for e in index.page(RowQuery(slice=("k", "c")), 9)] == [2]
    # As an address is split: at its first sign. A name that there is goes first.
    assert [e.index for e in index.page(RowQuery(slice=("k", "v=a=b")), 9)] == [1]
    only = index_of(tmp_path / "j", rows[:1])
    assert [e.index for e in only.page(RowQuery(slice=("k", "v=a=b")), 9)] == [0]
    assert only.count(RowQuery(slice=("k", "v=a=b"))) == 1


def test_an_index_may_be_made_twice_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "i"
    built: list[int] = []

    def rows():
        for n in range(3000):
            if n == 2000:
                # In the middle of it, as where a run that went on is indexed anew.
                built.append(index_of(path, [row(m) for m in range(500)]).count(RowQuery()) or 0)
            yield row(n)

    assert index_of(path, rows()).count(RowQuery()) == 3000
    assert built == [500]
    assert [each.name for each in tmp_path.iterdir()] == ["i"]


def test_failing_rows_are_counted_by_slice(tmp_path: Path) -> None:
    rows = [
        row(0, (0.0, None), slices={"kind": "x"}),
        row(1, (1.0, 1.0), slices={"kind": "x"}),
        row(2, (1.0, 1.0), slices={"kind": "y"}),
        row(3, (None, 1.0), slices={"kind": "y"}),
    ]
    index = index_of(tmp_path / "i", rows)
    # Rows without a verdict of the metric are in no denominator.
    assert index.by_slice("a") == [("kind", "x", 2, 1), ("kind", "y", 1, 0)]
    assert index.by_slice("b") == [("kind", "x", 1, 0), ("kind", "y", 2, 0)]
    assert index.slices == {"kind": [("x", 2), ("y", 2)]}


@pytest.mark.parametrize("text", INJECTIONS)
def test_no_value_is_ever_a_part_of_a_statement(text: str, tmp_path: Path) -> None:
    rows = [row(0), row(1, slices={text: text}, cause=text, text=text)]
    index = index_of(tmp_path / "i", rows)
    # NUL cannot be kept in a column of text: it becomes the replacement character.
    kept = text.replace("\0", "\ufffd")
    found = RowQuery(cause=kept, slice=(kept, kept))
    assert [entry.index for entry in index.page(found, 9)] == [1]
    for query in (
        RowQuery(text=text),
        RowQuery(verdict=text),
        RowQuery(metric=text, outcome=text, sort="value"),
        RowQuery(sort=text),
    ):
        assert {entry.index for entry in index.page(query, 9)} <= {0, 1}
        index.count(query)
    assert index.count(RowQuery()) == 2


def test_an_index_of_another_stamp_or_form_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "i"
    index_of(path, [row(0)])
    assert open_index(path, "s") is not None
    assert open_index(path, "another") is None
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET value = '0' WHERE name = 'form'")
    connection.close()
    assert open_index(path, "s") is None
    path.write_bytes(b"no database")
    assert open_index(path, "s") is None


def test_an_index_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def rows():
        yield row(0)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        index_of(tmp_path / "i", rows())
    assert list(tmp_path.iterdir()) == []


def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    index_of(tmp_path / "i", [row(0)])
    assert (tmp_path / "i").stat().st_mode & 0o777 == 0o600
