"""Coverage of the intervals of repeatability, panels and calibration; cuts that are no better.

A row passes with a chance of its own, spread around the prevalence by a beta law whose correlation
is the `correlation` of a cell, clusters of rows sharing part of it; samples are drawn from that
chance, so that flip rate, the chance that two samples differ and kappa between samples are known
exactly. Judges of a panel err together by a shared normal latent. The gain of calibration is that
of the fitted map over new rows, by the million, averaged over the folds' maps. A false adoption is
a new cut where none is better: scores that say nothing, every cut being as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from benchmarks.coverage.simulate import Cell, Floats, Ints, cell_of
from numpy.typing import NDArray

from ragassay.core import Interval
from ragassay.scoring import panels
from ragassay.scoring.calibration import calibrate, change_cut, fit, folds_of

Bools = NDArray[np.bool_]
SAMPLES, DRAWS, JUDGES = 5, 400, 6
# Effective positives under which no interval of kappa or of shared errors can be held.
_FEW = "rarer verdicts, or fewer clusters, than the interval can be built from"


def cells(dose: str, seed: int) -> Iterator[Cell]:
    """The cells of this dose, "ci" or "full"."""
    trials = 200 if dose == "ci" else 1000
    shapes = [(100, 100, 0.0), (300, 60, 0.1), (300, 30, 0.3)]
    if dose == "full":
        shapes += [
            (30, 30, 0.0),
            (1000, 1000, 0.0),
            (1000, 100, 0.2),
            (2000, 50, 0.4),
            (600, 20, 0.1),
        ]
    shares = [(0.5, 0.7)] if dose == "ci" else [(0.5, 0.7), (0.5, 0.3), (0.2, 0.8), (0.9, 0.8)]
    number = 0
    for n, clusters, icc in shapes:
        for prevalence, correlation in shares:
            number += 1
            yield from _repeat(
                n,
                clusters,
                icc,
                prevalence,
                correlation,
                trials,
                np.random.default_rng([seed, number]),
            )
        for shared in (0.3, 0.7):
            number += 1
            yield from _panel(
                n, clusters, icc, shared, trials, np.random.default_rng([seed, number])
            )
        number += 1
        yield _adopted(n, clusters, icc, trials, np.random.default_rng([seed, number]))
        if n >= 300:
            number += 1
            yield _gain(
                n, clusters, icc, max(200, trials // 4), np.random.default_rng([seed, number])
            )


def _place(n: int, clusters: int) -> Ints:
    return np.arange(n) % clusters


def _latent(rng: np.random.Generator, place: Ints, icc: float) -> Floats:
    return np.asarray(
        np.sqrt(icc) * rng.normal(size=len(place))[place]
        + np.sqrt(1 - icc) * rng.normal(size=len(place))
    )


def _repeat(
    n: int,
    clusters: int,
    icc: float,
    prevalence: float,
    correlation: float,
    trials: int,
    rng: np.random.Generator,
) -> Iterator[Cell]:
    # A sample passes where the row's latent, seen with noise of its own, exceeds a cut.
    worth, cut = np.sqrt(correlation), NormalDist().inv_cdf(1 - prevalence)
    grid = NormalDist()
    points = np.array([grid.inv_cdf((i + 0.5) / 20_000) for i in range(20_000)])
    chance = np.array([1 - grid.cdf((cut - worth * x) / np.sqrt(1 - correlation)) for x in points])
    differ = float((2 * chance * (1 - chance)).mean())
    truth = {
        "flip_rate": float((1 - chance**SAMPLES - (1 - chance) ** SAMPLES).mean()),
        "two_differ": differ,
        "kappa": 1 - differ / (2 * prevalence * (1 - prevalence)),
    }
    place, found = _place(n, clusters), {name: list[Interval | None]() for name in truth}
    for trial in range(trials):
        seen = worth * _latent(rng, place, icc)[:, None] + np.sqrt(1 - correlation) * rng.normal(
            size=(n, SAMPLES)
        )
        verdicts = (seen > cut).astype(np.float64)
        verdicts[rng.random((n, SAMPLES)) < 0.05] = np.nan
        kept = verdicts if trial % 2 else (seen > cut).astype(np.float64)
        got = panels.repeatability(kept, place, draws=DRAWS, seed=trial)
        # With a gap fewer samples can differ: the flip rate of whole rows is another quantity.
        found["flip_rate"].append(got.flip_rate.interval if trial % 2 == 0 else None)
        found["two_differ"].append(got.two_differ.interval)
        found["kappa"].append(got.kappa.interval)
    carried = min(clusters, n * min(prevalence, 1 - prevalence))
    for name, intervals in found.items():
        method = next((i.method for i in intervals if i is not None), "")
        gate = 0.93 if carried >= 20 else None
        yield cell_of(
            f"{name} of {SAMPLES} samples",
            method,
            truth[name],
            intervals,
            n=n,
            clusters=clusters,
            prevalence=prevalence,
            icc=icc,
            correlation=correlation,
            gate=gate,
            reason="" if gate else _FEW,
        )


def _panel(
    n: int, clusters: int, icc: float, shared: float, trials: int, rng: np.random.Generator
) -> Iterator[Cell]:
    cut = NormalDist().inv_cdf(0.8)  # each judge errs on a fifth of the rows

    def wrong(place: Ints, icc: float) -> Bools:
        common = _latent(rng, place, icc)[:, None]
        own = rng.normal(size=(len(place), JUDGES))
        return np.asarray(
            np.sqrt(shared) * common + np.sqrt(1 - shared) * own > cut, dtype=np.bool_
        )

    big = wrong(np.arange(400_000), 0.0).astype(np.float64)
    rho = float(np.asarray(np.corrcoef(big.T))[np.triu_indices(JUDGES, 1)].mean())
    place, names = _place(n, clusters), [str(j) for j in range(JUDGES)]
    found: tuple[list[Interval | None], list[Interval | None]] = ([], [])
    for trial in range(trials):
        truth = rng.random(n) < 0.5
        got = panels.panel(
            (wrong(place, icc) ^ truth[:, None]).astype(np.float64),
            truth,
            names,
            place,
            draws=DRAWS,
            seed=trial,
        )
        found[0].append(got.mean_correlation.interval)
        found[1].append(got.effective.interval)
    gate = 0.93 if clusters >= 50 and n >= 250 else None  # about fifty errors a judge
    for name, value, intervals in (
        ("error correlation of a panel", rho, found[0]),
        ("effective number of judges", panels.effective_judges(JUDGES, rho), found[1]),
    ):
        method = next((i.method for i in intervals if i is not None), "")
        yield cell_of(
            name,
            method,
            value,
            intervals,
            n=n,
            clusters=clusters,
            prevalence=0.5,
            icc=icc,
            correlation=shared,
            gate=gate,
            reason="" if gate else _FEW,
        )


def _adopted(n: int, clusters: int, icc: float, trials: int, rng: np.random.Generator) -> Cell:
    place, adopted = _place(n, clusters), 0
    for trial in range(trials):
        truth, score = _latent(rng, place, icc) > 0, rng.random(n)
        adopted += change_cut(
            score, truth, 0.5, place, figure="balanced_accuracy", draws=DRAWS, seed=trial
        ).adopt
    return Cell(
        "a new cut that is no better, not adopted",
        "paired cluster bootstrap t",
        n,
        clusters,
        0.5,
        icc,
        0.0,
        trials,
        1.0,
        1 - adopted / trials,
        float("nan"),
    )


def _gain(n: int, clusters: int, icc: float, trials: int, rng: np.random.Generator) -> Cell:
    """Squared error after - before; the truth of a trial is what its maps do to new rows."""
    place, held = _place(n, clusters), list[Interval | None]()

    def world(where: Ints, icc: float) -> tuple[Floats, Bools]:
        normal = _latent(rng, where, icc)
        score = 1 / (1 + np.exp(-1.5 * normal))
        return score, rng.random(len(where)) < score**2

    new_score, new_truth = world(np.arange(200_000), 0.0)
    before = (new_score - new_truth) ** 2
    for trial in range(trials):
        score, truth = world(place, icc)
        got = calibrate(score, truth, place, kind="platt", draws=100, seed=trial)
        fold, gains = folds_of(place, 5, trial), 0.0
        for one in range(5):
            mapped = fit("platt", score[fold != one], truth[fold != one])(new_score)
            gains += float((((mapped - new_truth) ** 2) - before).mean()) * float(
                (fold == one).mean()
            )
        interval = got.gain.interval if got.gain is not None else None
        held.append(
            None
            if interval is None
            else Interval(
                interval.low - gains, interval.high - gains, interval.level, interval.method
            )
        )
    method = next((i.method for i in held if i is not None), "")
    return cell_of(
        "gain of calibration in squared error",
        method,
        0.0,
        held,
        n=n,
        clusters=clusters,
        prevalence=0.5,
        icc=icc,
    )
