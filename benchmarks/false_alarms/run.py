"""False and true alarms of comparisons of two runs.

    python benchmarks/false_alarms/run.py [--data ../shared/data] [--splits 2000] [--no-write]

False alarms: A/A splits through the arithmetic of `ragassay compare` (`paired_difference`, then
Holm over the metrics). Simulated runs of five metrics; and recorded judges and labels, of which a
coin decides, for a whole cluster at a time, which is run A and which is run B, so that nothing can
truly differ. Asked: 5 % +- 1 of the single comparisons, at most 6 % of the comparisons of five
metrics after Holm. Power: known differences, simulated or by drawing clusters from recorded judges,
found as often as the design calculator printed beforehand; asked: within 3 points. The minimum
detectable difference that a comparison prints is found 80 % of the time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from benchmarks.coverage.simulate import Floats, codes, sizes

from ragassay.scoring import PairedResult, holm, paired_difference
from ragassay.scoring.design import plan

SEED, LEVEL, METRICS, TOLERANCE, SHORT = 20261121, 0.05, 5, 0.01, 0.03


def compared(a: Floats, b: Floats, cluster: list[str] | None) -> PairedResult:
    """As `ragassay compare` does for one metric."""
    names: list[str] | list[None] = cluster or [None] * len(a)
    return paired_difference(zip(a.tolist(), b.tolist(), names, strict=True))


def simulated(rng: np.random.Generator, splits: int) -> Iterator[dict[str, Any]]:
    """Five metrics a run, correlated within a row: shares of four claims, pass or fail, a grade."""
    for n, clusters in ((50, None), (200, None), (200, 40), (600, 60)):
        single = any_metric = asked = 0
        for _ in range(splits):
            shape = sizes(n, clusters or n, spread=0.7 if clusters else 0.0)
            row = codes(shape)
            names = [str(c) for c in row.tolist()] if clusters else None
            quality = rng.normal(size=n) + (
                0.7 * rng.normal(size=len(shape))[row] if clusters else 0.0
            )
            p = []
            for metric in range(METRICS):
                pair = []
                for _ in range(2):
                    own = (
                        0.5 * rng.normal(size=len(shape))[row] if clusters else 0.0
                    )  # a cluster's own luck in either run
                    seen = quality + 1.0 + own + rng.normal(size=n)
                    steps = (4, 1, 3, 4, 2)[metric]
                    pair.append(np.clip(np.round(steps * (0.5 + seen / 4)), 0, steps) / steps)
                p.append(compared(pair[0], pair[1], names).p)
            known = [x for x in p if x is not None]
            asked += len(known)
            single += sum(x < LEVEL for x in known)
            any_metric += any(x < LEVEL for x in holm(known))
        yield {
            "of": "simulated runs of five metrics",
            "n": n,
            "clusters": clusters or n,
            "splits": splits,
            "single": single / asked,
            "after_holm": any_metric / splits,
        }


def recorded(data: Path, name: str) -> tuple[dict[str, Floats], list[str]]:
    """Judge -> values in [0, 1], not a number where it did not judge the row; the rows' clusters
    (questions).
    """
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    top = 3 if name == "llmjudge_labels" else 1
    seen = Counter(
        judge for row in rows for judge, value in row["judges"].items() if value is not None
    )
    judges = sorted(judge for judge, count in seen.items() if count >= 0.9 * len(rows))
    values = {
        j: np.array([row["judges"].get(j, math.nan) for row in rows], dtype=np.float64) / top
        for j in judges
    }
    return values, [row["group"] for row in rows]


def relabelled(rng: np.random.Generator, data: Path, splits: int) -> Iterator[dict[str, Any]]:
    """Recorded judges, swapped by a coin for a whole question; labels of two systems, swapped by a
    coin for each question.
    """
    for name in ("llmjudge_labels", "openqa_eval"):
        values, groups = recorded(data, name)
        judges, found = list(values), []
        of: dict[str, list[int]] = defaultdict(list)
        for i, group in enumerate(groups):
            of[group].append(i)
        for _ in range(splits):
            one, other = rng.choice(len(judges), 2, replace=False)
            # At most 40 rows of a question, so that 2,000 splits take minutes; sizes stay unequal.
            rows = np.concatenate([rng.permutation(at)[:40] for at in of.values()])
            names = [groups[i] for i in rows]
            swap = dict(zip(of, (rng.random(len(of)) < 0.5).tolist(), strict=True))
            flip = np.array([swap[g] for g in names])
            a, b = values[judges[one]][rows], values[judges[other]][rows]
            both = np.isfinite(a) & np.isfinite(b)
            of_both = [name for name, kept in zip(names, both.tolist(), strict=True) if kept]
            found.append(
                compared(np.where(flip, b, a)[both], np.where(flip, a, b)[both], of_both).p
            )
        known = [p for p in found if p is not None]
        yield {
            "of": f"recorded judges of {name}, swapped by question",
            "n": len(rows),
            "clusters": len(of),
            "splits": splits,
            "single": sum(p < LEVEL for p in known) / len(known),
            "after_holm": None,
        }
    with gzip.open(data / "evouna/evouna.jsonl.gz", "rt") as file:
        labels: dict[str, list[float]] = defaultdict(list)
        for row in map(json.loads, file):
            labels[row["group"]].append(float(row["label"]))
    several = [np.array(x) for x in labels.values() if len(x) > 1]
    found = []
    for _ in range(splits):
        pairs = np.array(
            [rng.permutation(several[i])[:2] for i in rng.choice(len(several), 300, replace=False)]
        )
        found.append(compared(pairs[:, 0], pairs[:, 1], None).p)
    known = [p for p in found if p is not None]
    yield {
        "of": "labels of two systems of evouna, drawn by question",
        "n": 300,
        "clusters": 300,
        "splits": splits,
        "single": sum(p < LEVEL for p in known) / len(known),
        "after_holm": None,
    }


def outcomes(
    rng: np.random.Generator, groups: int, size: int, up: float, down: float, icc: float
) -> Floats:
    """Differences 1, -1 or 0 of rows; a row takes its cluster's own with probability sqrt(icc), so
    that icc is theirs.
    """
    kinds, p = [1.0, -1.0, 0.0], [up, down, 1 - up - down]
    shared, own = (
        np.repeat(rng.choice(kinds, groups, p=p), size),
        rng.choice(kinds, groups * size, p=p),
    )
    out: Floats = np.where(rng.random(groups * size) < math.sqrt(icc), shared, own)
    return out


def power(rng: np.random.Generator, trials: int) -> Iterator[dict[str, Any]]:
    """Printed beforehand against simulated."""
    for discordance, difference, size, icc, labels in (
        (0.2, 0.05, 1, 0.0, 300),
        (0.2, 0.05, 1, 0.0, None),
        (0.1, 0.05, 1, 0.0, None),
        (0.3, 0.15, 1, 0.0, 60),
        (0.3, 0.1, 5, 0.2, None),
        (0.2, 0.05, 10, 0.1, None),
        (0.4, 0.1, 20, 0.3, 500),
    ):
        found = plan(
            "paired",
            difference=difference,
            discordance=discordance,
            cluster_size=size,
            icc=icc,
            labels=labels,
        )
        groups, hits = round(found.labels / size), 0
        for _ in range(trials):
            d = outcomes(
                rng,
                groups,
                size,
                (discordance + difference) / 2,
                (discordance - difference) / 2,
                icc,
            )
            names = (
                [str(c) for c in np.repeat(np.arange(groups), size).tolist()] if size > 1 else None
            )
            p = compared(0.5 - d / 2, 0.5 + d / 2, names).p
            hits += p is not None and p < LEVEL
        yield {
            "of": (
                f"design: differ on {discordance:.0%}, difference {difference}, clusters of {size},"
                f" icc {icc}"
            ),
            "n": found.labels,
            "printed": found.power,
            "simulated": hits / trials,
        }
    for n, sd in ((40, 0.3), (400, 0.2)):
        printed = [
            compared(np.zeros(n), rng.normal(0, sd / 2, n), None).minimum_detectable or 0.0
            for _ in range(200)
        ]
        difference, hits = float(np.mean(printed)), 0
        for _ in range(trials):
            p = compared(np.zeros(n), difference + rng.normal(0, sd / 2, n), None).p
            hits += p is not None and p < LEVEL
        yield {
            "of": f"minimum detectable difference, {n} rows",
            "n": n,
            "printed": 0.8,
            "simulated": hits / trials,
        }


def drawn(rng: np.random.Generator, data: Path, trials: int) -> Iterator[dict[str, Any]]:
    """Clusters drawn from recorded judges that truly differ; spread and icc as measured over all
    rows.
    """
    for name, one, other, groups in (
        ("openqa_eval", "bem", "gpt-4", 60),
        ("openqa_eval", "text-davinci-003", "gpt-4", 40),
        ("llmjudge_labels", "TREMA-CoT", "willia-umbrela1", 12),
    ):
        values, cluster = recorded(data, name)
        if one not in values or other not in values:
            continue
        of: dict[str, list[int]] = defaultdict(list)
        for i, group in enumerate(cluster):
            if math.isfinite(values[other][i] - values[one][i]):
                of[group].append(i)
        keep = [at[:20] for at in of.values()]  # of nearly one size, as a plan supposes
        d = [(values[other] - values[one])[at] for at in keep]
        flat = np.concatenate(d)
        size = len(flat) / len(d)
        sd, mean = float(flat.std()), float(flat.mean())
        between = float(np.mean([((x - mean).sum()) ** 2 for x in d])) / size
        icc = max(0.0, (between / sd**2 - 1) / (size - 1))
        scale = 0.5 if name == "llmjudge_labels" else 1.0
        labels = round(groups * size)
        found = plan(
            "paired",
            difference=scale * mean,
            labels=labels,
            sd=sd,
            cluster_size=size,
            icc=min(1.0, icc),
        )
        hits = 0
        for _ in range(trials):
            at = rng.integers(0, len(d), groups)
            x = np.concatenate([d[i] for i in at]) - (1 - scale) * mean
            names = np.repeat([str(g) for g in range(groups)], [len(d[i]) for i in at]).tolist()
            p = paired_difference(
                ((0.0, v, c) for v, c in zip(x.tolist(), names, strict=True)), low=-2.0, high=2.0
            ).p
            hits += p is not None and p < LEVEL
        yield {
            "of": f"{one} and {other} on {name}, {groups} questions drawn, icc {icc:.2f}",
            "n": labels,
            "printed": found.power,
            "simulated": hits / trials,
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared" / "data")),
    )
    parser.add_argument("--splits", type=int, default=2000)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    start, alarms, powers = time.perf_counter(), [], []
    streams = [np.random.default_rng([SEED, i]) for i in range(4)]
    for row in (
        *simulated(streams[0], args.splits),
        *relabelled(streams[1], args.data, args.splits),
    ):
        held = abs(row["single"] - LEVEL) <= TOLERANCE and (
            row["after_holm"] is None or row["after_holm"] <= LEVEL + TOLERANCE
        )
        alarms.append({**row, "held": held})
        print(
            f"{row['single']:.4f} alarms, after Holm {row['after_holm']}: {row['of']}, n"
            f" {row['n']}, clusters {row['clusters']}",
            flush=True,
        )
    for row in (*power(streams[2], args.splits), *drawn(streams[3], args.data, args.splits)):
        powers.append({**row, "held": abs(row["printed"] - row["simulated"]) <= SHORT})
        print(
            f"printed {row['printed']:.3f}, simulated {row['simulated']:.3f}: {row['of']}, n"
            f" {row['n']}",
            flush=True,
        )
    conditions = (
        f"seed {SEED}, {args.splits:,} splits or trials a row, {time.perf_counter() - start:.0f} s,"
        f" Python {platform.python_version()}, numpy {np.__version__}, {datetime.now(UTC):%Y-%m-%d}"
    )
    missed = [row["of"] for row in alarms + powers if not row["held"]]
    lines = [
        "# False alarms and power of comparisons",
        "",
        f"Made by `python benchmarks/false_alarms/run.py`: {conditions}.",
        "",
        "## A/A splits: how often equals differ at 5 %",
        "",
        "Asked: 5 % +- 1 of single comparisons; after Holm at most 6 %.",
        "",
        "| runs | rows | clusters | single comparison | any metric after Holm | held |",
        "|---|---|---|---|---|---|",
    ]
    for row in alarms:
        after = "" if row["after_holm"] is None else f"{row['after_holm']:.2%}"
        lines.append(
            f"| {row['of']} | {row['n']} | {row['clusters']} | {row['single']:.2%} | {after} |"
            f" {'yes' if row['held'] else 'no'} |"
        )
    lines += [
        "",
        "## Power: printed beforehand and simulated",
        "",
        "Asked: within 3 points.",
        "",
        "| question | rows | printed | simulated | held |",
        "|---|---|---|---|---|",
    ]
    for row in powers:
        lines.append(
            f"| {row['of']} | {row['n']} | {row['printed']:.1%} | {row['simulated']:.1%} |"
            f" {'yes' if row['held'] else 'no'} |"
        )
    if not args.no_write:
        kept = {"schema": 1, "conditions": conditions, "false_alarms": alarms, "power": powers}
        (RESULTS / "false_alarms.json").write_text(
            json.dumps(kept, indent=1, allow_nan=False) + "\n"
        )
        (RESULTS / "false_alarms.md").write_text("\n".join(lines) + "\n")
    print("\n".join(f"not held: {what}" for what in missed) or "all held")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
