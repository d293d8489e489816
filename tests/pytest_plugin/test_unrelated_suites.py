"""A suite that has nothing to do with RAG: what the plugin costs it."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from support.pytest_suite import Suite

SUITE = """\
import socket
import sys

def test_nothing_of_ours_is_there():
    ours = {name for name in sys.modules if name.partition(".")[0] == "ragassay"}
    assert ours <= {"ragassay", "ragassay.lazy", "ragassay.version", "ragassay.pytest_plugin"}
    assert "ragassay.pytest_plugin" in ours
    assert not {"numpy", "aiohttp", "sqlalchemy", "typer"} & set(sys.modules)
"""
CONFTEST = """\
import sys

OPENED = []
sys.addaudithook(lambda event, _: OPENED.append(event) if event.startswith("socket.") else None)

def pytest_sessionfinish():
    assert OPENED == [], OPENED
"""
TIMED = """\
import time
import pytest, typing, re, _pytest.config
start = time.perf_counter()
import ragassay.pytest_plugin
print(time.perf_counter() - start)
"""


def test_an_unrelated_suite_imports_nothing_opens_no_socket_and_prints_no_more(
    tmp_path: Path,
) -> None:
    suite = Suite(tmp_path)
    suite.write("test_own.py", SUITE)
    suite.write("conftest.py", CONFTEST)
    done = suite("-v")
    assert (done.code, done.last) == (0, "1 passed")
    suite.write("test_own.py", "def test_nothing_of_ours_is_there(): pass\n")
    without = suite("-v", "-p", "no:ragassay")

    def comparable(out: str) -> list[str]:
        lines = re.sub(r" in \d+\.\d+s", "", out).splitlines()
        return [line for line in lines if not line.startswith("plugins:")]

    assert comparable(done.out) == comparable(without.out)


@pytest.mark.timing
def test_importing_the_plugin_takes_less_than_ten_milliseconds() -> None:
    seconds = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, check=True)
        seconds.append(float(done.stdout))
    assert statistics.median(seconds) < 0.010
