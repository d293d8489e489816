"""Inputs that nobody wrote down (F1, F2, F7, F8): seeded cases until the dose or the time is used
up.

`--seconds`: most for each target, where there is less time than the dose takes; the cases reached
are shown.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from support import fuzzing

Dose = Literal["commit", "nightly", "release"]
FIRST = 1_000_000
"""Seeds below are those of the tests."""


def _cases(check: Callable[[int], None], cases: int, seconds: float) -> tuple[int, list[str]]:
    """(how many were tried, what failed): each failure with the seed that makes it again."""
    seconds = min(seconds, float(os.environ.get("DOSE_SECONDS", seconds)))
    end, failed, n = time.monotonic() + seconds, list[str](), 0
    for n in range(1, cases + 1):
        seed = FIRST + n
        try:
            check(seed)
        except Exception as error:
            failed.append(f"seed {seed}: {type(error).__name__}: {str(error)[:150]}")
        if time.monotonic() > end or len(failed) > 20:
            break
    return n, failed


def _result(
    name: str, dose: str, done: dict[str, tuple[int, list[str]]], more: dict[str, list[Any]]
) -> dict[str, Any]:
    failed = [f"{what}: {text}" for what, (_, found) in done.items() for text in found]
    figures: dict[str, list[Any]] = {}
    for what, (tried, found) in done.items():
        figures |= {f"{what}: cases": [tried, ""], f"{what}: failures": [len(found), "0"]}
    return {
        "dose": f"{sum(n for n, _ in done.values()):,} cases ({dose})",
        "figures": figures | more,
        "passed": not failed,
        "note": "; ".join(failed[:3]),
    }


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        inside = Path(made) / "in"
        inside.mkdir()
        yield inside


def replies(dose: Dose) -> dict[str, Any]:
    """F1: the parser of judges' replies."""
    cases, seconds = {
        "commit": (5_000, 30),
        "nightly": (1_000_000, 900),
        "release": (10_000_000, 14_400),
    }[dose]
    done = {"replies": _cases(fuzzing.check_reply, cases, seconds)}
    slowest = max(fuzzing.reply_time(seed) for seed in range(200))
    made = _result("F1", dose, done, {"ms for 100 KB, the worst of 200": [slowest, "<= 5"]})
    return {**made, "passed": made["passed"] and slowest <= 5}


def readers(dose: Dose) -> dict[str, Any]:
    """F2: the readers of rows."""
    cases, seconds = {
        "commit": (1_000, 30),
        "nightly": (10_000_000, 7_200),
        "release": (100_000_000, 28_800),
    }[dose]
    with _folder() as folder:
        done = {"files": _cases(lambda seed: fuzzing.check_reader(seed, folder), cases, seconds)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    made = _result("F2", dose, done, {"peak memory, MB": [peak, "<= 250"]})
    return {**made, "passed": made["passed"] and (peak <= 250 or "pytest" in sys.modules)}


def templates(dose: Dose) -> dict[str, Any]:
    """F7: templates, rubric files, the command line."""
    most, seconds = {"commit": (500, 30), "nightly": (200_000, 600), "release": (2_000_000, 7_200)}[
        dose
    ]
    with _folder() as folder:
        done = {
            "templates": _cases(fuzzing.check_template, most, seconds),
            "rubric files": _cases(
                lambda seed: fuzzing.check_rubric_file(seed, folder), most, seconds
            ),
            "command lines": _cases(
                lambda seed: fuzzing.check_command(seed, folder), min(most, 100_000), seconds
            ),
        }
    return _result("F7", dose, done, {})


def relations(dose: Dose) -> dict[str, Any]:
    """F8: relations that metrics must keep."""
    cases, seconds = {"commit": (2_000, 30), "nightly": (50_000, 600), "release": (500_000, 3_600)}[
        dose
    ]
    return _result("F8", dose, {"rows": _cases(fuzzing.check_relations, cases, seconds)}, {})


IDS = {"F1": replies, "F2": readers, "F7": templates, "F8": relations}
