"""The catalogue of metrics: one small file each. A new file with a MetricBase in it is in the catalogue by itself."""

from ragassay.metrics.base import Declaration, Metric, MetricBase, MetricFlow
from ragassay.metrics.claims import Piece, split_claims
from ragassay.metrics.registry import DEFAULT_METRICS, catalogue, parse, parse_list, reference

__all__ = [
    "DEFAULT_METRICS", "Declaration", "Metric", "MetricBase", "MetricFlow", "Piece", "catalogue", "parse", "parse_list",
    "reference", "split_claims",
]  # fmt: skip
