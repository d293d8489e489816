"""How many calls a search takes to what can be reached, beside other packages' engines.

All engines see the same worlds, rows, proposer and cap, in one run. A world's judge reads the
rubric by words that only the world knows (tests/support/rubric_world.py); 30 % of the slice labels
are wrong. Engines whose package is not installed are left out and named.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import numpy as np

from ragassay.tuning.engines import engine
from ragassay.tuning.forecast import Asking, forecast_calls
from ragassay.tuning.search import Finalist, SearchResult, SearchTask
from ragassay.tuning.values import BoolArray
from support.rubric_world import RubricWorld, ScriptedProposer, Settings, WorldBench

TITLE = "Calls to what can be reached"
WORLDS, CAP, ENOUGH = 40, 3_000, 0.9
FAMILIES = {
    "a gain of .10 in three kinds of failure": Settings(),
    "a weak effect, .06 in three kinds": Settings(gains=(0.03, 0.025, 0.02)),
}
KEPT = {
    "kept to check: other noise, sizes and side effects, .10": Settings(
        gains=(0.07, 0.05, 0.035),
        unfixable=0.04,
        errors=0.05,
        text_noise=0.3,
        repeat_noise=0.05,
        position=0.3,
        lenient=-0.15,
        cluster_share=0.4,
        cluster_rows=8,
        fixes=0.8,
        side=0.015,
        train=280,
        validation=180,
        sealed=240,
    ),
    "kept to check: a weak effect, .06": Settings(
        gains=(0.045, 0.035, 0.025),
        unfixable=0.02,
        errors=0.1,
        text_noise=0.15,
        repeat_noise=0.2,
        position=0.0,
        lenient=0.1,
        wrong_labels=0.3,
        cluster_share=0.3,
        cluster_rows=3,
        fixes=0.85,
        side=0.01,
        train=260,
        validation=200,
        sealed=300,
    ),
}
"""Families on whose worlds nothing was ever chosen, for our own engine. Constants of the search
were chosen on worlds 100 to 149 of `FAMILIES`; what is reported is of worlds 0 to 39.
"""
ENGINES = ("own", "gepa", "textgrad")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of each family of worlds and each engine."""
    worlds = max(WORLDS // 10, 2) if options.quick else WORLDS
    asked = options.engines or ENGINES
    installed = [name for name in asked if name == "own" or find_spec(name) is not None]
    families: dict[str, Any] = {}
    for family, settings in (FAMILIES | KEPT).items():
        families[family] = {}
        for name in installed if family in FAMILIES else installed[:1]:
            runs = [_run(name, RubricWorld(seed, settings)) for seed in range(worlds)]
            families[family][name] = _figures(runs)
    missing = [name for name in asked if name not in installed]
    earlier = _earlier(families, [name for name in ENGINES if name not in asked])
    return {
        "worlds": worlds,
        "cap": CAP,
        "missing": missing,
        "families": families,
        "earlier": earlier,
    }


def _earlier(families: dict[str, Any], engines: list[str]) -> list[str]:
    """Take over the stored figures of engines that are not run again; which ones these are."""
    stored = ROOT / "benchmarks/results/optimise.json"
    if not engines or not stored.exists():
        return []
    known = json.loads(stored.read_text())["search"]["families"]
    for family, rows in families.items():
        rows |= {name: row for name, row in known.get(family, {}).items() if name in engines}
    return engines


def _accuracy(truth: BoolArray, passes: BoolArray) -> float:
    return float(np.mean(truth == passes))


def _run(name: str, world: RubricWorld) -> dict[str, Any]:
    bench = WorldBench(world)
    task = SearchTask(
        world.rubric,
        world.rows,
        world.parts[0],
        world.parts[1],
        _accuracy,
        CAP,
        slices=world.slices,
        forbidden=world.unseen,
        seed=world.seed,
    )
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        result = engine(name).search(task, bench, ScriptedProposer(bench))
    return _row(world, result)


def _row(world: RubricWorld, result: SearchResult) -> dict[str, Any]:
    reached = None
    for step in result.steps:
        if world.true_gain(step.rubric) >= ENOUGH * world.best_gain:
            reached = step.calls
            break
    row: dict[str, Any] = {"reached": reached, "calls": result.calls, "finalist": False}
    # The rows to search and choose on are among the calls of the search here.
    told = forecast_calls(0, 0, CAP, Asking(), searches=True, certifies=False)
    row["forecast"], row["in_range"] = told.calls, told.low <= result.calls <= told.high
    if result.finalists:
        row |= _of_finalist(world, result.finalists[0])
        if reached is None and row["share"] >= ENOUGH:
            # The pruned rubric is the last best one.
            row["reached"] = result.calls
    return row


def _of_finalist(world: RubricWorld, best: Finalist) -> dict[str, Any]:
    """What the best finalist is worth: seen on the rows to choose on, on sealed ones, and true."""
    sealed = world.parts[2]
    truth = world.rows.truth[sealed]
    passes = [
        world.scores(rubric.system_prompt())[sealed] >= 0.5
        for rubric in (world.rubric, best.rubric)
    ]
    gains = [_accuracy(truth, each) for each in passes]
    return {
        "finalist": True,
        "chosen_on": best.score - best.before,
        "sealed": gains[1] - gains[0],
        "true": world.true_gain(best.rubric),
        "share": world.true_gain(best.rubric) / world.best_gain,
        "useless": sum(world.effect(edit.new) == "" for edit in best.edits),
        "harmful": sum(world.effect(edit.new) == "harms" for edit in best.edits),
        "lines": len(best.edits),
    }


def _is_near(run: dict[str, Any]) -> bool:
    """Whether the forecast of the search's calls is within 10 % of what was bought."""
    return bool(abs(run["forecast"] - run["calls"]) <= 0.1 * run["calls"])


def _figures(runs: list[dict[str, Any]]) -> dict[str, Any]:
    reached = [run["reached"] if run["reached"] is not None else CAP + 1 for run in runs]
    finals = [run for run in runs if run["finalist"]]

    def mean(name: str) -> float:
        return round(float(np.mean([run[name] for run in finals])), 4) if finals else 0.0

    median = statistics.median(reached)
    return {
        "median_calls": median if median <= CAP else None,
        "share": round(sum(calls <= CAP for calls in reached) / len(runs), 3),
        "finalists": len(finals),
        "share_of_best": mean("share"),
        "final_share": round(sum(run.get("share", 0.0) >= ENOUGH for run in runs) / len(runs), 3),
        "chosen_on": mean("chosen_on"),
        "sealed": mean("sealed"),
        "true": mean("true"),
        "useless": mean("useless"),
        "prompts_with_useless": round(float(np.mean([run["useless"] > 0 for run in finals])), 3),
        "calls": round(float(np.mean([run["calls"] for run in runs]))),
        "forecast_within": round(float(np.mean([_is_near(run) for run in runs])), 3),
        "in_range": round(float(np.mean([run["in_range"] for run in runs])), 3),
        "over_the_cap": sum(run["calls"] > CAP for run in runs),
    }


def _forecast(name: str, row: dict[str, Any]) -> str:
    """How far the forecast held; it is of our own engine."""
    if name != "own" or "in_range" not in row:
        return ""
    return f"{row['forecast_within']:.2f} / {row['in_range']:.2f}"


def page(figures: dict[str, Any]) -> list[str]:
    """The tables, with what each column is."""
    lines = [
        f"{figures['worlds']} worlds of each family, at most {figures['cap']:,} calls. Reached: the"
        " best rubric so far truly gains 90 % of what all mendable kinds would. Gains are those of"
        " the best finalist: seen on the rows it was chosen on, on sealed rows, and true on 3,000"
        " rows. Of their finalists: the share of runs whose best finalist, which is what would be"
        " certified, has 90 % of it. The forecast is of our own engine.",
    ]
    for family, engines in figures["families"].items():
        lines += [
            "",
            f"**{family}**",
            "",
            "| engine | median calls | share of runs | of their finalists | gain seen / sealed /"
            " true | of the best | useless lines | prompts with one | calls | forecast within 10 %"
            " / in its range | over the cap |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name, row in engines.items():
            calls = row["median_calls"] or "not reached"
            lines.append(
                f"| {name} | {calls} | {row['share']:.2f} | {row.get('final_share', '')}"
                f" | {row['chosen_on']:.3f} /"
                f" {row['sealed']:.3f} / {row['true']:.3f} | {row['share_of_best']:.2f}"
                f" | {row['useless']:.2f} | {row['prompts_with_useless']:.2f} | {row['calls']:,}"
                f" | {_forecast(name, row)} | {row['over_the_cap']} |"
            )
    if figures.get("earlier"):
        lines += [
            "",
            f"The rows of {' and '.join(figures['earlier'])} are of an earlier run over the same"
            " worlds, in which a rubric counted as reached before the choice among finalists only.",
        ]
    if figures["missing"]:
        lines += ["", f"Not installed, so not measured: {', '.join(figures['missing'])}."]
    return lines
