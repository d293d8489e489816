"""Does RagAssay survive what happens to processes, disks, stores and servers? Doses, figures and
pass marks.

    python benchmarks/hardening/run.py [--only R01,R02] [--dose commit|nightly|release] [--seconds
    600]

One module of this folder an id or a few: a module names its ids in `IDS` (id -> function) and each
function, `measure(dose) -> dict`, returns {"dose": what was done, "figures": {name: [value, mark]},
"passed": bool, "note": str}; a mark is words such as "<= 2". The scripted server's own books are
the oracle for calls and money, and the invariants I1 to I8 (tests/support/invariants.py) are
checked after every fault: a breach is a failed id with its message. Writes
benchmarks/results/hardening.json and hardening.md; ids that were not run keep their last figures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results"

for _folder in (HERE, ROOT / "tests", ROOT / "src"):
    sys.path.insert(0, str(_folder))
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
)

Dose = Literal["commit", "nightly", "release"]
Measure = Callable[[Dose], dict[str, Any]]


def modules() -> dict[str, Measure]:
    """id -> its function, of all modules in this folder."""
    found: dict[str, Measure] = {}
    for path in sorted(HERE.glob("*.py")):
        if path.name == "run.py":
            continue
        ids: dict[str, Measure] = getattr(_load(path), "IDS", {})
        if twice := found.keys() & ids.keys():
            raise ValueError(f"{path.name}: {', '.join(twice)} is measured elsewhere")
        found |= ids
    return dict(sorted(found.items()))


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hardening_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def conditions(dose: str) -> dict[str, Any]:
    """Where and when it was measured."""
    return {
        "dose": dose,
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load_before": round(os.getloadavg()[0], 2),
    }


def one(name: str, measure: Measure, dose: Dose) -> dict[str, Any]:
    """One id measured; a breach of an invariant is a failed id, not the end of the others."""
    said = conditions(dose)
    begun = time.monotonic()
    try:
        result = measure(dose)
    except Exception as error:
        what = "an invariant broke" if isinstance(error, AssertionError) else type(error).__name__
        result = {
            "dose": dose,
            "figures": {},
            "passed": False,
            "note": f"{what}: {str(error)[:400]}",
        }
        traceback.print_exc()
    return {**result, "seconds": round(time.monotonic() - begun, 1), "conditions": said}


def table(results: dict[str, Any]) -> str:
    """All ids as Markdown."""
    lines = [
        "# Survival of faults",
        "",
        "`python benchmarks/hardening/run.py [--only IDS] [--dose commit|nightly|release]`",
        "",
        (
            "Invariants I1 to I8 are checked after every fault; the scripted server's books are the"
            " oracle for calls and money. A figure stands beside its mark."
        ),
        "",
        "| id | dose reached | figure | measured | mark | passed | seconds | where and when |",
        "| --- | --- | --- | ---: | ---: | --- | ---: | --- |",
    ]
    for name, result in sorted(results.items()):
        said = result["conditions"]
        where = (
            f"{said['cpus']} CPUs ({said['machine']}), Python {said['python']}, SQLite"
            f" {said['sqlite']}, {said['when']}"
        )
        passed = "yes" if result["passed"] else "**NO**"
        figures = result["figures"] or {"": ["", ""]}
        for number, (figure, (value, mark)) in enumerate(figures.items()):
            shown = (
                f"{value:,.3g}"
                if isinstance(value, float)
                else f"{value:,}"
                if isinstance(value, int)
                else value
            )
            first = (name, result["dose"]) if number == 0 else ("", "")
            last = (passed, result["seconds"], where) if number == 0 else ("", "", "")
            lines.append(
                "| " + " | ".join(str(cell) for cell in (*first, figure, shown, mark, *last)) + " |"
            )
    notes = [
        f"- {name}: {result['note']}"
        for name, result in sorted(results.items())
        if result.get("note")
    ]
    return "\n".join([*lines, *(["", *notes] if notes else []), ""])


def main() -> None:
    """Measure, print, store beside what was measured before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="ids, separated by commas")
    parser.add_argument("--dose", choices=("commit", "nightly", "release"), default="commit")
    parser.add_argument(
        "--seconds", type=float, help="end each dose after so long; what was reached is said"
    )
    a = parser.parse_args()
    if a.seconds:
        os.environ["DOSE_SECONDS"] = str(a.seconds)
    known = modules()
    wanted = [name.strip() for name in a.only.split(",") if name.strip()] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"no such id: {', '.join(unknown)}; there are {', '.join(known)}")
    stored, failed = RESULTS / "hardening.json", list[str]()
    for name in wanted:
        result = one(name, known[name], a.dose)
        failed += [] if result["passed"] else [name]
        # Read again for each: another id may be measured beside this one.
        everything = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
        everything[name] = result
        RESULTS.mkdir(exist_ok=True)
        stored.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        stored.with_suffix(".md").write_text(table(everything), encoding="utf-8")
        print(table({name: result})[table({name: result}).index("| id") :], flush=True)
    print(
        f"{len(wanted) - len(failed)} of {len(wanted)} passed"
        + (f"; FAILED: {', '.join(failed)}" if failed else "")
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
