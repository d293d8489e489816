"""Optimising a judge: is a certificate right, what does it find, what do the steps reach?

    python benchmarks/optimise/run.py [--only NAME ...] [--engines ENGINE ...] [--quick]

Each part is a module beside this one with TITLE, `measure(options)` (its figures, for JSON) and
`page(figures)` (its lines of Markdown). Parts that are not run again keep their figures. --quick
runs a tenth of the worlds and writes nothing. --engines runs these alone again in the part
"search".
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"
FOLDER = Path(__file__).parent


def parts() -> list[str]:
    """The names of the parts: the modules that measure something."""
    names = []
    for path in sorted(FOLDER.glob("*.py")):
        if "def measure(" in path.read_text(encoding="utf-8") and path.stem != "run":
            names.append(path.stem)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--only", nargs="+", choices=parts(), default=parts(), metavar="NAME")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--engines", nargs="+", metavar="ENGINE", help="of the part 'search'")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in options.only:
        module = importlib.import_module(f"benchmarks.optimise.{name}")
        begun = time.monotonic()
        measured = module.measure(options)
        figures[name] = {**measured, "seconds": round(time.monotonic() - begun, 1)}
        print("\n".join(module.page(figures[name])), flush=True)
    if not options.quick:
        stored = RESULTS / "optimise.json"
        if stored.exists():
            figures = json.loads(stored.read_text()) | figures
        stored.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        (RESULTS / "optimise.md").write_text(_page(figures), encoding="utf-8")


def _page(figures: dict[str, Any]) -> str:
    lines = ["# Optimising a judge", "", "Made by `benchmarks/optimise/run.py`."]
    for name in parts():
        if name in figures:
            module = importlib.import_module(f"benchmarks.optimise.{name}")
            seconds = figures[name]["seconds"]
            lines += ["", f"## {module.TITLE}", "", *module.page(figures[name])]
            lines += ["", f"`--only {name}`, {seconds:.0f} s beside other work on two cores."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
