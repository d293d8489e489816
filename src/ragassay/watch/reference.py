"""The reference of drift: by what the wording of later questions is placed.

The questions of the first sessions give a mean and the main axes of their word vectors. Later
sessions are placed by them and among themselves only, so that the order in which they came says
nothing about their ranks while nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring.word_vectors import principal_axes, word_vectors

SESSIONS = 100
"""Sessions whose questions make the reference."""
NAMES = ("novelty", "wording ")
"""How the scalars begin that a reference makes."""
_AXES = 2
_PLACES = 5


class Reference:
    """Mean and axes of word vectors. made: when the stream began whose first questions they are of;
    what two references say is not to be ranked together.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.stored = dict(stored)
        self.made: float | None = stored.get("made")
        self._mean = np.array(stored["mean"], dtype=np.float32)
        self._axes = np.array(stored["axes"], dtype=np.float32)

    @classmethod
    def of(cls, questions: Sequence[str], made: float) -> Reference:
        """The reference that these questions make."""
        mean, axes, _ = principal_axes(word_vectors(questions), _AXES)
        return cls(
            {
                "mean": np.round(mean, _PLACES).tolist(),
                "axes": np.round(axes, _PLACES).tolist(),
                "made": made,
            }
        )

    def scalars(self, vectors: NDArray[np.float32]) -> list[dict[str, float]]:
        """Where each vector lies: its distance from the mean ("novelty"), and its places on the
        axes ("wording 1" ...).
        """
        away = vectors - self._mean
        novelty = np.sqrt((away**2).sum(axis=1))
        along = away @ self._axes.T
        found = []
        for row in range(len(vectors)):
            scalars = {"novelty": round(float(novelty[row]), 4)}
            for axis in range(along.shape[1]):
                scalars[f"wording {axis + 1}"] = round(float(along[row, axis]), 4)
            found.append(scalars)
        return found
