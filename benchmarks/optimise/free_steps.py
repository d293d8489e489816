"""Free steps on recorded judges: what another cut gains on rows that it was not chosen on.

Every judge of a set is split 60 times by clusters: the cut is chosen on 70 % of them and compared
with the judge's own on the other 30 %. Beside it the plain refit, which takes the best cut of the
70 %. Figure: kappa. The rule's limits were chosen on mtrag_human, wice, simulated judges and every
other judge of llmjudge_labels; the others only report. llmbar's judges answered in both orders.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray
from ragassay.scoring.calibration import best_cut
from ragassay.scoring.clusters import codes
from ragassay.tuning.aim import Aim
from ragassay.tuning.free_steps import order_figures, recut
from ragassay.tuning.values import Answers

TITLE = "Free steps on recorded judges"
SEED, SPLITS, FIT = 20261123, 60, 0.7
KAPPA = Aim("kappa")
LOSS = 0.005
SETS: Mapping[str, tuple[float, float]] = {
    "llmjudge_labels": (2, 2),
    "mtrag_human": (3, 0.5),
    "wice": (1, 0.5),
    "openqa_eval": (1, 1),
}
"""Set -> the label, and the score, from which on a row passes."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A recorded judge. chose: the rule's limits were chosen on it."""

    of: str
    name: str
    score: FloatArray
    truth: BoolArray
    cluster: IntArray
    cut: float
    chose: bool


def rows_of(data: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a set that a judge was recorded on."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if name == "wice":  # one row a claim
        rows = [row for row in rows if row["slice"] == "claim"]
    return [row for row in rows if row.get("judges") and row["label"] is not None]


def judges(data: Path) -> Iterator[Judge]:
    for name, (label_cut, score_cut) in SETS.items():
        rows = rows_of(data, name)
        for at, judge in enumerate(sorted({key for row in rows for key in row["judges"]})):
            seen = [row for row in rows if row["judges"].get(judge) is not None]
            # The recorded language models of wice say 0, 1/2 or 1, and 1 is "supported".
            cut = 1.0 if name == "wice" and judge.startswith("gpt") else score_cut
            yield Judge(
                name,
                judge,
                np.array([float(row["judges"][judge]) for row in seen]),
                np.array([row["label"] >= label_cut for row in seen]),
                codes(row["group"] for row in seen),
                cut,
                name in ("mtrag_human", "wice") or (name == "llmjudge_labels" and at % 2 == 0),
            )


def held_out(judge: Judge, splits: int) -> dict[str, Any]:
    """Mean gains over the splits, of this rule and of the plain refit."""
    rng = np.random.default_rng(SEED)
    answers = Answers(judge.score, judge.score >= judge.cut)
    clusters = int(judge.cluster.max()) + 1
    gains, refits, moved = [], [], 0
    for number in range(splits):
        fit = np.isin(judge.cluster, rng.permutation(clusters)[: round(FIT * clusters)])
        rest = ~fit
        both = [len(set(judge.truth[part].tolist())) == 2 for part in (fit, rest)]
        if not all(both):
            continue
        part = Answers(judge.score[fit], answers.passes[fit])
        step = recut(KAPPA, judge.truth[fit], judge.cluster[fit], part, judge.cut, seed=number)
        plain = best_cut(judge.score[fit], judge.truth[fit], near=judge.cut)
        before = KAPPA.score(judge.truth[rest], answers.passes[rest])
        moved += step.moved
        gains.append(KAPPA.score(judge.truth[rest], judge.score[rest] >= step.new) - before)
        refits.append(KAPPA.score(judge.truth[rest], judge.score[rest] >= plain) - before)
    return {
        "of": judge.of,
        "judge": judge.name,
        "rows": len(judge.truth),
        "clusters": clusters,
        "chose": judge.chose,
        "kappa": KAPPA.score(judge.truth, answers.passes),
        "gain": float(np.mean(gains)),
        "refit": float(np.mean(refits)),
        "moved": moved / len(gains),
    }


def orders(data: Path) -> list[dict[str, Any]]:
    """llmbar: the first order alone against the verdicts on which both orders agree."""
    rows = rows_of(data, "llmbar")
    out = []
    for judge in sorted({key for row in rows for key in row["judges"]}):
        seen = [row for row in rows if row["judges"].get(judge) is not None]
        truth = np.array([row["label"] == 2 for row in seen])
        sides = []
        for order in (0, 1):
            picks = [row["judges"][judge][order] for row in seen]
            score = np.array([math.nan if pick is None else float(pick == 2) for pick in picks])
            sides.append(Answers(score, score == 1))
        found = order_figures(truth, *sides)
        if found.right_first is None or found.right_agreed is None:
            continue
        out.append(
            {
                "judge": judge,
                "first": found.right_first,
                "both": found.right_agreed,
                "share": found.agreed,
                "all": found.right_all,
                "first_shown": found.first_shown,
            }
        )
    return out


def measure(options: argparse.Namespace) -> dict[str, Any]:
    splits = 4 if options.quick else SPLITS
    return {
        "splits": splits,
        "judges": [held_out(judge, splits) for judge in judges(options.data)],
        "orders": orders(options.data),
    }


def page(found: dict[str, Any]) -> list[str]:
    lines = [
        (
            f"Kappa on rows that the cut was not chosen on, mean over {found['splits']} splits by"
            " clusters. Asked on llmjudge_labels: at least +.010 on average; everywhere: no judge"
            f" loses more than {LOSS}."
        ),
        "",
        "| set | judges | kappa | this rule: mean | least | lose over .005 | plain refit: mean |"
        " least | lose |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    groups = [(name, list(_of(found, name))) for name in SETS]
    untouched = [one for one in found["judges"] if not one["chose"]]
    even = [one for one in groups[0][1] if not one["chose"]]
    groups.append(("llmjudge_labels, judges that chose nothing", even))
    groups.append(("all judges that chose nothing", untouched))
    for name, of in groups:
        gain, refit = (np.array([one[key] for one in of]) for key in ("gain", "refit"))
        kappa = np.mean([one["kappa"] for one in of])
        lines.append(
            f"| {name} | {len(of)} | {kappa:.3f} | {gain.mean():+.4f} | {gain.min():+.4f} |"
            f" {int((gain < -LOSS).sum())} | {refit.mean():+.4f} | {refit.min():+.4f} |"
            f" {int((refit < -LOSS).sum())} |"
        )
    moved = sorted((one for one in found["judges"] if one["moved"] > 0), key=_gain, reverse=True)
    lines += ["", "Judges whose cut moved in any split:", ""]
    lines += ["| set | judge | kappa | moved | gain |", "|---|---|--:|--:|--:|"]
    for one in moved:
        lines.append(
            f"| {one['of']} | {one['judge']} | {one['kappa']:.3f} | {one['moved']:.0%} |"
            f" {one['gain']:+.4f} |"
        )
    sides = found["orders"]
    first, both, share, every, shown = (
        np.mean([one[key] for one in sides])
        for key in ("first", "both", "share", "all", "first_shown")
    )
    lines += [
        "",
        (
            f"llmbar, {len(sides)} judges of pairs, asked in both orders: accuracy of the first"
            f" order {first:.3f}; of the verdicts on which both orders agree {both:.3f}, on"
            f" {share:.0%} of the pairs; over all pairs, where an undecided one is half right,"
            f" {every:.3f}. What is shown first wins {shown:.0%} of the time. The recorded verdicts"
            " of summac_val are of one class, and say nothing of a cut."
        ),
    ]
    return lines


def _of(found: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    return (one for one in found["judges"] if one["of"] == name)


def _gain(one: dict[str, Any]) -> float:
    return float(one["gain"])
