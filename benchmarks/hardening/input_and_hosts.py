"""Hostile text, bad values, every host, and the user's own code (R14, R15, R19, R20)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from ragassay.testing import LLMServer
from support import hosts
from support.hostile import CORPUS, INVALID

Dose = Literal["commit", "nightly", "release"]
ROOT = Path(__file__).resolve().parents[2]


def _tests(name: str, dose: str, mark: str, figures: dict[str, list[Any]]) -> dict[str, Any]:
    """The whole dose is in the tests of every commit: run them."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/hardening/{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    shown = {
        **figures,
        "cases that hold": [counts.get("passed", 0), mark],
        "cases that do not": [failed, "0"],
    }
    passed = done.returncode == 0 and failed == 0
    return {
        "dose": dose,
        "figures": shown,
        "passed": passed,
        "note": "" if passed else done.stdout[-300:],
    }


def hostile_text(dose: Dose) -> dict[str, Any]:
    """R14."""
    figures: dict[str, list[Any]] = {"texts": [len(CORPUS) + len(INVALID), ">= 400"]}
    return _tests(
        "test_hostile_text.py",
        "all texts in every field, 20 views under a terminal",
        "all",
        figures,
    )


def bad_values(dose: Dose) -> dict[str, Any]:
    """R15."""
    return _tests(
        "test_bad_input.py", "18 fields x 31 values, 16 set-ups, 14 rubric files", "all", {}
    )


def user_code(dose: Dose) -> dict[str, Any]:
    """R20."""
    return _tests(
        "test_user_code.py",
        "12 ways to misbehave as a metric, 5 as an application, twice",
        "all",
        {},
    )


def every_host(dose: Dose) -> dict[str, Any]:
    """R19."""
    times = {"commit": 10, "nightly": 100, "release": 300}[dose]
    runs, digests, said, hung = 0, set[str](), "", 0
    begun = time.monotonic()
    with LLMServer(keep_bodies=False) as server, tempfile.TemporaryDirectory() as folder:
        for host in hosts.HOSTS:
            try:
                done = subprocess.run(
                    [sys.executable, hosts.__file__, host, str(times), server.url, folder],
                    env={
                        **os.environ,
                        "OPENAI_API_KEY": "none",
                        "PYTHONWARNINGS": "error::RuntimeWarning",
                    },
                    capture_output=True,
                    text=True,
                    timeout=60 + 10 * times,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                hung += 1
                said = f"{host} hangs"
                continue
            lines = [line.split()[1] for line in done.stdout.splitlines()]
            runs, digests = runs + len(lines), digests | set(lines)
            if done.returncode or done.stderr:
                said = f"{host}: {done.stderr[-300:]}"
    return {
        "dose": f"{len(hosts.HOSTS)} hosts x {times}",
        "figures": {
            "hosts": [len(hosts.HOSTS), "all that are installed"],
            "runs": [runs, str(len(hosts.HOSTS) * times)],
            "hangs": [hung, "0"],
            "different results": [len(digests), "1"],
            "seconds a run": [(time.monotonic() - begun) / max(1, runs), ""],
        },
        "passed": runs == len(hosts.HOSTS) * times and len(digests) == 1 and not said,
        "note": said or ("" if "uvloop" in hosts.HOSTS else "uvloop was not installed"),
    }


IDS = {"R14": hostile_text, "R15": bad_values, "R19": every_host, "R20": user_code}
