"""A worker that is not on the driver's machine. Without Ray: its methods are called as the driver
calls them.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import EnvironmentFailure, Ledger, RagAssayError, RunState
from ragassay.distributed.lease import Lease
from ragassay.distributed.messages import Job, PartResult, Ready
from ragassay.distributed.parts import Part
from ragassay.distributed.worker import Worker
from ragassay.runs.options import Options
from ragassay.runs.plan import Plan, make_plan, manifest_of
from ragassay.store import Store
from ragassay.testing import LLMServer
from ragassay.version import __version__
from support.ray_runs import KEY, make_rows

ROWS = 30


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary files of the worker's machine."""
    monkeypatch.setenv(KEY, "sk-test")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "far"))
    (tmp_path / "far").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "token").write_text(
        "token"
    )  # seen from both machines, as over a network
    return tmp_path / "far"


def drive(plan: Plan, tmp_path: Path, act: Any) -> PartResult:
    """A part of all rows by a worker on another machine; `act(worker, store)` happens beside it."""

    async def main() -> PartResult:
        manifest = manifest_of(plan, "run-1", "2026-01-01T00:00:00", __version__, "", None)
        with Store.open(tmp_path / "store.db") as store:
            store.create_run(manifest)
            job = Job(
                version=__version__,
                manifest=manifest,
                options=plan.options.to_json(),
                store=tmp_path / "store.db",
                folder=tmp_path / "shared",
                journals=False,
                token="token",
                boot="another machine",
                replies=tmp_path / "nor-this",
                concurrency=4,
                current_folder=os.getcwd(),
                source_size=0,
            )
            worker = Worker(job)
            ready = await worker.prepare(False)
            assert isinstance(ready, Ready)
            assert not ready.sees_folder
            part = asyncio.create_task(
                worker.run_part(Part(0, ROWS), list(plan.rows(())), Lease(), Ledger())
            )
            await act(worker)
            ended = await part
            await worker.close()
            await plan.close()
            return ended

    return asyncio.run(main())


def plan_for(server: LLMServer) -> Plan:
    options = Options(
        judge="openai:mock", base_url=server.url, api_key_env=KEY, price="1,2", concurrency=4
    )
    return make_plan(make_rows(ROWS), options, "groundedness")


async def nothing(worker: Worker) -> None:
    pass


async def stop(worker: Worker) -> None:
    await asyncio.sleep(0.5)
    await worker.stop()


def test_a_part_that_has_ended_leaves_nothing_on_another_machine(tmp_path: Path, far: Path) -> None:
    with LLMServer() as server:
        ended = drive(plan_for(server), tmp_path, nothing)
        assert ended.state is RunState.FINISHED
        assert ended.heartbeat.rows == server.stats()["answers"] == ROWS
    assert not ended.replies
    assert not list(far.iterdir())


def test_a_part_that_was_stopped_on_another_machine_says_its_replies_and_leaves_nothing(
    tmp_path: Path, far: Path
) -> None:
    with LLMServer(latency=0.1) as server:
        ended = drive(plan_for(server), tmp_path, stop)
        assert ended.state is RunState.INTERRUPTED
        assert sum(map(len, ended.replies.values())) == server.stats()["answers"] < ROWS
    assert not list(far.iterdir())


def test_a_part_that_fails_on_another_machine_says_its_replies_too(
    tmp_path: Path, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise EnvironmentFailure("E0501", "The database is read-only.")

    with LLMServer() as server:
        monkeypatch.setattr(Store, "put_judgments", refuse)
        ended = drive(plan_for(server), tmp_path, nothing)
        assert isinstance(ended.error, RagAssayError)
        assert sum(map(len, ended.replies.values())) == server.stats()["answers"] > 0
    assert not list(far.iterdir())
