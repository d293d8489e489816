"""What the tests of the distributed engine share: one local Ray for all of them, rows, and the run
that nothing happened to.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ragassay
from ragassay.testing import ServerProcess
from support.invariants import canonical
from support.ray_runs import KEY, METRICS, make_rows


@pytest.fixture(scope="package")
def local_ray() -> Iterator[Any]:
    """Ray with two workers' worth of CPUs on this machine."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ[KEY] = "sk-test"  # workers have the environment that Ray was started in
    import ray

    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=80_000_000,
    )
    yield ray
    ray.shutdown()
    del os.environ[KEY]


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    with ServerProcess() as started:
        yield started


@pytest.fixture
def scripted(server: ServerProcess) -> ServerProcess:
    """The server with empty books, answering after 30 ms."""
    server.script(reset=True, latency=0.03, faults=[], fault_rates={})
    return server


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in row groups of 50, so that parts begin within them."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(make_rows()), path, row_group_size=50)
    return path


@pytest.fixture
def options(scripted: ServerProcess) -> dict[str, Any]:
    """How all runs reach the judge."""
    return {
        "judge": "openai:mock",
        "base_url": scripted.url,
        "api_key_env": KEY,
        "price": "1,2",
        "concurrency": 16,
    }


@pytest.fixture(scope="package")
def expected(
    local_ray: Any, server: ServerProcess, parquet: Path, tmp_path_factory: pytest.TempPathFactory
) -> bytes:
    """The results of the run in one process."""
    store = tmp_path_factory.mktemp("local") / "store.db"
    server.script(latency=0.0, faults=[], fault_rates={})
    with ragassay.evaluate(
        str(parquet),
        METRICS,
        judge="openai:mock",
        base_url=server.url,
        price="1,2",
        api_key_env=KEY,
        store=store,
    ) as run:
        assert run.state == "finished"
        return canonical(store, run.id)
