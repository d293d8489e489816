"""Agreement above a certified threshold, and the worth of panels of real judges.

    python benchmarks/selective/run.py [--data ../shared/data] [--draws 500]

1. Simulation: confidences whose true disagreement is known, rows alone or in clusters, among them
the hardest case, where
   every threshold lies just beyond what may be certified. A violation is a certified threshold
   whose true disagreement exceeds alpha; with confidence 1 - delta there may be a share of delta.
2. Recorded judges. "Draws": the set's clusters are the population, calibration rows are clusters
drawn from it with
   replacement, the truth is the whole set's agreement at the threshold. "Halves": clusters split at
   random, thresholds certified on one half, agreement read off the other; that reading has noise of
   its own, so that its violations are no measure of the guarantee. Beside both stands the test that
   takes rows for independent.
3. Panels: error correlation, effective number of judges, rules of voting against the best single
judge.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from ragassay.scoring import panels
from ragassay.scoring.selective import certify

RESULTS = ROOT / "benchmarks" / "results"
SEED, DELTA = 20261121, 0.1
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_CDF = np.vectorize(NormalDist().inv_cdf)


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge on one set: confidence of its pass or fail, whether that is people's, and the
    clusters.
    """

    data: str
    name: str
    confidence: Floats
    agrees: Bools
    cluster: Ints


def simulate(trials: int) -> Iterator[dict[str, Any]]:
    """One row per world."""
    worlds = [
        (shape, n, groups, icc, alpha)
        for shape in ("useful", "boundary")
        for n, groups, icc in (
            (100, 100, 0.0),
            (300, 300, 0.0),
            (1000, 1000, 0.0),
            (300, 60, 0.1),
            (300, 30, 0.3),
            (1000, 100, 0.1),
            (1000, 50, 0.3),
            (1000, 20, 0.2),
            (2000, 25, 0.1),
        )
        for alpha in (0.05, 0.1, 0.2)
    ]
    for number, (shape, n, groups, icc, alpha) in enumerate(worlds):
        rng = np.random.default_rng([SEED, number])
        grid = 0.5 + np.arange(501) / 1000
        bad = blind = certified = 0
        coverage = 0.0

        def risk(c: Floats, shape: str = shape, alpha: float = alpha) -> Floats:
            return (
                np.full(len(c), alpha + 0.002)
                if shape == "boundary"
                else 2.4 * alpha * (1 - c) ** 0.5
            )

        every = np.arange(501)  # a thousandth of confidence apart, from 0.5 to 1
        cuts = _CDF(np.clip(risk(0.5 + every / 1000), 1e-9, 1 - 1e-9))
        for _ in range(trials):
            at = rng.integers(0, 501, n)
            confidence = 0.5 + at / 1000
            place = np.sort(rng.integers(0, groups, n)) if groups < n else np.arange(n)
            shared = rng.normal(size=n)[place] if groups < n else rng.normal(size=n)
            latent = np.sqrt(icc) * shared + np.sqrt(1 - icc) * rng.normal(size=n)
            agrees = latent >= cuts[at]
            for respected in (True, False):
                found = certify(
                    confidence, agrees, place if respected else None, alpha=alpha, delta=DELTA
                )
                if found.threshold is None:
                    continue
                wrong = float(risk(grid[grid >= found.threshold]).mean()) > alpha
                if respected:
                    certified, coverage, bad = certified + 1, coverage + found.coverage, bad + wrong
                else:
                    blind += wrong
        yield {
            "world": shape,
            "n": n,
            "clusters": groups,
            "icc": icc,
            "alpha": alpha,
            "delta": DELTA,
            "trials": trials,
            "certified": certified / trials,
            "coverage": coverage / max(1, certified),
            "violations": bad / trials,
            "violations_rows_independent": blind / trials,
        }


def read(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def matrix(rows: list[dict[str, Any]], names: list[str]) -> Floats:
    return np.array(
        [
            [np.nan if r["judges"].get(j) is None else float(r["judges"][j]) for j in names]
            for r in rows
        ]
    )


def clusters(rows: list[dict[str, Any]]) -> Ints:
    return np.unique([str(r["group"]) for r in rows], return_inverse=True)[1].reshape(-1)


def recorded(data: Path) -> Iterator[Judge]:
    """Graded judges by the distance of the rating from the pass mark, panels by their agreement,
    scores by |score - cut|.
    """
    rows = read(data, "llmjudge_labels")
    names = sorted({j for r in rows for j in r["judges"]})
    grades, truth, place = (
        matrix(rows, names),
        np.array([r["label"] >= 2 for r in rows]),
        clusters(rows),
    )
    for at, name in enumerate(names):
        held = ~np.isnan(grades[:, at])
        grade = grades[held, at]
        sure = np.where((grade == 0) | (grade == 3), 1.0, 0.5)
        yield Judge("llmjudge_labels", name, sure, (grade >= 2) == truth[held], place[held])
    votes = np.where(np.isnan(grades), np.nan, (grades >= 2).astype(float))
    families = {"all 33": names, "NISTRetrieval": [], "TREMA": [], "h2oloo": [], "willia": []}
    for family in list(families)[1:]:
        families[family] = [n for n in names if n.startswith(family)]
    for family, members in families.items():
        voted, share = panels.agreeing(votes[:, [names.index(m) for m in members]])
        held = voted != 0.5
        yield Judge(
            "llmjudge_labels",
            f"panel of {family}",
            share[held],
            (voted[held] == 1) == truth[held],
            place[held],
        )
    rows = read(data, "openqa_eval")
    names = sorted({j for r in rows for j in r["judges"]})
    voted, share = panels.agreeing(matrix(rows, names))
    held = voted != 0.5
    truth = np.array([r["label"] >= 1 for r in rows])
    yield Judge(
        "openqa_eval",
        "panel of 3",
        share[held],
        (voted[held] == 1) == truth[held],
        clusters(rows)[held],
    )
    rows = [r for r in read(data, "wice") if r["judges"]]
    top = max(r["label"] for r in rows)
    for name in ("t5-3b-anli", "t5-3b-anli-wice"):
        seen = [r for r in rows if r["judges"].get(name) is not None]
        score = matrix(seen, [name])[:, 0]
        truth = np.array([r["label"] >= top for r in seen])
        yield Judge(
            "wice", name, np.maximum(score, 1 - score), (score >= 0.5) == truth, clusters(seen)
        )
    rows = read(data, "mtrag_human")
    for name in ("rb_llm", "rl_f"):
        seen = [r for r in rows if r["judges"].get(name) is not None and r["label"] is not None]
        score, truth = matrix(seen, [name])[:, 0], np.array([r["label"] >= 3 for r in seen])
        yield Judge(
            "mtrag_human", name, np.abs(score - 0.5), (score >= 0.5) == truth, clusters(seen)
        )


def check(judge: Judge, alpha: float, draws: int, number: int) -> dict[str, Any]:
    """Violations over draws and halves of one judge."""
    rng = np.random.default_rng([SEED, number])
    groups = int(judge.cluster.max()) + 1
    members = [np.flatnonzero(judge.cluster == g) for g in range(groups)]

    def truth(threshold: float, rows: Ints | slice = slice(None)) -> float | None:
        held = judge.confidence[rows] >= threshold
        return float(judge.agrees[rows][held].mean()) if held.any() else None

    bad = blind = halves = certified = tested = 0
    coverage = 0.0
    for _ in range(draws):
        drawn = rng.integers(0, groups, groups)
        rows = np.concatenate([members[g] for g in drawn])
        place = np.repeat(np.arange(groups), [len(members[g]) for g in drawn])
        found = certify(judge.confidence[rows], judge.agrees[rows], place, alpha=alpha, delta=DELTA)
        if found.threshold is not None:
            certified, coverage = certified + 1, coverage + found.coverage
            bad += (truth(found.threshold) or 0.0) < 1 - alpha
        alone = certify(judge.confidence[rows], judge.agrees[rows], None, alpha=alpha, delta=DELTA)
        blind += alone.threshold is not None and (truth(alone.threshold) or 0.0) < 1 - alpha
        order = rng.permutation(groups)
        one, two = (
            np.concatenate([members[g] for g in part])
            for part in (order[: groups // 2], order[groups // 2 :])
        )
        half = certify(
            judge.confidence[one], judge.agrees[one], judge.cluster[one], alpha=alpha, delta=DELTA
        )
        if half.threshold is not None:
            tested += 1
            seen = truth(half.threshold, two)
            halves += seen is not None and seen < 1 - alpha
    return {
        "data": judge.data,
        "judge": judge.name,
        "n": len(judge.agrees),
        "clusters": groups,
        "alpha": alpha,
        "delta": DELTA,
        "agreement": float(judge.agrees.mean()),
        "draws": draws,
        "certified": certified / draws,
        "coverage": coverage / max(1, certified),
        "violations": bad / draws,
        "violations_rows_independent": blind / draws,
        "halves_certified": tested / draws,
        "halves_below": halves / draws,
    }


def panel_reports(data: Path) -> Iterator[dict[str, Any]]:
    for name, cut in (("llmjudge_labels", 2), ("openqa_eval", 1)):
        rows = read(data, name)
        names = sorted({j for r in rows for j in r["judges"]})
        scores = matrix(rows, names)
        votes = np.where(np.isnan(scores), np.nan, (scores >= cut).astype(float))
        found = panels.panel(
            votes,
            np.array([r["label"] >= cut for r in rows]),
            names,
            clusters(rows),
            scores=scores / (3 if name == "llmjudge_labels" else 1),
            seed=SEED,
        )
        mean, worth = found.mean_correlation, found.effective
        yield {
            "data": name,
            "judges": len(names),
            "n": found.n,
            "dropped": found.dropped,
            "clusters": found.clusters,
            "error_correlation": _interval(mean),
            "effective_judges": _interval(worth),
            "effective_by_eigenvalues": found.effective_eigen,
            "best": found.best,
            "best_accuracy": max(found.accuracies),
            "independent": found.independent,
            "real": found.real,
            "rules": [
                {
                    "rule": r.name,
                    "accuracy": r.accuracy,
                    "kappa": r.kappa,
                    "best_single": r.gain.mean_a,
                    "gain": r.gain.difference,
                    "gain_low": r.gain.interval.low if r.gain.interval else None,
                    "gain_high": r.gain.interval.high if r.gain.interval else None,
                    "p": r.gain.p,
                }
                for r in found.rules
            ],
        }


def _interval(figure: Any) -> list[float | None]:
    ends = (None, None) if figure.interval is None else (figure.interval.low, figure.interval.high)
    return [figure.value, *ends]


def page(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    sim, rec = found["simulation"], found["recorded"]
    limit = found["delta"] + 3 * (found["delta"] * (1 - found["delta"]) / found["trials"]) ** 0.5
    over = [r for r in sim if r["violations"] > limit]
    real = [r for r in rec if r["violations"] > found["delta"]]
    out = [
        "# Cascades and panels",
        "",
        f"Made by `benchmarks/selective/run.py` in {found['seconds']:.0f} s; seed {SEED}.",
        "",
        "## The promise of a certified threshold",
        "",
        (
            f"Agreement of at least 1 - alpha with confidence {1 - found['delta']:.0%}: violations"
            f" may be {found['delta']:.0%}."
        ),
        "",
        (
            f"Simulation, {len(sim)} worlds x {found['trials']} trials: most violations"
            f" {max(r['violations'] for r in sim):.1%} (rows taken for independent:"
            f" {max(r['violations_rows_independent'] for r in sim):.1%}); worlds beyond"
            f" {found['delta']:.0%} by more than three standard errors: {len(over)}."
        ),
        (
            f"Recorded judges, {len(rec)} cells x {found['draws']} draws: most violations"
            f" {max(r['violations'] for r in rec):.1%} (rows taken for independent:"
            f" {max(r['violations_rows_independent'] for r in rec):.1%}); cells beyond"
            f" {found['delta']:.0%}: {len(real)}."
        ),
        "",
        (
            "| world | n | clusters | icc | alpha | certified | coverage | violations | rows"
            " independent |"
        ),
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {r['world']} | {r['n']} | {r['clusters']} | {r['icc']} | {r['alpha']} |"
            f" {r['certified']:.0%} | {r['coverage']:.0%} | {r['violations']:.1%} |"
            f" {r['violations_rows_independent']:.1%} |"
            for r in sim
        ),
        "",
        (
            "Certified: share of draws with a threshold; coverage: mean share of rows it answers."
            " Halves below: share of random halves in which the other half's agreement, itself a"
            " reading with noise, fell below 1 - alpha."
        ),
        "",
        (
            "| data | judge | clusters | agreement | alpha | certified | coverage | violations |"
            " rows independent | halves below |"
        ),
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {r['data']} | {r['judge']} | {r['clusters']} | {r['agreement']:.3f} | {r['alpha']}"
            f" | {r['certified']:.0%} | {r['coverage']:.0%} | {r['violations']:.1%} |"
            f" {r['violations_rows_independent']:.1%} | {r['halves_below']:.1%} |"
            for r in rec
        ),
        "",
        "## Panels",
        "",
    ]
    for p in found["panels"]:
        (rho, low, high), (worth, least, most) = p["error_correlation"], p["effective_judges"]
        out += [
            (
                f"{p['data']}: {p['judges']} judges on {p['n']} rows in {p['clusters']} clusters."
                f" Mean error correlation {rho:.3f} [{low:.3f}, {high:.3f}]: worth {worth:.1f}"
                f" [{least:.1f}, {most:.1f}] independent judges"
                f" ({p['effective_by_eigenvalues']:.1f} by eigenvalues). Were errors independent,"
                f" the majority would be right on {p['independent']:.1%}; it is on {p['real']:.1%}."
                f" Best single judge: {p['best']}, {p['best_accuracy']:.1%}."
            ),
            "",
            "| rule | accuracy | kappa | best single | gain, against all judges at once | p |",
            "|---|--:|--:|--:|--:|--:|",
            *(
                f"| {r['rule']} | {r['accuracy']:.3f} | {r['kappa']:.3f} | {r['best_single']:.3f} |"
                f" {r['gain']:+.3f} [{r['gain_low']:+.3f}, {r['gain_high']:+.3f}] | {r['p']:.3f} |"
                for r in p["rules"]
            ),
            "",
        ]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--trials", type=int, default=1000)
    args = parser.parse_args()
    begun = time.monotonic()
    simulation = list(simulate(args.trials))
    print(f"simulated: {time.monotonic() - begun:.0f} s", flush=True)
    checked = [
        check(judge, alpha, args.draws, 10 * number + i)
        for number, judge in enumerate(recorded(args.data))
        for i, alpha in enumerate((0.1, 0.2))
    ]
    found = {
        "delta": DELTA,
        "draws": args.draws,
        "trials": args.trials,
        "seed": SEED,
        "simulation": simulation,
        "recorded": checked,
        "panels": list(panel_reports(args.data)),
        "seconds": time.monotonic() - begun,
    }
    (RESULTS / "selective.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "selective.md").write_text(page(found), encoding="utf-8")
    print(f"written in {found['seconds']:.0f} s")


if __name__ == "__main__":
    main()
