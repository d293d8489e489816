"""The step from the network's and lexical figures to a calibrated probability, a line a task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.heads import Head
from ragassay.models.offline.reader import NetworkOutput

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
        # math.fsum rounds once, so the order of the inputs does not change the result.
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
        """Names of the inputs of both, `trees` left out."""
        return (*(name for name in self.line.names if name != TREES), *self.trees.names)

    def probability(self, inputs: Mapping[str, float]) -> float:
        """The calibrated probability of a yes. Raises KeyError where an input is missing."""
        return self.line.probability({**inputs, TREES: self.trees.odds(inputs)})


def sigmoid(odds: float) -> float:
    """Log-odds as a probability."""
    # Two forms, so that the exponential never overflows.
    if odds >= 0:
        return 1 / (1 + math.exp(-odds))
    return 1 - 1 / (1 + math.exp(odds))


def with_odds(probability: float, more: float) -> float:
    """The probability with so much more log-odds; 0 and 1 stay."""
    if not 0 < probability < 1:
        return probability
    return sigmoid(math.log(probability / (1 - probability)) + more)


def support_odds(output: NetworkOutput) -> float:
    """Log-odds that the claim is supported."""
    supported, contradicted, unmentioned = (float(v) for v in output.support)
    return supported - float(np.logaddexp(contradicted, unmentioned))


def lowest(outputs: Sequence[NetworkOutput]) -> NetworkOutput:
    """The output for a claim from those of its sentences: it is supported as far as the least
    supported of them.
    """
    worst = min(outputs, key=support_odds)
    return worst._replace(unsupported=np.concatenate([output.unsupported for output in outputs]))


def inputs(task: str, output: NetworkOutput) -> dict[str, float]:
    """Inputs of a task's combiner that come from the network, by name."""
    if task == "relevance":
        return {"odds": output.relevance}
    if task != "support":
        return {"odds": output.answer}
    _, contradicted, unmentioned = (float(v) for v in output.support)
    tokens: NDArray[np.float32] = np.sort(output.unsupported)
    return {
        "odds": support_odds(output),
        "contradicted": contradicted - unmentioned,
        "span_highest": float(tokens[-1]),
        "span_second": float(tokens[-2:][0]),
        "span_mean": float(tokens.astype(np.float64).mean()),
    }


def unpack(data: Mapping[str, Any]) -> Combiner:
    """A combiner of combiner.json. Raises KeyError, TypeError or ValueError for one that is
    damaged.
    """
    combiner = Combiner(
        tuple(map(str, data["names"])),
        tuple(map(float, data["weights"])),
        tuple(map(float, data["caps"])),
        float(data["offset"]),
        float(data["cut"]),
    )
    if not len(combiner.names) == len(combiner.weights) == len(combiner.caps):
        raise ValueError("a combiner's names, weights and caps differ in number")
    return combiner
