"""A store moves into another database as it is: whole runs, the same ids, nothing twice, nothing
that is damaged.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragassay.core import (
    Batch,
    Certificate,
    Context,
    DataError,
    EnvironmentFailure,
    Exchange,
    HumanLabel,
    Judgment,
    KeptMessage,
    Ledger,
    Profile,
    RowResult,
    RunState,
    Sample,
    SetUp,
    SetupError,
    Spend,
    Status,
)
from ragassay.store import Store, copy_store
from support.postgres import PASSWORD

LEDGER = Ledger(Spend(3, cost=0.25), uncertain_calls=1)


def judgment(key: str) -> Judgment:
    return Judgment(
        key,
        "j",
        "groundedness",
        Status.JUDGED,
        rating=3,
        rationale="é",
        spend=Spend(calls=1, cost=0.5),
    )


def rows(count: int) -> list[RowResult]:
    return [
        RowResult(i, Sample(f"row\0\ud800-{i}", contexts=(Context("text" * 50),)), done=i % 7 > 0)
        for i in range(count)
    ]


def exchange(key: str, row: int = 0) -> Exchange:
    messages = (KeptMessage("user", ("Judge this: ", "contexts.0", " é \ud800")),)
    return Exchange(row, "j", "groundedness", (key, "further"), messages, "{} \ud800", 3, "length")


def fill(store: Store, make_manifest, count: int = 40) -> None:
    for run_id in ("run-1", "run-2"):
        store.create_run(make_manifest(run_id, rows=count, name="nightly"))
        store.put_rows(run_id, rows(count))
        judgments = [judgment(f"{run_id}-{i}") for i in range(3 * count)]
        store.put_judgments(run_id, judgments, [exchange(f"{run_id}-{i}", i) for i in range(9)])
        store.put_batch(run_id, Batch("batch-1", "ended", ("k",), "2026-11-21T00:00:00Z"))
        store.update_run(
            run_id, state=RunState.BUDGET, stop_reason="cap \ud800", ledger=LEDGER, seconds=1.5
        )
    store.put_labels(
        "run-1",
        [HumanLabel("row-1", "groundedness", "ann", 1.0), HumanLabel("row-1", "n", "ben", 0.0)],
    )
    store.put_labels("", [HumanLabel("x", "groundedness", "ann", 1.0)], source_hash="h\0")
    store.put_certificate(
        Certificate(
            "c1",
            "2026-11-21T00:00:00Z",
            "0.1.0",
            "offline",
            "groundedness",
            {},
            {},
            "d",
            "h",
            SetUp("label", (0.0, 1.0), 1.0, "groundedness"),
            2,
            2,
            (),
            (),
            Profile(2, {}, {}),
            {},
        )
    )


def held(store: Store) -> list[object]:
    """Everything that a store holds, as a reader sees it."""
    found: list[object] = [store.certificates(), store.labels("", source_hash="h\0")]
    for run in store.runs():
        wanted = [("j", f"{run.run_id}-{i}") for i in range(1000)]
        found += [run, list(store.rows(run.run_id)), list(store.rows(run.run_id, order="worst"))]
        found += [store.labels(run.run_id), store.batches(run.run_id), store.spend(run.run_id)]
        found += [store.get_judgments(wanted, run_id=run.run_id), list(store.done(run.run_id))]
        found += [store.exchanges(run.run_id, i) for i in range(10)]
    return found


@pytest.mark.slow
def test_a_store_is_the_same_after_a_way_through_postgresql_and_back(
    tmp_path: Path, postgres_url: str, make_manifest
) -> None:
    with (
        Store.open(tmp_path / "a.db") as first,
        Store.open(postgres_url) as second,
        Store.open(tmp_path / "b.db") as third,
    ):
        fill(first, make_manifest)
        there = copy_store(first, second)
        assert (there.runs, there.known, there.rows, there.judgments) == (2, 0, 80, 240)
        assert (there.batches, there.labels, there.certificates) == (2, 3, 1)
        back = copy_store(second, third)
        assert back == there
        assert held(first) == held(second) == held(third)
        assert first.check() == second.check() == third.check() == ()
        again = copy_store(first, second)
        assert (
            again.runs,
            again.known,
            again.rows,
            again.judgments,
            again.labels,
            again.certificates,
        ) == (
            0,
            2,
            0,
            0,
            0,
            0,
        )
        assert held(first) == held(second)
        first.acquire("run-1")  # given back when the copy ended


COPY = """
import sys
from ragassay.store import Store, copy_store
with Store.open(sys.argv[1]) as source, Store.open(sys.argv[2]) as target:
    print("begun", flush=True)
    copy_store(source, target)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_that_is_killed_shows_whole_runs_only_and_is_finished_by_the_next(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, make_manifest
) -> None:
    to = str(tmp_path / "b.db") if kind == "sqlite" else request.getfixturevalue("postgres_url")
    with Store.open(tmp_path / "a.db") as source:
        fill(source, make_manifest, 400)
    with Store.open(to):
        pass
    for seed in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", COPY, str(tmp_path / "a.db"), to], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0.01, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with Store.open(to) as target:
            assert all((run.rows, run.manifest.rows) == (400, 400) for run in target.runs())
            assert target.resolve("nightly") if target.runs() else True
    with Store.open(tmp_path / "a.db") as source, Store.open(to) as target:
        copy_store(source, target)
        assert held(source) == held(target)
        assert target.check() == ()


def test_a_run_that_is_worked_on_is_not_copied(tmp_path: Path, make_manifest) -> None:
    with Store.open(tmp_path / "a.db") as first, Store.open(tmp_path / "b.db") as second:
        fill(first, make_manifest)
        with Store.open(tmp_path / "a.db") as worker:
            worker.acquire("run-2")
            with pytest.raises(EnvironmentFailure, match="E0504"):
                copy_store(first, second)
        assert second.runs() == []
        assert copy_store(first, second).runs == 2


def test_a_run_of_the_same_id_with_other_content_is_refused(tmp_path: Path, make_manifest) -> None:
    with Store.open(tmp_path / "a.db") as first, Store.open(tmp_path / "b.db") as second:
        fill(first, make_manifest)
        copy_store(first, second)
        second.put_judgments("run-2", [judgment("one more")])
        with pytest.raises(DataError, match="run run-2 in") as caught:
            copy_store(first, second)
        assert caught.value.code == "E0508"
        with pytest.raises(SetupError, match="into itself"):
            copy_store(first, first)


def test_what_is_damaged_is_not_copied(tmp_path: Path, make_manifest) -> None:
    with Store.open(tmp_path / "a.db") as first, Store.open(tmp_path / "b.db") as second:
        fill(first, make_manifest)
        other = sqlite3.connect(tmp_path / "a.db")
        other.execute(
            "UPDATE judgments SET payload = CAST(replace(payload, '\"rating\":3', '\"rating\":2')"
            " AS BLOB) WHERE run = 2"
        )
        other.commit()
        other.close()
        with pytest.raises(EnvironmentFailure, match="E0503"):
            copy_store(first, second)
        assert [run.run_id for run in second.runs()] == ["run-1"]
        with pytest.raises(SetupError, match="E0103"):
            second.run("run-2")


@pytest.mark.slow
def test_the_commands_copy_and_check_and_never_print_the_password(
    tmp_path: Path, postgres_url: str, make_manifest
) -> None:
    def ragassay(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ragassay", "store", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    with Store.open(tmp_path / "a.db") as source:
        fill(source, make_manifest)
    copied = ragassay("copy", tmp_path / "a.db", postgres_url)
    assert copied.returncode == 0, copied.stderr
    assert "2 runs, 80 rows, 240 judgments" in copied.stdout
    assert "run-1: 40 rows, 120 judgments" in copied.stderr
    again = ragassay("copy", tmp_path / "a.db", postgres_url)
    assert "there already, with the same content: 2 runs" in again.stdout
    sound = ragassay("check", "--store", postgres_url)
    assert (sound.returncode, "sound" in sound.stdout) == (0, True)
    for done in (copied, again, sound):
        assert PASSWORD not in done.stdout + done.stderr
    missing = ragassay("copy", tmp_path / "nowhere.db", postgres_url)
    assert (missing.returncode, (tmp_path / "nowhere.db").exists()) == (2, False)
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("UPDATE rows SET verdict = 'fail'")
    other.commit()
    other.close()
    assert ragassay("check", "--store", tmp_path / "a.db").returncode == 5
