"""Fixtures of all tests: no key, no store and no network of the user's reaches a test."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragassay.core import JudgeInfo, Manifest
from support.examples import register_profiles
from support.pace import times_slower
from support.postgres import Postgres

register_profiles()

# gRPC, once used in a process of tests, can end the processes that later tests fork off it.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

STARTUP = Path(__file__).parent / "support" / "startup"
REPLIES = "RAGASSAY_TEST_REPLIES"
REPLIES_KEY = pytest.StashKey[str]()
# Tests of what the offline model itself says, takes and holds: its replies are never remembered.
OWN_REPLIES = ("models_offline", "judges", "hardening", "training", "benchmarks", "distributed")


def pytest_configure(config: pytest.Config) -> None:
    """Set up the memory of the offline model's replies (see support/startup) for all processes."""
    if REPLIES not in os.environ:  # a worker of pytest-xdist has the folder of the main process
        folder = tempfile.mkdtemp(prefix="ragassay-replies-")
        os.environ[REPLIES] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(STARTUP) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(STARTUP), *filter(None, paths)])
    if str(STARTUP) not in sys.path:
        sys.path.append(str(STARTUP))
    config.stash[REPLIES_KEY] = os.environ[REPLIES]
    from sitecustomize import install

    install()


# Folders of tests that start commands, servers, clusters or browsers, or that train: `make
# test-fast` leaves them out, and whatever else is marked as slow.
SLOW_FOLDERS = (
    "benchmarks",
    "cli",
    "distributed",
    "docs",
    "end_to_end",
    "examples",
    "frameworks",
    "hardening",
    "pytest_plugin",
    "training",
    "walks",
    "web",
)
# Files of which most of the time is spent in databases, browsers, waits and real servers.
SLOW_FILES = (
    "dispatch/test_dispatch.py",
    "guard/test_guards.py",
    "instrument/test_decorators.py",
    "judges/test_redaction.py",
    "metrics/test_laws.py",
    "models_local/test_trained_network.py",
    "models_offline/test_traps.py",
    "report/test_report_benchmark.py",
    "report/test_report_html.py",
    "runs/test_application.py",
    "runs/test_preflight.py",
    "runs/test_preflight_failures.py",
    "store/test_label_queue.py",
    "store/test_postgres.py",
    "store/test_sqlite_faults.py",
    "testsets/test_models.py",
    "testsets/test_offline_writer.py",
    "stress/test_application.py",
    "stress/test_report.py",
    "stress/test_resume.py",
    "stress/test_writer.py",
    "tracing/test_endpoint.py",
    "tracing/test_grpc.py",
    "trust/measure/test_labelling.py",
    "trust/measure/test_pair_judging.py",
    "trust/test_benchmark_live.py",
    "trust/test_correction.py",
    "trust/test_sampling.py",
    "tuning/test_bench.py",
    "tuning/test_optimise.py",
    "watch/test_results.py",
    "watch/test_targets.py",
    "watch/test_watcher.py",
)


SLOW_MACHINE = 4.0
"""From this many times the usual seconds on, tests marked `timing` are skipped: there they would
tell of the machine alone."""

TIMING_RERUNS = 2
"""How often a test that is marked `timing` is run again: a machine that stood still for a moment
fails it once, a fault of ours fails it each time."""
RERUNS = 1
"""How often any other test is run again: a suite of ten thousand tests with servers, kills and
clusters met one such moment in most of its runs, each time in another test. Each test that was
run again is listed at the end (`RERUN`), and one that is listed twice is to be mended."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, and let a test that failed beside others have another try."""
    beside_others = "PYTEST_XDIST_WORKER" in os.environ
    for item in items:
        place = item.path.relative_to(Path(__file__).parent)
        timing = item.get_closest_marker("timing") is not None
        if beside_others:
            item.add_marker(pytest.mark.flaky(reruns=TIMING_RERUNS if timing else RERUNS))
        if place.parts[0] in SLOW_FOLDERS or place.as_posix() in SLOW_FILES:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of the search for garbage. There are millions of
    objects of it, and some tests, and statsmodels in each of its calls, have all be looked through.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the test the memory or take it away, before any fixture of its module is made."""
    if item.get_closest_marker("timing") is not None and (slower := times_slower()) > SLOW_MACHINE:
        pytest.skip(f"this machine is {slower:.0f} times slower than usual at the moment")
    replies = item.config.stash[REPLIES_KEY]
    if item.path.relative_to(Path(__file__).parent).parts[0] in OWN_REPLIES:
        os.environ.pop(REPLIES, None)
    else:
        os.environ[REPLIES] = replies


@pytest.fixture(autouse=True)
def _own_world(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "RAGASSAY_STORE",
        "PGPASSWORD",
        "PGHOST",
        "PGUSER",
        "PGDATABASE",
        "RAGASSAY_DEBUG",
        "CI",
        "GITHUB_ACTIONS",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_WORKSPACE",
        "RUNNER_TEMP",
        "FORCE_COLOR",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_manifest():
    """A manifest of a run with this id."""

    def make(run_id: str = "run-1", **changes: object) -> Manifest:
        info = JudgeInfo(
            "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f" * 32}, "unmeasured"
        )
        values: dict[str, object] = {
            "run_id": run_id,
            "created": "2026-01-01T00:00:00+00:00",
            "version": "0.1.0",
            "source": "memory",
            "source_hash": "h",
            "rows": 3,
            "mapping": {"question": "question"},
            "metrics": ("groundedness",),
            "judge": info,
        }
        return Manifest(**{**values, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of this test run's own."""
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The URL, with its password, of an empty database."""
    return postgres.url(postgres.database())
