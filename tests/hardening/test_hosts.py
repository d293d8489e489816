"""From wherever `evaluate` is called, it comes back with the same results, and leaves event loops
as they are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support import hosts

ONE_AFTER_ANOTHER = [host for host in hosts.HOSTS if host != "fork"]


@pytest.mark.parametrize("group", [ONE_AFTER_ANOTHER, ["fork"]], ids=["one after another", "fork"])
def test_every_host_gets_the_same_results_and_leaves_the_loops_alone(
    group: list[str], tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "none",
        "PYTHONWARNINGS": "error::RuntimeWarning",
    }
    with LLMServer(keep_bodies=False) as server:
        done = subprocess.run(
            [sys.executable, hosts.__file__, ",".join(group), "1", server.url, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
        assert done.stderr == ""
        digests = dict(line.split() for line in done.stdout.splitlines())
        assert list(digests) == group
        assert len(set(digests.values())) == 1, digests
        assert server.stats()["in_flight"] == 0
