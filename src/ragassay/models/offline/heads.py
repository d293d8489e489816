"""Boosted trees and a calibration curve, as plain arrays: they make figures a probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Head:
    """Sum of small decision trees, then a monotone curve.

    names [figures]. feature, left, right [trees, nodes] and cut [trees, nodes]: go left where
    figure <= cut; a leaf has left = right = itself. value [trees, nodes]: what a leaf adds to the
    log-odds, on top of `start`. curve_x, curve_y: log-odds -> probability, linear between the
    points, flat outside.
    """

    names: tuple[str, ...]
    start: float
    feature: NDArray[np.int16]
    cut: NDArray[np.float64]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    value: NDArray[np.float64]
    depth: int
    curve_x: NDArray[np.float64]
    curve_y: NDArray[np.float64]

    def odds(self, figures: Mapping[str, float]) -> float:
        """Uncalibrated log-odds."""
        row = np.array([figures[name] for name in self.names], np.float64)
        trees = np.arange(len(self.feature))
        at = np.zeros(len(trees), np.int64)
        for _ in range(self.depth):
            right = row[self.feature[trees, at]] > self.cut[trees, at]
            at = np.where(right, self.right[trees, at], self.left[trees, at])
        return self.start + float(self.value[trees, at].sum())

    def probability(self, figures: Mapping[str, float]) -> float:
        """Calibrated probability in [0, 1]."""
        return min(1.0, max(0.0, float(np.interp(self.odds(figures), self.curve_x, self.curve_y))))


def pack(task: str, head: Head) -> dict[str, NDArray[np.generic]]:
    """The head as named arrays, to be stored in one npz file beside the other tasks' heads."""
    return {
        f"{task}.names": np.array(head.names),
        f"{task}.start": np.array(head.start),
        f"{task}.depth": np.array(head.depth),
        **{
            f"{task}.{name}": getattr(head, name)
            for name in ("feature", "cut", "left", "right", "value", "curve_x", "curve_y")
        },
    }


def unpack(task: str, arrays: Mapping[str, NDArray[np.generic]]) -> Head:
    """The head that `pack` stored. Raises KeyError when an array is missing."""
    return Head(
        names=tuple(str(name) for name in arrays[f"{task}.names"]),
        start=float(arrays[f"{task}.start"]),
        depth=int(arrays[f"{task}.depth"]),
        feature=arrays[f"{task}.feature"].astype(np.int16),
        cut=arrays[f"{task}.cut"].astype(np.float64),
        left=arrays[f"{task}.left"].astype(np.int16),
        right=arrays[f"{task}.right"].astype(np.int16),
        value=arrays[f"{task}.value"].astype(np.float64),
        curve_x=arrays[f"{task}.curve_x"].astype(np.float64),
        curve_y=arrays[f"{task}.curve_y"].astype(np.float64),
    )
