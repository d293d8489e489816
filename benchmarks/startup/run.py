"""How light is it? Import, help and installed size, beside the limits.

    python benchmarks/startup/run.py

CPU seconds of fresh processes (median of 11), beside a bare interpreter. The size is that of a
fresh virtual environment with the base install (no extras), without pip: with the bytecode that pip
compiles, and without.
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
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"
LIMITS = {"import ragassay": 120.0, "ragassay --help": 200.0}


def cpu_ms(command: list[str]) -> float:
    """CPU milliseconds of a process, user and system; median of 11 after one to warm the disk
    cache.
    """
    taken = []
    for _ in range(12):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return statistics.median(taken[1:])


def installed() -> tuple[float, float, int]:
    """MB with bytecode, MB without, and the number of distributions of a base install (ragassay
    included).
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        quiet = ["-q", "--disable-pip-version-check"]
        # pip reports a configured index that is not there as a warning; only a failure is of
        # interest here.
        subprocess.run(
            [python, "-m", "pip", "install", *quiet, str(ROOT)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        listed = json.loads(
            subprocess.run(
                [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
                check=True,
                capture_output=True,
            ).stdout
        )
        names = [d["name"] for d in listed if d["name"] not in ("pip", "setuptools", "wheel")]
        site = next(Path(folder, "lib").glob("python*/site-packages"))
        skip = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
        files = [
            f
            for f in site.rglob("*")
            if f.is_file() and not f.relative_to(site).parts[0].startswith(skip)
        ]
        all_ = sum(f.stat().st_size for f in files)
        source = sum(f.stat().st_size for f in files if f.suffix != ".pyc")
    return all_ / 1e6, source / 1e6, len(names)


def main() -> None:
    python = sys.executable
    command = str(Path(python).with_name("ragassay"))
    bare = cpu_ms([python, "-c", "pass"])
    times = {
        "import ragassay": cpu_ms([python, "-c", "import ragassay"]),
        "ragassay --help": cpu_ms([command, "--help"]),
    }
    with_bytecode, without, distributions = installed()
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
    }
    (RESULTS / "startup.json").write_text(
        json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


def _mark(reached: bool) -> str:
    return "reached" if reached else "NOT reached"


if __name__ == "__main__":
    main()
