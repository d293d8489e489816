"""How does what the network says become a calibrated probability? With lexical figures beside it, by one line a task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.reader import Said


@dataclass(frozen=True, slots=True)
class Combiner:
    """Log-odds = offset + the sum of weights times inputs, each input at most its cap. cut: yes from there on."""

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


def sigmoid(odds: float) -> float:
    """Log-odds as a probability."""
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else 1 - 1 / (1 + math.exp(odds))


def inputs(task: str, said: Said) -> dict[str, float]:
    """What a task's combiner takes from the network."""
    if task != "support":
        return {"odds": said.relevance if task == "relevance" else said.answer}
    supported, contradicted, unmentioned = (float(v) for v in said.support)
    tokens: NDArray[np.float32] = np.sort(said.unsupported)
    return {
        "odds": supported - float(np.logaddexp(contradicted, unmentioned)),
        "contradicted": contradicted - unmentioned,
        "span_highest": float(tokens[-1]),
        "span_second": float(tokens[-2:][0]),
        "span_mean": float(tokens.astype(np.float64).mean()),
    }


def unpack(told: Mapping[str, Any]) -> Combiner:
    """A combiner of combiner.json. Raises KeyError, TypeError or ValueError for one that is damaged."""
    made = Combiner(
        tuple(map(str, told["names"])), tuple(map(float, told["weights"])), tuple(map(float, told["caps"])),
        float(told["offset"]), float(told["cut"]),
    )  # fmt: skip
    if not len(made.names) == len(made.weights) == len(made.caps):
        raise ValueError("a combiner's names, weights and caps differ in number")
    return made
