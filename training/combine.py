"""How do the network's logits and the lexical figures become one calibrated probability? A logistic
line a task.

In three steps, each with few numbers to fit: the figures alone are weighed on train rows; their sum
joins the network's logits in a second line, fitted on development rows, which the network did not
learn from, the sets and the classes of a set alike; at last slope and offset with the classes as
they are, so that a probability means a share. All of it is linear, so one line is kept. The cut
from which the answer is yes is where the mean balanced accuracy of the sets is best.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from training.measure import balanced_accuracy, support_odds, weigh
from training.pairs import Pair

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

LOGITS = {"support": ("odds", "span_mean"), "relevance": ("odds",), "answer": ("odds",)}
# What a set of made development rows counts beside a set of human ones.
MADE = 0.4
# What the network weighs beside the figures, as shares of the spread; tasks that are not named are
# fitted. Chosen with each development set left out in turn: .744 / .823 against .738 / .819 fitted.
NETWORK = {"support": 0.5}
# Tasks that the network judges better alone than with the figures (development rows).
ALONE = frozenset({"relevance"})
# Logits beyond this count as this.
_TOP = 12.0


@dataclass(frozen=True)
class Line:
    """probability = 1 / (1 + exp(-(offset + weights . inputs))), inputs capped at `caps`; yes from
    `cut` on.
    """

    names: tuple[str, ...]
    weights: Floats
    caps: Floats
    offset: float
    cut: float = 0.5

    def odds(self, x: Floats) -> Floats:
        """Log-odds of rows of inputs."""
        return np.asarray(np.minimum(x, self.caps) @ self.weights + self.offset, np.float64)

    def probability(self, x: Floats) -> Floats:
        """Probabilities of rows of inputs."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.odds(x), -30, 30))), np.float64)


def logit_inputs(task: str, logits: NDArray[np.float32]) -> Floats:
    """What the line takes of the network's logits [n, logits]."""
    if task == "support":
        return np.column_stack([support_odds(logits), logits[:, 5]]).astype(np.float64)
    return logits[:, :1].astype(np.float64)


def figure_inputs(pairs: Sequence[Pair]) -> Floats:
    """The lexical figures [n, figures]."""
    return np.stack([p.figures for p in pairs]).astype(np.float64)


def line_inputs(pairs: Sequence[Pair], logits: NDArray[np.float32]) -> Floats:
    """What the line of the pairs' task takes: logits, and figures where they count."""
    task = pairs[0].task
    told = logit_inputs(task, logits)
    return told if task in ALONE else np.column_stack([told, figure_inputs(pairs)])


class Figures:
    """The weights of the lexical figures, fitted on train rows; a set counts as the root of its
    size.
    """

    def __init__(self, pairs: Sequence[Pair], strength: float = 0.05) -> None:
        x = figure_inputs(pairs)
        y = np.array([p.label for p in pairs])
        sources = [p.source for p in pairs]
        self.caps = np.maximum(np.quantile(x, 0.99, axis=0), 1e-6)
        x = np.minimum(x, self.caps)
        spread = np.maximum(x.std(0), 1e-6)
        sizes = Counter(sources)
        weights = weigh(sources, y) * np.array([sizes[s] ** 0.5 for s in sources])
        for label in (0, 1):
            weights[y == label] *= len(y) / 2 / weights[y == label].sum()
        line = LogisticRegression(C=strength, max_iter=1000).fit(
            x / spread, y, sample_weight=weights
        )
        self.weights = line.coef_[0] / spread

    def __call__(self, x: Floats) -> Floats:
        """The sum of rows of figures."""
        return np.asarray(np.minimum(x, self.caps) @ self.weights, np.float64)


def fit(
    task: str,
    names: Sequence[str],
    figures: Figures,
    pairs: Sequence[Pair],
    logits: NDArray[np.float32],
    *,
    network: float | None = None,
) -> Line:
    """The line of a task from development rows. Made ones among them weigh the network against the
    figures only: what a probability means, and the cut, come from the human ones. network: what the
    network weighs beside the figures, from 0 to 1, in place of a fitted weight.
    """
    told, measured = np.minimum(logit_inputs(task, logits), _TOP), figure_inputs(pairs)
    if task in ALONE:
        names, measured = (), measured[:, :0]
    y = np.array([p.label for p in pairs])
    sources = [p.source for p in pairs]
    x = told if task in ALONE else np.column_stack([told, figures(measured)])
    spread = np.maximum(x.std(0), 1e-6)
    human = np.array([not s.startswith("made:") for s in sources])
    weights = weigh(sources, y) * np.where(human, 1.0, MADE)
    share = (
        _fitted(x / spread, y, weights)
        if network is None or task in ALONE
        else _blended(x / spread, y, weights, network)
    ) / spread
    x, y, told, measured = x[human], y[human], told[human], measured[human]
    sources = [s for s, kept in zip(sources, human, strict=True) if kept]
    platt = LogisticRegression(C=1e6, max_iter=1000).fit(
        (x @ share)[:, None], y, sample_weight=weigh(sources)
    )
    share, offset = share * float(platt.coef_[0, 0]), float(platt.intercept_[0])
    weights, caps = share[: told.shape[1]], np.full(told.shape[1], _TOP)
    if task not in ALONE:
        weights, caps = (
            np.concatenate([weights, share[-1] * figures.weights]),
            np.concatenate([caps, figures.caps]),
        )
    whole = Line(
        (*LOGITS[task], *names),
        weights,
        caps,
        offset,
    )
    return replace(
        whole, cut=best_cut(whole.probability(np.column_stack([told, measured])), y, sources)
    )


def _fitted(x: Floats, y: Labels, weights: Floats) -> Floats:
    line = LogisticRegression(C=1.0, max_iter=1000).fit(x, y, sample_weight=weights)
    return np.asarray(line.coef_[0], np.float64)


def _blended(x: Floats, y: Labels, weights: Floats, network: float) -> Floats:
    """Weights with which the network, all columns but the last, has this share of the spread."""
    of_network = _fitted(x[:, :-1], y, weights)
    of_network /= max(float((x[:, :-1] @ of_network).std()), 1e-6)
    return np.append(network * of_network, (1 - network) / max(float(x[:, -1].std()), 1e-6))


def best_cut(p: Floats, y: Labels, sources: Sequence[str]) -> float:
    """The probability at which the mean balanced accuracy of the sets is best, smoothed over its
    neighbours.
    """
    names = np.array(sources)
    grid = np.linspace(0.1, 0.9, 81)
    macro = np.array(
        [
            np.nanmean(
                [
                    balanced_accuracy(y[names == s], p[names == s] >= cut)
                    for s in sorted(set(sources))
                ]
            )
            for cut in grid
        ]
    )
    smooth = np.convolve(np.pad(macro, 5, mode="edge"), np.ones(11) / 11, mode="valid")
    return round(float(grid[int(np.argmax(smooth))]), 3)


def save(lines: dict[str, Line], path: Path) -> None:
    """combiner.json."""
    told = {
        task: {
            "names": line.names,
            "weights": line.weights.tolist(),
            "caps": line.caps.tolist(),
            "offset": line.offset,
            "cut": line.cut,
        }
        for task, line in lines.items()
    }
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
