"""The step from the network's and lexical figures to a calibrated probability, a line a task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.heads import Head
from ragassay.models.offline.reader import Said

TREES = "trees"


@dataclass(frozen=True, slots=True)
class Combiner:
    """Log-odds = offset + the sum of weights times inputs, each input at most its cap. cut: yes
    from there on.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    caps: tuple[float, ...]
    offset: float
    cut: float

    def probability(self, inputs: Mapping[str, float]) -> float:
        """The calibrated probability of a yes. Raises KeyError where an input is missing."""
        terms = (
            weight * min(inputs[name], cap)
            for name, weight, cap in zip(self.names, self.weights, self.caps, strict=True)
        )
        return sigmoid(self.offset + math.fsum(terms))


@dataclass(frozen=True, slots=True)
class Joined:
    """A combiner of which one input, `trees`, is the log-odds of boosted trees."""

    line: Combiner
    trees: Head

    @property
    def names(self) -> tuple[str, ...]:
        """What both take."""
        return (*(name for name in self.line.names if name != TREES), *self.trees.names)

    def probability(self, inputs: Mapping[str, float]) -> float:
        """The calibrated probability of a yes. Raises KeyError where an input is missing."""
        return self.line.probability({**inputs, TREES: self.trees.odds(inputs)})


def sigmoid(odds: float) -> float:
    """Log-odds as a probability."""
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else 1 - 1 / (1 + math.exp(odds))


def support_odds(said: Said) -> float:
    """Log-odds that the claim is supported."""
    supported, contradicted, unmentioned = (float(v) for v in said.support)
    return supported - float(np.logaddexp(contradicted, unmentioned))


def lowest(told: Sequence[Said]) -> Said:
    """What is said of a claim by its sentences: it holds as far as the least supported of them
    does.
    """
    worst = min(told, key=support_odds)
    return worst._replace(unsupported=np.concatenate([one.unsupported for one in told]))


def inputs(task: str, said: Said) -> dict[str, float]:
    """What a task's combiner takes from the network."""
    if task != "support":
        return {"odds": said.relevance if task == "relevance" else said.answer}
    _, contradicted, unmentioned = (float(v) for v in said.support)
    tokens: NDArray[np.float32] = np.sort(said.unsupported)
    return {
        "odds": support_odds(said),
        "contradicted": contradicted - unmentioned,
        "span_highest": float(tokens[-1]),
        "span_second": float(tokens[-2:][0]),
        "span_mean": float(tokens.astype(np.float64).mean()),
    }


def unpack(told: Mapping[str, Any]) -> Combiner:
    """A combiner of combiner.json. Raises KeyError, TypeError or ValueError for one that is
    damaged.
    """
    made = Combiner(
        tuple(map(str, told["names"])),
        tuple(map(float, told["weights"])),
        tuple(map(float, told["caps"])),
        float(told["offset"]),
        float(told["cut"]),
    )
    if not len(made.names) == len(made.weights) == len(made.caps):
        raise ValueError("a combiner's names, weights and caps differ in number")
    return made
