"""What is written is there: after a kill, beside another process, on a full disk, and in the order
asked for.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from ragassay.core import (
    BadRow,
    Cause,
    Context,
    Counts,
    Diagnosis,
    EnvironmentFailure,
    Exchange,
    JudgeInfo,
    Judgment,
    KeptMessage,
    Ledger,
    Manifest,
    Part,
    RowResult,
    RunState,
    Sample,
    Score,
    SetupError,
    Spend,
    Status,
    Verdict,
)
from ragassay.store import IndexSet, Store, codec, default_location, migrate, schema, sqlite
from support.present import present
from support.store_faults import NEXT, next_version


def exchange(*keys: str, row: int = 7) -> Exchange:
    return Exchange(row, "j", "groundedness", keys, (KeptMessage("user", ("Judge.",)),), "{}")


def manifest(run_id: str = "run-1", name: str = "", rows: int = 100) -> Manifest:
    judge = JudgeInfo(
        "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f"}, "unmeasured"
    )
    return Manifest(
        run_id,
        "2026-11-20T00:00:00Z",
        "0.1",
        "memory",
        "h",
        rows,
        {},
        ("groundedness",),
        judge,
        name=name,
    )


def judgment(
    key: str, rating: float | None = 3, status: Status = Status.JUDGED, judge: str = "j"
) -> Judgment:
    return Judgment(
        key,
        judge,
        "groundedness",
        status,
        rating=rating,
        rationale="é",
        spend=Spend(calls=1, cost=0.5),
    )


def row(
    index: int,
    value: float | None = 1.0,
    verdict: Verdict | None = Verdict.PASS,
    *,
    done: bool = True,
    cause: str = "",
) -> RowResult:
    score = Score(
        "groundedness",
        Status.JUDGED if value is not None else Status.FAILED,
        value,
        verdict=verdict,
        pass_mark=0.9,
        counts=Counts(2, 2),
        parts=(
            Part("claim", Status.JUDGED, probability=0.5),
            Part("claim", Status.JUDGED, probability=1.0),
        ),
    )
    tokens = Score("total_tokens", Status.JUDGED, 1500.0)
    sample = Sample(f"row-{index}", contexts=(Context("text"),), slices={"type": "a"}, cluster="c1")
    found = Cause(cause, "title", "knob") if cause else None
    return RowResult(index, sample, (score, tokens), Diagnosis(verdict, found), done=done)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, path: Path) -> str:
    """Where a store is made: what is true of one database is true of the other."""
    return str(path) if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        opened.create_run(manifest())
        yield opened


@pytest.fixture
def either(location: str) -> Iterator[Store]:
    """A store of either kind."""
    with Store.open(location) as opened:
        opened.create_run(manifest())
        yield opened


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that has the helpers of this file."""
    setup = (
        "import importlib.util as u; s = u.spec_from_file_location('helpers',"
        f" {str(Path(__file__))!r}); m = u.module_from_spec(s); s.loader.exec_module(m);"
        " globals().update(vars(m))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", setup + textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


# ── judgments and runs
# ──────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_row_asked_is_found_by_the_row_and_by_its_first_request(either: Store) -> None:
    first = exchange("a", "b")
    either.create_run(manifest("run-2"))
    either.put_judgments("run-1", [judgment("a"), judgment("b")], [first, exchange("c", row=8)])
    either.put_judgments("run-2", [judgment("a")], [exchange("a")])
    assert either.exchanges("run-1", 7) == [first]
    assert either.exchanges("run-1", 6) == []
    assert either.rows_that_asked(["a", "nowhere"]) == [("run-1", 7), ("run-2", 7)]
    assert either.rows_that_asked([]) == []
    assert either.check() == ()


def test_an_exchange_that_was_changed_on_the_disk_is_damage(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.create_run(manifest())
        store.put_judgments("run-1", [judgment("a")], [exchange("a")])
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("UPDATE exchanges SET payload = CAST(payload || x'00' AS BLOB)")
    with Store.open(tmp_path / "s.db") as store:
        assert store.check() == ("run run-1, row 7: an exchange: the checksum does not match",)
        with pytest.raises(EnvironmentFailure) as caught:
            store.exchanges("run-1", 7)
    assert caught.value.code == "E0503"


def test_the_newest_judgment_that_may_be_used_again_is_found(either: Store) -> None:
    either.put_judgments(
        "run-1",
        [
            judgment("a", 1),
            judgment("b", None, Status.FAILED),
            judgment("c", None, Status.ABSTAINED),
        ],
    )
    either.put_judgments(
        "run-1",
        [judgment("a", 2), judgment("a", None, Status.UNPARSED), judgment("a", 0, judge="other")],
    )
    found = either.get_judgments([("j", "a"), ("j", "b"), ("j", "c"), ("j", "nowhere"), ("j", "a")])
    assert found == {
        ("j", "a"): judgment("a", 2),
        ("j", "c"): judgment("c", None, Status.ABSTAINED),
    }


def test_the_judgments_of_one_run_can_be_asked_for_alone(either: Store) -> None:
    either.create_run(manifest("run-2"))
    either.put_judgments("run-1", [judgment("a")])
    either.put_judgments("run-2", [judgment("b")])
    pairs = [("j", "a"), ("j", "b")]
    assert set(either.get_judgments(pairs)) == set(pairs)
    assert set(either.get_judgments(pairs, run_id="run-2")) == {("j", "b")}


def test_what_a_run_spent_is_the_sum_of_its_own_judgments(either: Store) -> None:
    either.create_run(manifest("run-2"))
    either.put_judgments("run-1", [judgment("a"), judgment("b", None, Status.UNPARSED)])
    either.put_judgments("run-2", [judgment("c")])
    assert either.spend("run-1") == Spend(calls=2, cost=1.0)


def test_rows_that_lost_a_judgment_can_be_opened_again(either: Store) -> None:
    lost = Score("groundedness", Status.FAILED, counts=Counts(2, 1, failed=1))
    either.put_rows("run-1", [row(0), RowResult(1, Sample("row-1"), (lost,)), row(2)])
    assert either.reopen_failed("run-1") == 1
    assert [i for i in range(3) if i in either.done("run-1")] == [0, 2]
    assert either.check() == ()
    either.put_rows("run-1", [row(1)])
    assert [present(r.score("groundedness")).value for r in either.rows("run-1")] == [1.0, 1.0, 1.0]


def test_more_judgments_than_one_query_takes_are_found(either: Store) -> None:
    either.put_judgments("run-1", [judgment(f"k{i}", i) for i in range(1234)])
    found = either.get_judgments([("j", f"k{i}") for i in range(1234)])
    assert [found["j", f"k{i}"].rating for i in range(1234)] == list(range(1234))


def test_a_run_is_read_back_with_its_counts_and_its_ledger(either: Store) -> None:
    bad = RowResult(2, None, bad=BadRow("line-3", 3, "E0301", "not JSON"))
    either.put_rows("run-1", [row(0), row(1, done=False), bad])
    ledger = Ledger(Spend(3, cost=0.25), uncertain_calls=1)
    either.update_run(
        "run-1", state=RunState.INTERRUPTED, stop_reason="Ctrl-C \ud800", ledger=ledger, seconds=1.5
    )
    run = either.run("run-1")
    assert (run.manifest, run.state, run.stop_reason, run.ledger, run.seconds) == (
        manifest(),
        RunState.INTERRUPTED,
        "Ctrl-C \ud800",
        ledger,
        1.5,
    )
    assert (run.rows, run.done, run.bad) == (3, 2, 1)
    assert either.check() == ()


def test_an_id_is_given_to_one_run(either: Store) -> None:
    with pytest.raises(ValueError, match="already has a run 'run-1'"):
        either.create_run(manifest())
    assert len(either.runs()) == 1


def test_a_run_is_named_by_last_id_name_or_prefix(either: Store) -> None:
    either.create_run(manifest("zebra-2", "nightly"))
    either.create_run(manifest("zebra-3", "nightly"))
    assert [run.run_id for run in either.runs()] == ["zebra-3", "zebra-2", "run-1"]
    assert [either.resolve(n) for n in ("last", "run-1", "nightly", "ru")] == [
        "zebra-3",
        "run-1",
        "zebra-3",
        "run-1",
    ]
    for name, words in (
        ("zebra", "start"),
        ("nightli", "Did you mean 'nightly'?"),
        ("%", "No run"),
        ("", "No run"),
    ):
        with pytest.raises(SetupError, match=re.escape(words)) as caught:
            either.resolve(name)
        assert caught.value.code == "E0103"


# ── rows
# ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_row_that_is_not_done_is_replaced_and_a_done_one_is_final(either: Store) -> None:
    either.put_rows("run-1", [row(5, 0.1, done=False)])
    either.put_rows("run-1", [row(5, 0.7)])
    either.put_rows("run-1", [row(5, 0.2), row(5, 0.3, done=False)])
    assert list(either.rows("run-1")) == [row(5, 0.7)]
    assert either.row("run-1", "row-5") == row(5, 0.7)
    assert either.row("run-1", "row-6") is None


def test_the_worst_rows_come_first(either: Store) -> None:
    stored = [
        row(0, 0.2),
        row(1, 0.9, Verdict.FAIL),
        row(2, None, Verdict.UNDECIDED),
        row(3, 0.1, Verdict.FAIL, cause="ungrounded"),
        row(4, 0.1, Verdict.FAIL),
        row(5, 0.5, Verdict.UNDECIDED),
        RowResult(6, None, bad=BadRow("line-7", 7, "E0301", "x")),
    ]
    either.put_rows("run-1", stored[::-1])
    assert [r.index for r in either.rows("run-1", order="worst")] == [3, 4, 1, 5, 2, 0, 6]
    assert [r.index for r in either.rows("run-1", order="worst", limit=2, offset=1)] == [4, 1]
    assert [r.index for r in either.rows("run-1", verdict=Verdict.FAIL)] == [1, 3, 4]
    assert list(either.rows("run-1", cause="ungrounded")) == [stored[3]]


def test_pages_of_any_size_give_the_same_rows(
    either: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = [row(i, (i * 7 % 5) / 5, Verdict.FAIL if i % 2 else Verdict.PASS) for i in range(40)]
    either.put_rows("run-1", stored)
    worst = list(either.rows("run-1", order="worst"))
    monkeypatch.setattr("ragassay.store.paging.ROWS_A_PAGE", 3)
    monkeypatch.setattr("ragassay.store.paging.LINES_A_PAGE", 3)
    monkeypatch.setattr("ragassay.store.paging.BYTES_A_PAGE", 1)
    assert list(either.rows("run-1")) == stored
    assert list(either.rows("run-1", order="worst")) == worst
    assert [r.index for r in either.rows("run-1", limit=7, offset=30)] == list(range(30, 37))
    assert [line.index for line in either.row_lines("run-1")] == list(range(40))
    read = list(either.lines("run-1"))
    assert [line for line, _ in read] == list(either.row_lines("run-1"))
    assert [score for _, scores in read for score in scores] == list(either.score_lines("run-1"))


def test_score_lines_hold_the_mean_probability_of_the_parts(either: Store) -> None:
    either.put_rows("run-1", [row(1, 0.5), row(0)])
    scores = list(either.score_lines("run-1"))
    assert [(s.index, s.metric, s.probability) for s in scores] == [
        (0, "groundedness", 0.75),
        (0, "total_tokens", None),
        (1, "groundedness", 0.75),
        (1, "total_tokens", None),
    ]
    assert [
        (s.row_id, s.value, s.cluster, s.slices)
        for s in either.score_lines("run-1", "groundedness")
    ] == [
        ("row-0", 1.0, "c1", {"type": "a"}),
        ("row-1", 0.5, "c1", {"type": "a"}),
    ]


def test_done_rows_are_known_and_take_little_memory(either: Store) -> None:
    either.put_rows(
        "run-1",
        [row(0), row(1, done=False), row(2), RowResult(9, None, bad=BadRow("x", 1, "E0301", "x"))],
    )
    assert set(either.done("run-1")) == {0, 2, 9}
    many = IndexSet(range(1_000_000))
    assert len(many) == 1_000_000
    assert 999_999 in many
    assert 1_000_000 not in many
    assert len(many._bits) < 1 << 19


def test_mistyped_row_ids_find_their_neighbours(either: Store) -> None:
    either.put_rows("run-1", [row(i) for i in range(3)] + [RowResult(3, Sample("odd\0\ud800%"))])
    assert either.row_ids_like("run-1", "ROW-1") == ["row-1"]
    assert "row-2" in either.row_ids_like("run-1", "rwo-2")
    assert either.row_ids_like("run-1", "%") == ["odd\0\ud800%"]
    assert either.row("run-1", "odd\0\ud800%") is not None


def test_a_number_that_is_not_finite_leaves_nothing_of_its_batch(either: Store) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        either.put_rows("run-1", [row(0), row(1, float("nan"))])
    assert list(either.rows("run-1")) == []


# ── several at once, and kills
# ──────────────────────────────────────────────────────────────────────────────────


def test_threads_write_and_read_at_the_same_time(either: Store) -> None:
    def work(part: int) -> None:
        for i in range(20):
            either.put_judgments("run-1", [judgment(f"{part}-{i}")])
            assert ("j", f"{part}-{i}") in either.get_judgments([("j", f"{part}-{i}")])

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        len(either.get_judgments([("j", f"{part}-{i}") for part in range(4) for i in range(20)]))
        == 80
    )


WRITE = """
    with Store.open(sys.argv[1]) as store:
        for i in range(int(sys.argv[3])):
            store.put_judgments("run-1", [judgment(f"{sys.argv[2]}-{i}-{k}") for k in range(50)])
            print(i, flush=True)
"""


@pytest.mark.slow
def test_two_processes_write_into_one_store_and_lose_nothing(store: Store, path: Path) -> None:
    writers = [child(WRITE, path, name, 40) for name in "ab"]
    assert [(w.communicate()[1], w.returncode) for w in writers] == [("", 0), ("", 0)]
    assert (
        len(
            store.get_judgments(
                [("j", f"{n}-{i}-{k}") for n in "ab" for i in range(40) for k in range(50)]
            )
        )
        == 4000
    )
    assert store.check() == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_was_committed_before_a_kill_is_there(store: Store, path: Path, seed: int) -> None:
    writer = child(WRITE, path, "x", 100_000)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(random.Random(seed).uniform(0.02, 0.2))
    writer.send_signal(signal.SIGKILL)
    said = [int(line) for line in writer.communicate()[0].split()]
    last = max(said, default=0)
    found = store.get_judgments([("j", f"x-{i}-{k}") for i in range(last + 3) for k in range(50)])
    assert len(found) % 50 == 0  # whole batches only
    assert len(found) >= 50 * (last + 1)
    assert store.check() == ()


@pytest.mark.slow
def test_a_run_has_one_living_owner(store: Store, path: Path) -> None:
    store.acquire("run-1")
    store.acquire("run-1")
    code = (
        "store = Store.open(sys.argv[1]); store.acquire('run-1'); print('mine', flush=True);"
        " time.sleep(60)"
    )
    refused = child(code, path)
    errors = refused.communicate()[1]
    assert "E0504" in errors
    assert f"process {os.getpid()} on " in errors
    with Store.open(path) as second, pytest.raises(EnvironmentFailure, match="E0504"):
        second.acquire("run-1")
    store.release("run-1")
    owner = child(code, path)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "mine\n"
    with pytest.raises(EnvironmentFailure, match=f"process {owner.pid} on "):
        store.acquire("run-1")
    owner.kill()
    owner.communicate()
    store.acquire("run-1")  # its process is gone


def test_a_lock_of_another_machine_is_left_alone_until_it_is_old(store: Store, path: Path) -> None:
    for seen, free in ((time.time() - 60, False), (time.time() - 3600, True)):
        with sqlite3.connect(path) as other:
            other.execute("DELETE FROM run_locks")
            other.execute("INSERT INTO run_locks VALUES (1, 't', 1, 'elsewhere', '', ?)", (seen,))
        other.close()
        if free:
            store.acquire("run-1")
        else:
            with pytest.raises(EnvironmentFailure, match="elsewhere"):
                store.acquire("run-1")


def test_a_write_waits_for_a_program_that_holds_the_file(store: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.5, lambda: other.execute("COMMIT")).start()
    store.put_judgments("run-1", [judgment("a")])
    other.close()
    assert ("j", "a") in store.get_judgments([("j", "a")])


# ── the file, and what can be wrong with it
# ─────────────────────────────────────────────────────────────────────


def test_the_file_is_its_owners_alone_and_its_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGASSAY_STORE", raising=False)
    with Store.open(default_location()) as store:
        assert Path(store.location) == tmp_path / ".ragassay" / "store.db"
        assert stat.S_IMODE(Path(store.location).stat().st_mode) == 0o600
    assert (tmp_path / ".ragassay" / ".gitignore").read_text() == "*\n"
    assert sorted(p.name for p in Path(store.location).parent.iterdir()) == [
        ".gitignore",
        "store.db",
    ]
    monkeypatch.setenv("RAGASSAY_STORE", "elsewhere.db")
    assert default_location() == "elsewhere.db"


@pytest.mark.parametrize(
    "name", ["mit Leerzeichen/größe 漢字 ?#%20.db", "a" * 200 + "/" + "b" * 200]
)
def test_unusual_paths_work(tmp_path: Path, name: str) -> None:
    for location in (tmp_path / name, f"sqlite:///{tmp_path / name}"):
        with Store.open(location) as store:
            assert Path(store.location) == tmp_path / name
            assert store.runs() == []


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:secret@h/db",
        "postgresql+asyncpg://me:secret@h/db",
        "postgresql://me:secret@h",
        "postgresql://me:a@secret@h/db",
        "postgresql://me:1/secret@h:port/db",
        "sqlite://",
        ":memory:",
        "",
    ],
)
def test_what_is_neither_a_file_nor_postgresql_is_refused_without_showing_the_password(
    url: str,
) -> None:
    with pytest.raises(SetupError) as caught:
        Store.open(url)
    assert caught.value.code == "E0101"
    assert "secret" not in str(caught.value)


def test_a_path_below_a_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SetupError, match="is a folder") as refused:
        Store.open(tmp_path)
    assert refused.value.code == "E0101"
    for wrong in (tmp_path / "file" / "store.db", tmp_path / ("n" * 300)):
        with pytest.raises(EnvironmentFailure, match="E0501") as caught:
            Store.open(wrong)
        assert str(wrong) in caught.value.where


def test_a_file_that_is_not_a_store_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    rows, foreign = tmp_path / "rows.jsonl", tmp_path / "other.db"
    rows.write_text('{"question": "x"}\n' * 100)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE things (x)")
    connection.close()
    for file, code in ((rows, "E0503"), (foreign, "E0501")):
        before = file.read_bytes()
        with pytest.raises(EnvironmentFailure, match=code):
            Store.open(file)
        assert file.read_bytes() == before


def test_a_store_that_was_deleted_is_noticed_at_the_next_write(store: Store, path: Path) -> None:
    path.unlink()
    with pytest.raises(EnvironmentFailure, match="deleted or moved"):
        store.put_judgments("run-1", [judgment("a")])


@pytest.mark.parametrize(
    "column", [{"seconds": 1.25}, {"state": "failed"}, {"stop_reason": "Ctrl-D"}]
)
def test_how_a_run_stands_is_sealed_as_a_whole(either: Store, column: dict[str, object]) -> None:
    ledger = Ledger(confirmed=Spend(3, 10, 20, cost=0.1))
    either.update_run(
        "run-1", state=RunState.INTERRUPTED, stop_reason="Ctrl-C", ledger=ledger, seconds=1.5
    )
    before = either.run("run-1")
    assert (before.seconds, before.state, before.stop_reason, before.ledger) == (
        1.5,
        RunState.INTERRUPTED,
        "Ctrl-C",
        ledger,
    )
    either.access.execute(update(schema.runs).values(**column))  # a bit of the file that turned
    with pytest.raises(EnvironmentFailure, match="E0503"):
        either.run("run-1")
    # Stores of before sealed the ledger alone.
    alone = codec.seal(codec.encode(ledger), "run-1")
    either.access.execute(update(schema.runs).values(ledger=alone))
    assert either.run("run-1").ledger == ledger


def test_damage_is_told_and_never_read_as_a_value(store: Store, path: Path) -> None:
    store.put_judgments("run-1", [judgment("a")])
    store.put_rows("run-1", [row(0)])
    other = sqlite3.connect(path)
    other.execute(
        "UPDATE judgments SET payload = CAST(replace(payload, '\"rating\":3', '\"rating\":2') AS"
        " BLOB)"
    )
    other.execute("UPDATE rows SET verdict = 'fail'")
    other.commit()
    other.close()
    with pytest.raises(EnvironmentFailure, match="E0503"):
        store.get_judgments([("j", "a")])
    assert len(store.check()) == 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs RLIMIT_FSIZE")
def test_a_full_disk_is_told_and_what_was_stored_before_is_intact(store: Store, path: Path) -> None:
    code = """
        import resource
        from ragassay.core import EnvironmentFailure
        store, count = Store.open(sys.argv[1]), 0
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limit[1]))
        try:
            while True:
                store.put_judgments("run-1", [judgment(f"{count}-{k}") for k in range(50)])
                count += 1
        except EnvironmentFailure as error:
            print(count, error.code, "bytes free" in error.where)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        store.put_judgments("run-1", [judgment("after")])
    """
    full = child(code, path)
    out, errors = full.communicate()
    assert (errors, full.returncode) == ("", 0)
    count, *told = out.split()
    assert told == ["E0506", "True"]
    assert int(count) > 0
    assert len(
        store.get_judgments([("j", f"{i}-{k}") for i in range(int(count) + 1) for k in range(50)])
    ) == 50 * int(count)
    assert ("j", "after") in store.get_judgments([("j", "after")])
    assert store.check() == ()


# ── versions of the schema
# ──────────────────────────────────────────────────────────────────────────────────────


def described(path: Path) -> dict[str, object]:
    """Tables with their columns, keys and indexes as SQLite sees them."""
    with sqlite3.connect(path) as c:
        names = [
            n
            for (n,) in c.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            )
        ]
        found: dict[str, object] = {}
        for name in names:
            indexes = sorted(
                (index[1], index[2], tuple(c.execute(f"PRAGMA index_info({index[1]})")))
                for index in c.execute(f"PRAGMA index_list({name})")
            )
            found[name] = (
                tuple(c.execute(f"PRAGMA table_info({name})")),
                indexes,
                sorted(c.execute(f"PRAGMA foreign_key_list({name})")),
            )
    c.close()
    return found


def test_a_new_store_has_the_schema_that_the_migrations_give(
    store: Store, path: Path, tmp_path: Path
) -> None:
    migrated = tmp_path / "migrated.db"
    sqlite.create_file(migrated)
    sqlite.use_wal(migrated)
    engine = sqlite.writer_engine(migrated)
    with engine.begin() as connection:
        migrate.upgrade(connection)
    engine.dispose()
    assert described(migrated) == described(path)


def test_an_older_store_is_copied_and_migrated_with_all_it_holds(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = schema.HEAD
    with Store.open(path) as store:
        store.create_run(manifest())
    monkeypatch.setattr(migrate, "MIGRATIONS", next_version(tmp_path / "100% migrations"))
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with Store.open(path) as store:
        assert store.run("run-1").manifest == manifest()
        store.create_run(manifest("run-2"))
        assert store.check() == ()
        assert store.backup == tmp_path / f"store.db.{released}.backup"
        assert "extra" in described(path)
        assert "extra" not in described(store.backup)
        assert stat.S_IMODE(store.backup.stat().st_mode) == 0o600
    with Store.open(path) as again:
        assert again.backup is None
    monkeypatch.setattr(schema, "HEAD", released)
    with pytest.raises(EnvironmentFailure, match="E0502"):
        Store.open(path)


@pytest.mark.parametrize("version", ["0001", "0002", "0003"])
def test_a_store_of_before_the_first_release_is_refused_and_left_alone(
    path: Path, version: str
) -> None:
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE ragassay_version SET version_num = ?", (version,))
    connection.close()
    before = path.read_bytes()
    with pytest.raises(EnvironmentFailure, match=r"E0501.*before the first release") as error:
        Store.open(path)
    assert f"version {version}" in error.value.why
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_migration_that_fails_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(path).close()
    before = described(path)
    failing = next_version(tmp_path / "m", "op.execute('CREATE TABLE runs (x)')")
    monkeypatch.setattr(migrate, "MIGRATIONS", failing)
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with pytest.raises(EnvironmentFailure, match="E0501"):
        Store.open(path)
    assert described(path) == before


@pytest.mark.slow
def test_the_door_is_light_and_a_store_needs_no_alembic(tmp_path: Path) -> None:
    code = """
        import sys, ragassay.store
        assert not {"sqlalchemy", "alembic"} & set(sys.modules)
        ragassay.store.Store.open(sys.argv[1]).close()
        ragassay.store.Store.open(sys.argv[1]).close()
        assert "alembic" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path / "s.db"], check=True)


def test_a_former_owner_that_wakes_up_overwrites_nothing(tmp_path, make_manifest) -> None:
    with Store.open(tmp_path / "s.db") as old, Store.open(tmp_path / "s.db") as new:
        old.create_run(make_manifest("run-1"))
        old.acquire("run-1")
        old.access.execute(
            delete(schema.run_locks)
        )  # suspended for so long on another machine that its lock counts as left
        new.acquire("run-1")
        new.update_run(
            "run-1",
            state=RunState.FINISHED,
            stop_reason="",
            ledger=Ledger(Spend(500, cost=5.0)),
            seconds=9.0,
        )
        with pytest.raises(EnvironmentFailure) as caught:
            old.update_run(
                "run-1", state=RunState.FAILED, stop_reason="x", ledger=Ledger(), seconds=1.0
            )
        assert caught.value.code == "E0504"
        assert (new.run("run-1").state, new.run("run-1").ledger.confirmed.calls) == (
            RunState.FINISHED,
            500,
        )
