"""The rows of each part, and what is recovered from the parts of a killed driver."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import (
    ChatReply,
    EnvironmentFailure,
    Exchange,
    Judgment,
    KeptMessage,
    Ledger,
    Manifest,
    RowResult,
    Sample,
    Spend,
    Status,
)
from ragassay.distributed.parts import (
    LEDGER_FILE,
    LOG,
    Leftovers,
    Part,
    PartsLedger,
    PartStore,
    elsewhere,
    folder_of,
    part_lock,
    recover_parts,
    size_of_parts,
    split,
)
from ragassay.runs import ReplyLog
from ragassay.store import Store, take


@given(rows=st.integers(0, 300), size=st.integers(1, 80), done=st.sets(st.integers(0, 299)))
def test_every_row_that_is_not_done_is_in_one_part(rows: int, size: int, done: set[int]) -> None:
    parts = list(split(rows, size, done))
    todo = [
        index for part in parts for index in range(part.start, part.stop) if index not in part.done
    ]
    assert todo == [index for index in range(rows) if index not in done]
    assert all(part.rows for part in parts)


def test_parts_are_as_large_as_lets_the_workers_end_together() -> None:
    assert [size_of_parts(rows, 2) for rows in (10, 4_000, 10**8)] == [64, 500, 5000]


def judgment(key: str, rating: float = 1) -> Judgment:
    return Judgment(
        key, "j", "groundedness@1", Status.JUDGED, rating=rating, spend=Spend(1, 10, 1, cost=0.1)
    )


def row(index: int, response: str = "", *, done: bool = True) -> RowResult:
    return RowResult(index, Sample(f"r{index}", response=response), done=done)


@pytest.fixture
def whole(tmp_path: Path, make_manifest: Callable[..., Manifest]):
    with Store.open(tmp_path / "store.db") as store:
        store.create_run(make_manifest("run-1", rows=10))
        store.acquire("run-1")
        yield store


def part_of(whole: Store, name: str) -> PartStore:
    folder, _ = folder_of(whole, "run-1")
    return PartStore(folder / name, whole, whole.run("run-1").manifest)


def replied(part: Path, key: str) -> None:
    """A log of calls with one reply, for ten cents."""
    log = ReplyLog(part / LOG)
    log.begin(Ledger())
    log.arrived(log.sent(None), key, ChatReply("text", "stop", "m", Spend(1, 10, 5, cost=0.1)))
    log.close(finished=False)


def exchange(key: str) -> Exchange:
    return Exchange(2, "j", "groundedness", (key,), (KeptMessage("user", ("?",)),), "reply")


def contents(store: Store) -> tuple[list[RowResult], Spend, list[Exchange]]:
    return list(store.rows("run-1")), store.spend("run-1"), store.exchanges("run-1", 2)


def test_a_part_is_taken_in_once_however_often_that_is_tried(whole: Store) -> None:
    whole.put_rows("run-1", [row(0), row(1, "old", done=False)])
    whole.put_judgments("run-1", [judgment("a")])
    part = part_of(whole, "0-3")
    part.put_judgments(
        "run-1", [judgment("b"), judgment("c"), judgment("a", 3)], [exchange("b"), exchange("c")]
    )
    part.put_rows("run-1", [row(0, "not this one"), row(1, "new"), row(2)])
    take(whole, part.own, "run-1")
    once = contents(whole)
    take(whole, part.own, "run-1")
    assert contents(whole) == once
    assert [(r.index, r.sample and r.sample.response) for r in once[0]] == [
        (0, ""),
        (1, "new"),
        (2, ""),
    ]
    assert once[1].calls == 4
    assert whole.get_judgments([("j", "a")])["j", "a"].rating == 3
    assert once[2] == [exchange("b"), exchange("c")]
    assert not whole.check()
    part.close()


def test_a_part_looks_up_what_it_and_what_the_run_know(whole: Store) -> None:
    whole.put_judgments("run-1", [judgment("a"), judgment("b")])
    part = part_of(whole, "0-3")
    part.put_judgments("run-1", [judgment("b", 2), judgment("c")])
    found = part.get_judgments([("j", key) for key in "abcd"])
    assert {key: one.rating for (_, key), one in found.items()} == {"a": 1, "b": 2, "c": 1}
    part.close()


def test_what_a_killed_driver_left_is_absorbed_and_gone(whole: Store, tmp_path: Path) -> None:
    folder, _ = folder_of(whole, "run-1")
    for name, index in (("a", 0), ("b", 1)):
        part = part_of(whole, name)
        part.put_rows("run-1", [row(index)])
        part.close()
    PartsLedger(Ledger(Spend(5, cost=0.5)), ("a",)).write(
        folder
    )  # the driver was killed before it removed the folder of a
    left = recover_parts(whole, "run-1", "")
    assert left.ledger == recover_parts(whole, "run-1", "").ledger == Ledger(Spend(5, cost=0.5))
    left.remove()
    assert list(whole.done("run-1")) == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir() if "store.db" not in path.name) == []
    assert not folder.exists()
    assert recover_parts(whole, "run-1", "") == Leftovers()


def test_replies_and_ledgers_of_all_parts_are_read_however_often_it_is_broken_off(
    whole: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = folder_of(whole, "run-1")
    for name in ("a", "b", "c"):
        part_of(whole, name).close()
        replied(folder / name, name)
    PartsLedger(Ledger(Spend(1, cost=0.5))).write(folder)
    real, seen = PartsLedger.enter, list[str]()

    def enter(book: PartsLedger, folder: Path, part: str, spent: Ledger) -> PartsLedger:
        found = real(book, folder, part, spent)
        seen.append(part)
        if len(seen) in (1, 2):  # a kill once what the part had spent is in the book
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(PartsLedger, "enter", enter)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            recover_parts(whole, "run-1", "")
    left = recover_parts(whole, "run-1", "")
    assert seen == ["a", "b", "c"]
    assert left.ledger == Ledger(Spend(4, 30, 15, cost=0.8))  # 0.5 + 3 * 0.1
    assert {key: len(replies) for key, replies in left.replies.items()} == {"a": 1, "b": 1, "c": 1}
    assert recover_parts(whole, "run-1", "") == left


@pytest.fixture
def in_a_database(whole: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where parts without journals lie."""
    folder = tmp_path / "ragassay-run-1.parts"
    monkeypatch.setattr("ragassay.distributed.parts.folder_of", lambda *_: (folder, False))
    folder.mkdir()
    return folder


def part_in(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    replied(folder / name, name)
    return folder / name


def test_parts_of_a_run_in_a_database_have_logs_and_a_book_too(
    whole: Store, in_a_database: Path
) -> None:
    part_in(in_a_database, "a")
    PartsLedger(Ledger(Spend(1, cost=0.5)), owner="who was killed").write(in_a_database)
    left = recover_parts(whole, "run-1", "who was killed")
    assert left.ledger == Ledger(Spend(2, 10, 5, cost=0.6))
    assert list(left.replies) == ["a"]
    assert recover_parts(whole, "run-1", "who was killed") == left
    left.remove()
    assert not in_a_database.exists()


def test_a_book_of_before_the_run_was_worked_on_elsewhere_is_not_believed(
    whole: Store, in_a_database: Path
) -> None:
    part_in(in_a_database, "a")
    PartsLedger(Ledger(Spend(100)), owner="who was killed here").write(in_a_database)
    left = recover_parts(whole, "run-1", "who was killed elsewhere")
    assert left.ledger is None
    assert list(left.replies) == ["a"]


def test_a_worker_that_writes_into_a_database_is_waited_for_too(
    whole: Store, in_a_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.distributed.parts.ORPHAN_SECONDS", 0.3)
    part = part_in(in_a_database, "a")
    with part_lock(part), pytest.raises(EnvironmentFailure) as caught:
        recover_parts(whole, "run-1", "")
    assert caught.value.code == "E0504"
    assert recover_parts(whole, "run-1", "").ledger is None  # there is no book


def test_what_cannot_be_removed_is_an_error_and_counted_once(
    whole: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = folder_of(whole, "run-1")
    part_of(whole, "a").close()
    replied(folder / "a", "a")
    PartsLedger(Ledger()).write(folder)
    left = recover_parts(whole, "run-1", "")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", refuse)
        with pytest.raises(EnvironmentFailure, match="cannot be written"):
            left.remove()
    assert (
        recover_parts(whole, "run-1", "").ledger == left.ledger == Ledger(Spend(1, 10, 5, cost=0.1))
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    part = Part(0, 3)
    os.chown(elsewhere("run-1", part).parent, 12345, 12345)
    with pytest.raises(EnvironmentFailure) as caught:
        elsewhere("run-1", part)
    assert "belongs to somebody else" in caught.value.why
    (tmp_path / f"ragassay-{os.getuid()}-run-2").write_text("")
    with pytest.raises(EnvironmentFailure):
        elsewhere("run-2", part)


def test_a_parts_ledger_that_is_lost_leaves_the_ledger_to_the_store(whole: Store) -> None:
    folder, _ = folder_of(whole, "run-1")
    part = part_of(whole, "a")
    part.put_rows("run-1", [row(0)])
    part.close()
    (folder / LEDGER_FILE).write_text('{"spent": {')
    assert recover_parts(whole, "run-1", "").ledger is None
    assert list(whole.done("run-1")) == [0]


def test_a_part_whose_worker_lives_is_waited_for_and_then_refused(
    whole: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.distributed.parts.ORPHAN_SECONDS", 0.3)
    part = part_of(whole, "a")
    part.put_rows("run-1", [row(0)])
    with pytest.raises(EnvironmentFailure) as caught:
        recover_parts(whole, "run-1", "")
    assert caught.value.code == "E0504"
    part.close()
    recover_parts(whole, "run-1", "")
    assert list(whole.done("run-1")) == [0]


def test_a_part_that_a_kill_left_empty_is_no_trouble(whole: Store) -> None:
    folder, _ = folder_of(whole, "run-1")
    (folder / "a").mkdir(parents=True)
    PartsLedger(Ledger()).write(folder)
    with Store.open(folder / "b" / "part.db"):
        pass
    left = recover_parts(whole, "run-1", "")
    assert (left.ledger, left.replies) == (Ledger(), {})
    left.remove()
    assert not folder.exists()
