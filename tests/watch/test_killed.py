"""A watch that was killed in the middle of a batch: what was bought is kept, and no more is spent
than the budgets leave when it goes on.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support.traffic import RIGHT, turn
from watch.conftest import Watched, accounted

ROWS, CALLS = 20, 5
_WATCH = """
import sys
from ragassay.watch.door import watch_traffic
watch_traffic(
    store=sys.argv[1], metrics="groundedness", sample=1.0, session_quiet_s=0.0, concurrency=1,
    judge="openai:mock", base_url=sys.argv[2], api_key_env="WATCH_KEY", budget=["100 calls/day"],
    now=lambda: float(sys.argv[3]),
)
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    monkeypatch.setenv("WATCH_KEY", "k")
    with LLMServer(latency=0.1) as running:
        yield running


def killed(watched: Watched, server: LLMServer) -> None:
    """A watch that made some calls of a batch and was killed."""
    watched.arrive([turn(f"turn {n}", f"{RIGHT} It has {n} rooms.") for n in range(ROWS)])
    command = [sys.executable, "-c", _WATCH, str(watched.path), server.url, str(watched.now)]
    process = subprocess.Popen(command)
    try:
        while server.stats()["calls"] < CALLS:
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("budget", "hours", "left"),
    [
        ("100 calls/day", 7.0, set()),  # later than rows wait
        ("6 calls/day", 0.0, set()),
        ("0 calls/day", 0.0, {"no budget"}),
        ("3 rows/day", 0.0, set()),
    ],
)
def test_what_was_bought_is_kept_and_no_more_is_spent_than_is_left(
    watched: Watched, server: LLMServer, tmp_path: Path, budget: str, hours: float, left: set[str]
) -> None:
    killed(watched, server)
    called = server.stats()["calls"]
    watched.now += hours * 3_600
    found = watched.step(
        judge="openai:mock", base_url=server.url, api_key_env="WATCH_KEY", budget=[budget]
    )
    assert accounted(found)
    assert set(found.dropped) == left
    if hours:
        assert found.judged == ROWS
        return
    # The call that the kill cut off may have been made: it counts.
    assert server.stats()["calls"] <= max(6, called)
    assert CALLS - 2 <= found.judged <= CALLS + 1
