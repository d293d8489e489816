"""Types of the arrays of this package, and the numbering of distinct values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def numbered(values: FloatArray | IntArray) -> IntArray:
    """Each value's index among the distinct ones, rising."""
    # numpy 2.0 returned the indices in the shape of `values`, all other versions flat.
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64, copy=False)
