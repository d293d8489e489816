"""What was handed to a provider in one piece is known to whoever goes on with the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import Batch, EnvironmentFailure, SetupError
from ragassay.store import Store


def test_batches_come_back_in_order_and_the_newest_state_counts(
    tmp_path: Path, make_manifest
) -> None:
    first = Batch(
        "batch_1",
        "in_progress",
        ("a" * 32, "b" * 32),
        "2026-11-21T00:00:00Z",
        "https://judge.example/v1",
    )
    second = Batch("batch_2\0\ud800", "validating", (), "2026-11-21T00:00:01Z")
    with Store.open(tmp_path / "store.db") as store:
        store.create_run(make_manifest("run-1"))
        store.create_run(make_manifest("run-2"))
        assert store.batches("run-1") == ()
        store.put_batch("run-1", first)
        store.put_batch("run-1", second)
        store.put_batch("run-1", first)
        store.put_batch("run-2", first)
        store.update_batch("run-1", replace(first, state="completed"))
    with Store.open(tmp_path / "store.db") as store:
        assert store.batches("run-1") == (replace(first, state="completed"), second)
        assert store.batches("run-2") == (first,)
        assert store.check() == ()
        with pytest.raises(SetupError, match="E0103"):
            store.put_batch("nowhere", first)


def test_a_changed_byte_in_a_batch_is_noticed(tmp_path: Path, make_manifest) -> None:
    import sqlite3

    with Store.open(tmp_path / "store.db") as store:
        store.create_run(make_manifest("run-1"))
        store.put_batch("run-1", Batch("b", "done", ("key",), "2026-11-21T00:00:00Z"))
        other = sqlite3.connect(tmp_path / "store.db")
        other.execute("UPDATE batches SET payload = CAST(replace(payload, 'key', 'kez') AS BLOB)")
        other.commit()
        other.close()
        with pytest.raises(EnvironmentFailure, match="E0503"):
            store.batches("run-1")
        assert any("batch" in problem for problem in store.check())
