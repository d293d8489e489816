"""Coverage of every 95 % interval that is printed.

    python benchmarks/coverage/run.py [--dose full|ci] [--only rates] [--no-write]
    python benchmarks/coverage/run.py --dose by-verdict --only ppi

Each part (rates, agreement, ppi, calibration) simulates worlds with known truth, or draws clusters
of real labels, and counts. The gate is 93 % for every cell that is held; a cell that cannot be held
says why. Below the gate beyond chance means that a true 93 % would give so few with probability
under 1 %. Writes benchmarks/results/coverage.{json,md}; parts that were not run keep the figures
they had, and so do the cells of a part that a smaller dose leaves out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from benchmarks.coverage.simulate import Cell

from ragassay.scoring.intervals import incomplete_beta

PARTS, SEED, CHANCE = ("rates", "agreement", "ppi", "calibration"), 20261121, 0.01


def below(cell: Cell) -> bool:
    """Whether the cell's coverage is under its gate."""
    return cell.gate is not None and cell.printed > 0 and cell.coverage < cell.gate


def chance(cell: Cell) -> float:
    """P(so few or fewer held) if the gate were the true coverage."""
    trials = round(cell.trials * cell.printed)
    held = round(cell.coverage * trials)
    return (
        1.0 if held >= trials else incomplete_beta(trials - held, held + 1, 1 - (cell.gate or 0.93))
    )


def where(cell: Cell) -> str:
    """The cell in words."""
    words = [f"n {cell.n}", f"clusters {cell.clusters}", f"prevalence {cell.prevalence:.2f}"]
    words += [f"icc {cell.icc:g}"] if cell.icc else []
    words += [f"correlation {cell.correlation:g}"] if cell.correlation else []
    return f"{cell.quantity}; {cell.method}; {', '.join(words)}"


def markdown(parts: dict[str, dict[str, Any]]) -> str:
    """The stored table."""
    out = [
        "# Coverage of the printed 95 % intervals",
        "",
        (
            "Made by `python benchmarks/coverage/run.py`. Gate 93 %. For a test, coverage is 1 -"
            ' its rate of false alarms. "Printed" is the share of trials in which an interval was'
            " given at all."
        ),
    ]
    for name, part in parts.items():
        cells = [_cell(c) for c in part["cells"]]
        held, under = [c for c in cells if c.gate is not None], [c for c in cells if below(c)]
        sure = [c for c in under if chance(c) < CHANCE]
        out += [
            "",
            f"## {name}",
            "",
            (
                f"Dose {part['dose']}, seed {part['seed']}, {len(cells)} cells,"
                f" {sum(c.trials for c in cells):,} trials, {part['seconds']:.0f} s;"
                f" {part['conditions']}. Held to the gate: {len(held)}; below it {len(under)},"
                f" {len(sure)} of these beyond chance. Not held, with a reason:"
                f" {len(cells) - len(held)}."
            ),
            "",
            "| quantity | method | cells | least | median | most | printed at least | mean width |",
            "|---|---|---|---|---|---|---|---|",
        ]
        groups: dict[tuple[str, str, bool], list[Cell]] = defaultdict(list)
        for cell in cells:
            groups[cell.quantity, cell.method, cell.gate is not None].append(cell)
        for (quantity, method, gated), group in groups.items():
            shares = np.array([cell.coverage for cell in group])
            widths = [cell.width for cell in group if math.isfinite(cell.width)]
            out.append(
                f"| {quantity} | {method}{'' if gated else ' (not held)'} | {len(group)} |"
                f" {shares.min():.3f} | {np.median(shares):.3f} | {shares.max():.3f} |"
                f" {min(cell.printed for cell in group):.2f} |"
                f" {f'{np.mean(widths):.3f}' if widths else '–'} |"
            )
        if under:
            out += ["", "Below the gate:", ""]
            for c in sorted(under, key=lambda c: c.coverage):
                out.append(
                    f"- {c.coverage:.3f} {'beyond' if c in sure else 'within'} chance: {where(c)}"
                )
        loose = [c for c in cells if c.gate is None and c.coverage < 0.93]
        if loose:
            out += ["", "Not held to the gate and under 93 %:", ""]
            out += [
                f"- {c.coverage:.3f}: {where(c)}{'; ' + c.reason if c.reason else ''}"
                for c in sorted(loose, key=lambda c: c.coverage)
            ]
    return "\n".join(out) + "\n"


def _cell(kept: dict[str, Any]) -> Cell:
    """A stored cell; null stands for the number that JSON cannot write, except as a gate."""
    values: dict[str, Any] = {
        k: math.nan if v is None and k != "gate" else v for k, v in kept.items()
    }
    return Cell(**values)


def _clean(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    return [
        {
            k: None if isinstance(v, float) and not math.isfinite(v) else v
            for k, v in asdict(c).items()
        }
        for c in cells
    ]


_SET_UP = ("quantity", "method", "n", "clusters", "prevalence", "icc", "correlation")


def _joined(before: dict[str, Any], renewed: dict[str, Any]) -> dict[str, Any]:
    """A stored part, with some of its cells measured again."""
    cells = {tuple(cell[key] for key in _SET_UP): cell for cell in before["cells"]}
    cells |= {tuple(cell[key] for key in _SET_UP): cell for cell in renewed["cells"]}
    count = len(renewed["cells"])
    again = (
        f"{count} cells (rows drawn, no clusters, two verdicts) measured again on"
        f" {renewed['conditions'].rpartition(', ')[2]}, {renewed['seconds']:.0f} s"
    )
    conditions = before["conditions"].partition("; ")[0]
    return {**before, "conditions": f"{conditions}; {again}", "cells": list(cells.values())}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dose", choices=("ci", "full", "by-verdict"), default="full")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be given several times")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    path = RESULTS / "coverage.json"
    parts: dict[str, dict[str, Any]] = (
        json.loads(path.read_text())["parts"] if path.exists() else {}
    )
    before, failed = dict(parts), 0
    if args.dose == "by-verdict" and (args.only != ["ppi"] or "ppi" not in before):
        parser.error("--dose by-verdict renews cells of --only ppi that are stored")
    for name in args.only or PARTS:
        if not (Path(__file__).parent / f"{name}.py").exists():
            continue
        start, cells = time.perf_counter(), []
        for cell in import_module(f"benchmarks.coverage.{name}").cells(args.dose, args.seed):
            cells.append(cell)
            mark = (
                ""
                if not below(cell)
                else "  BELOW"
                if chance(cell) < CHANCE
                else "  below, within chance"
            )
            print(
                f"{cell.coverage:.3f}  width {cell.width:.3f}  printed {cell.printed:.2f} "
                f" {where(cell)}{mark}",
                flush=True,
            )
            failed += mark == "  BELOW"
        parts[name] = {
            "dose": args.dose,
            "seed": args.seed,
            "seconds": round(time.perf_counter() - start, 1),
            "conditions": (
                f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()}"
                f" cores, {datetime.now(UTC):%Y-%m-%d}"
            ),
            "cells": _clean(cells),
        }
        if args.dose == "by-verdict":
            parts[name] = _joined(before[name], parts[name])
        if not args.no_write:
            stored = (
                json.loads(path.read_text())["parts"] if path.exists() else {}
            )  # other parts may have been written meanwhile
            stored[name] = parts[name]
            parts = {part: stored[part] for part in PARTS if part in stored}
            path.write_text(
                json.dumps({"schema": 1, "gate": 0.93, "parts": parts}, indent=1, allow_nan=False)
                + "\n"
            )
            (RESULTS / "coverage.md").write_text(markdown(parts))
    print(f"{failed} cells below the gate beyond chance")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
