"""Rows handed out to people: nobody holds another's, nothing that was answered is lost, and a label
is one of those that every command finds.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import HumanLabel, LabelAnswer, RowResult, RowToLabel, Sample
from ragassay.store import Store, copy_store, label_queue
from ragassay.store.label_queue import wants_more

RUN, NAME = "run-1", "groundedness"


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def store(location: str, make_manifest) -> Iterator[Store]:
    with Store.open(location) as opened:
        opened.create_run(make_manifest(RUN, rows=20))
        opened.put_rows(RUN, [RowResult(n, Sample(f"r{n}")) for n in range(20)])
        yield opened


def queue(store: Store, *wanted: int) -> list[RowToLabel]:
    rows = [
        RowToLabel(f"r{n}", n, people, (0.0, 1.0), "active", 0.25, 1)
        for n, people in enumerate(wanted)
    ]
    store.add_to_label(RUN, NAME, rows)
    return rows


def answer(store: Store, row: RowToLabel, who: str, value: float | None) -> None:
    store.put_answer(RUN, NAME, LabelAnswer(row.row_id, who, value, "why"), row)


def test_a_row_is_held_by_one_person_until_it_is_answered(store: Store) -> None:
    queue(store, 1, 1)
    first = store.reserve_to_label(RUN, NAME, "Ann")
    assert first is not None
    # Ann gets the same row again, Bob the next, and Cem none.
    assert store.reserve_to_label(RUN, NAME, "Ann") == first
    second = store.reserve_to_label(RUN, NAME, "Bob")
    assert second is not None
    assert (first.row_id, second.row_id) == ("r0", "r1")
    assert store.reserve_to_label(RUN, NAME, "Cem") is None
    answer(store, first, "Ann", 1.0)
    assert store.reserve_to_label(RUN, NAME, "Ann") is None


def test_a_row_that_somebody_left_comes_back(store: Store, monkeypatch) -> None:
    queue(store, 1)
    assert store.reserve_to_label(RUN, NAME, "Ann") is not None
    assert store.reserve_to_label(RUN, NAME, "Bob") is None
    monkeypatch.setattr(label_queue, "HELD_S", -1.0)
    store.reserve_to_label(RUN, NAME, "Ann")
    assert store.reserve_to_label(RUN, NAME, "Bob") is not None


def test_an_answer_is_a_label_with_the_chance_of_its_row(store: Store) -> None:
    (row,) = queue(store, 1)
    answer(store, row, "Ann", 1.0)
    (label,) = store.labels(RUN, NAME)
    assert (label.row_id, label.annotator, label.value) == ("r0", "Ann", 1.0)
    assert (label.stream, label.inclusion_probability, label.round) == ("active", 0.25, 1)
    assert label.rationale == "why"
    assert store.check() == ()


def test_who_cannot_tell_gives_no_label_and_takes_an_earlier_one_back(store: Store) -> None:
    (row,) = queue(store, 1)
    answer(store, row, "Ann", 1.0)
    answer(store, row, "Ann", 0.0)
    assert [label.value for label in store.labels(RUN, NAME)] == [0.0]
    answer(store, row, "Ann", None)
    assert store.labels(RUN, NAME) == ()
    # What was said before is kept.
    assert [a.value for a in store.label_answers(RUN, NAME)] == [1.0, 0.0, None]
    assert len(store.label_answers(RUN, NAME, row_id=row.row_id)) == 3
    assert store.label_answers(RUN, NAME, row_id="another") == ()


def test_a_row_for_two_goes_to_two_and_to_a_third_where_they_are_tied(store: Store) -> None:
    (row,) = queue(store, 2)
    for who, value in (("Ann", 1.0), ("Bob", 0.0)):
        assert store.reserve_to_label(RUN, NAME, who) is not None
        answer(store, row, who, value)
    assert store.reserve_to_label(RUN, NAME, "Cem") is not None
    answer(store, row, "Cem", 1.0)
    assert store.reserve_to_label(RUN, NAME, "Dee") is None


@pytest.mark.parametrize(
    ("wanted", "values", "more"),
    [
        (1, [], True),
        (1, [1.0], False),
        (1, [None], False),
        (2, [1.0], True),
        (2, [1.0, 1.0], False),
        (2, [1.0, 0.0], True),
        (2, [1.0, None], False),
        (2, [1.0, 0.0, None], True),
        (2, [1.0, 0.0, 1.0], False),
        (2, [0.0, 1.0, 2.0], True),
    ],
)
def test_a_row_wants_more_people_until_enough_agree(wanted, values, more) -> None:
    assert wants_more(wanted, values) is more


def test_eight_people_at_once_never_get_one_row_together(store: Store, location: str) -> None:
    rows = queue(store, *[1] * 20)
    given: list[tuple[str, str]] = []
    lock = threading.Lock()

    def work(who: str) -> None:
        while (row := store.reserve_to_label(RUN, NAME, who)) is not None:
            with lock:
                given.append((row.row_id, who))
            answer(store, row, who, 1.0)

    people = [threading.Thread(target=work, args=(f"p{n}",)) for n in range(8)]
    for person in people:
        person.start()
    for person in people:
        person.join(300)
    counts = Counter(row for row, _ in given)
    assert set(counts) == {row.row_id for row in rows}
    assert set(counts.values()) == {1}
    assert len(store.labels(RUN, NAME)) == 20


KILLED = """
    import sys
    from ragassay.core import LabelAnswer
    from ragassay.store import Store
    with Store.open(sys.argv[1]) as store:
        while (row := store.reserve_to_label("run-1", "groundedness", sys.argv[2])) is not None:
            answer = LabelAnswer(row.row_id, sys.argv[2], 1.0)
            store.put_answer("run-1", "groundedness", answer, row)
            print(row.row_id, flush=True)
"""


def kill_labellers(store: Store, location: str, monkeypatch, kills: int) -> None:
    queue(store, *[1] * 20)
    monkeypatch.setattr(label_queue, "HELD_S", 0.0)  # a dead person's row is free at once
    told = []
    for n in range(kills):
        command = [sys.executable, "-c", textwrap.dedent(KILLED), location, f"p{n}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
        assert process.stdout is not None
        for line in process.stdout:
            told.append((line.strip(), f"p{n}"))
            if len(told) % 3 == 0:
                break
        process.kill()
        process.wait()
        process.stdout.close()
    stored = {(label.row_id, label.annotator) for label in store.labels(RUN, NAME)}
    assert set(told) <= stored
    answers = {(a.row_id, a.annotator) for a in store.label_answers(RUN, NAME)}
    assert answers == stored
    assert store.check() == ()


def test_no_label_that_was_confirmed_is_lost_when_the_process_is_killed(
    store: Store, location: str, monkeypatch
) -> None:
    kill_labellers(store, location, monkeypatch, 3)


def test_a_copy_of_a_store_holds_what_is_to_be_labelled_and_every_answer(
    store: Store, tmp_path: Path
) -> None:
    rows = queue(store, 1, 2)
    answer(store, rows[0], "Ann", 1.0)
    answer(store, rows[0], "Ann", 0.0)
    with Store.open(tmp_path / "copy.db") as copy:
        copy_store(store, copy)
        copy_store(store, copy)
        assert copy.to_label(RUN, NAME) == store.to_label(RUN, NAME)
        assert copy.label_answers(RUN, NAME) == store.label_answers(RUN, NAME)
        assert copy.labels(RUN, NAME) == store.labels(RUN, NAME)
        assert copy.check() == ()


def test_rows_chosen_twice_are_handed_out_once(store: Store) -> None:
    rows = queue(store, 1, 1)
    assert store.add_to_label(RUN, NAME, rows) == 0
    assert store.add_to_label(RUN, NAME, [RowToLabel("r9", 0, 1, (0.0, 1.0))]) == 1
    assert [row.row_id for row in store.to_label(RUN, NAME)] == ["r0", "r1", "r9"]
    assert store.names_to_label(RUN) == (NAME,)


def test_a_stamp_changes_with_each_label_answer_and_chosen_row(store: Store) -> None:
    seen = [store.labels_stamp()]

    def is_new() -> bool:
        seen.append(store.labels_stamp())
        return seen[-1] not in seen[:-1]

    first, second = queue(store, 1, 1)
    assert is_new()
    answer(store, first, "ada", 1.0)
    assert is_new()
    answer(store, first, "ada", 0.0)
    assert is_new(), "the last label is replaced by one with its number"
    answer(store, second, "ada", 1.0)
    assert is_new()
    answer(store, first, "ada", None)
    assert is_new(), "a label that is not the last is taken back"
    label = HumanLabel("r0", NAME, "bob", 1.0)
    store.put_labels(RUN, [label])
    assert is_new()
    store.put_labels(RUN, [replace(label, value=0.0)], replace=True)
    assert is_new()
    assert store.labels_stamp() == seen[-1]
