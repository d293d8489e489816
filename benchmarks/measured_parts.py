"""A benchmark of several parts, each a module of its folder with TITLE, `measure(options)` (its
figures, for JSON) and `page(figures)` (its lines of Markdown).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"


def parts_of(name: str) -> list[str]:
    """The names of the parts of a benchmark: the modules of its folder that measure something."""
    names = []
    for path in sorted((ROOT / "benchmarks" / name).glob("*.py")):
        if "def measure(" in path.read_text(encoding="utf-8") and path.stem != "run":
            names.append(path.stem)
    return names


def parser_for(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options that every such benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared" / "data"))
    parts = parts_of(name)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="NAME")
    parser.add_argument("--data", type=Path, default=Path(data))
    parser.add_argument("--quick", action="store_true")
    return parser


def measure_parts(name: str, title: str, options: argparse.Namespace) -> None:
    """Measure the parts that are asked for, print them, and write the page of all: parts that are
    not run again keep their figures. With --quick nothing is written.
    """
    figures: dict[str, Any] = {}
    for part in options.only:
        module = importlib.import_module(f"benchmarks.{name}.{part}")
        begun = time.monotonic()
        measured = module.measure(options)
        figures[part] = {**measured, "seconds": round(time.monotonic() - begun, 1)}
        print("\n".join(module.page(figures[part])), flush=True)
    if not options.quick:
        stored = RESULTS / f"{name}.json"
        if stored.exists():
            figures = json.loads(stored.read_text()) | figures
        stored.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        (RESULTS / f"{name}.md").write_text(_page(name, title, figures), encoding="utf-8")


def _page(name: str, title: str, figures: dict[str, Any]) -> str:
    lines = [f"# {title}", "", f"Made by `benchmarks/{name}/run.py`."]
    for part in parts_of(name):
        if part in figures:
            module = importlib.import_module(f"benchmarks.{name}.{part}")
            seconds = figures[part]["seconds"]
            lines += ["", f"## {module.TITLE}", "", *module.page(figures[part])]
            lines += ["", f"`--only {part}`, {seconds:.0f} s beside other work on two cores."]
    return "\n".join(lines) + "\n"
