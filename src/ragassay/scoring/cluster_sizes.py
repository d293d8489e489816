"""Whether a judge errs otherwise in large clusters than in small ones.

Figures over rows count a cluster by its rows. Where errors go with the size of the cluster, a few
large clusters carry them, and an interval that is right for clusters that differ by chance alone
becomes too narrow (in one simulated world of eight the one of F1 held the truth 0.93 of the time).
So the error rate of the rows of large clusters is compared with that of the others.
"""

from __future__ import annotations

import numpy as np

from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray
from ragassay.scoring.error_groups import ErrorGroup, error_groups

LEAST_CLUSTERS = 20
"""Clusters in all below which no difference could be told from chance."""
SURE = 0.05


def error_by_cluster_size(
    wrong: BoolArray, cluster: IntArray | None, weight: FloatArray | None = None
) -> ErrorGroup | None:
    """The share of wrong verdicts in clusters above the middle size beside the others.

    None where clusters are of one size or too few, and where the difference may be chance (p of
    0.05 or more). wrong: (n,) whether judge and people differ on a row. cluster, weight: as in
    `Ratings`.
    """
    if cluster is None:
        return None
    _, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    if len(sizes) < LEAST_CLUSTERS or sizes.min() == sizes.max():
        return None
    middle = float(np.median(sizes))
    large = sizes[place.reshape(-1)] > middle
    known = np.ones(len(wrong), dtype=bool)
    name = f"rows of clusters of more than {middle:g}"
    found = error_groups(wrong.astype(float), [(name, known, large)], cluster, weight)
    return found[0] if found and found[0].p < SURE else None
