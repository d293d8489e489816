"""How light is it? Import, help and installed size, beside the limits.

    python benchmarks/startup/run.py

CPU seconds of fresh processes (median of 11), beside a bare interpreter. The size is that of a
fresh virtual environment with the base install (no extras), without pip: with the bytecode that pip
compiles, and without. Then what a suite of pytest that does not use RagAssay pays for it being
installed: whole sessions of 100 tests with the plugin's entry point and without it, in turn.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"
PIP = ("--disable-pip-version-check",)
LIMITS = {
    "import ragassay": 60.0,
    "import ragassay; ragassay.evaluate": 200.0,
    "ragassay --help": 150.0,
}
UNRELATED = """
import pytest

@pytest.mark.parametrize("n", range(100))
def test_sum(n):
    assert n + 1 > n
"""


def cpu_ms(command: list[str], folder: Path = ROOT) -> float:
    """CPU milliseconds of a process started in the folder, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def median_ms(command: list[str]) -> float:
    """Median of 11 after one to warm the disk cache."""
    return statistics.median([cpu_ms(command) for _ in range(12)][1:])


@contextmanager
def base_install() -> Iterator[Path]:
    """A fresh virtual environment with the base install, as long as it is used."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        _install(Path(folder), str(ROOT))
        yield Path(folder)


def _install(environment: Path, *what: str) -> None:
    # pip reports a configured index that is not there as a warning; only a failure is of interest.
    subprocess.run(
        [environment / "bin/python", "-m", "pip", "install", "-q", *PIP, *what],
        check=True,
        stderr=subprocess.DEVNULL,
    )


def size(environment: Path) -> tuple[float, float, int]:
    """MB with bytecode, MB without, and the number of distributions (ragassay included)."""
    listed = json.loads(
        subprocess.run(
            [environment / "bin/python", "-m", "pip", "list", "--format=json", *PIP],
            check=True,
            capture_output=True,
        ).stdout
    )
    names = [d["name"] for d in listed if d["name"] not in ("pip", "setuptools", "wheel")]
    site = _site_packages(environment)
    skip = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
    files = [
        f
        for f in site.rglob("*")
        if f.is_file() and not f.relative_to(site).parts[0].startswith(skip)
    ]
    all_ = sum(f.stat().st_size for f in files)
    source = sum(f.stat().st_size for f in files if f.suffix != ".pyc")
    return all_ / 1e6, source / 1e6, len(names)


def _site_packages(environment: Path) -> Path:
    return next((environment / "lib").glob("python*/site-packages"))


def unrelated_suite(environment: Path, pairs: int = 60) -> list[float]:
    """Quartiles of the milliseconds that the plugin adds to a session that does not use it.

    Each pair is one session with the entry point and one without, after three to warm the cache.
    """
    _install(environment, "pytest")
    names = next(_site_packages(environment).glob("ragassay-*.dist-info/entry_points.txt"))
    with_plugin = names.read_text(encoding="utf-8")
    without = with_plugin.split("[pytest11]")[0]
    suite = environment / "suite"
    suite.mkdir()
    (suite / "test_sums.py").write_text(UNRELATED, encoding="utf-8")

    def session(entry_points: str) -> float:
        names.write_text(entry_points, encoding="utf-8")
        python = str(environment / "bin/python")
        return cpu_ms([python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], suite)

    for _ in range(3):
        session(with_plugin)
        session(without)
    added = []
    for n in range(pairs):
        if n % 2:
            added.append(session(with_plugin) - session(without))
        else:
            bare = session(without)
            added.append(session(with_plugin) - bare)
    return statistics.quantiles(added, n=4)


def main() -> None:
    python = sys.executable
    command = str(Path(python).with_name("ragassay"))
    bare = median_ms([python, "-c", "pass"])
    times = {
        "import ragassay": median_ms([python, "-c", "import ragassay"]),
        "import ragassay; ragassay.evaluate": median_ms(
            [python, "-c", "import ragassay; ragassay.evaluate"]
        ),
        "ragassay --help": median_ms([command, "--help"]),
    }
    with base_install() as environment:
        with_bytecode, without, distributions = size(environment)
        low, median, high = unrelated_suite(environment)
    lines = [
        "# Start-up and size",
        "",
        (
            f"{datetime.now(UTC).date()}; Python {platform.python_version()}; {os.cpu_count()}"
            " cores; `python benchmarks/startup/run.py`"
        ),
        "",
        "| what | measured | limit | |",
        "|---|---:|---:|---|",
        f"| bare interpreter, CPU | {bare:.0f} ms | | |",
    ]
    for name, taken in times.items():
        lines.append(
            f"| `{name}`, CPU | {taken:.0f} ms | {LIMITS[name]:.0f} ms |"
            f" {_mark(taken <= LIMITS[name])} |"
        )
    lines += [
        f"| base install, files as shipped | {without:.0f} MB | 250 MB | {_mark(without <= 250)} |",
        (
            f"| base install, with pip's bytecode | {with_bytecode:.0f} MB | 250 MB |"
            f" {_mark(with_bytecode <= 250)} |"
        ),
        f"| distributions | {distributions} | 45 | {_mark(distributions <= 45)} |",
        (
            f"| session of pytest that does not use it, CPU | {median:.1f} ms more"
            f" (quartiles {low:.1f} to {high:.1f}) | 10 ms | {_mark(median <= 10)} |"
        ),
    ]
    text = "\n".join(lines)
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "startup.md").write_text(text + "\n", encoding="utf-8")
    figures = {
        "bare_ms": bare,
        **times,
        "mb_with_bytecode": with_bytecode,
        "mb_as_shipped": without,
        "distributions": distributions,
        "unrelated_suite_ms": median,
    }
    (RESULTS / "startup.json").write_text(
        json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


def _mark(reached: bool) -> str:
    return "reached" if reached else "NOT reached"


if __name__ == "__main__":
    main()
