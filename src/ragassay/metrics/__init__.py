"""The catalogue of metrics: one small file each. A new file with a MetricBase in it is in the
catalogue by itself.
"""

from ragassay.metrics.base import Declaration, Elsewhere, Metric, MetricBase, MetricFlow
from ragassay.metrics.custom import custom_metric
from ragassay.metrics.decorated import is_users_own, metric
from ragassay.metrics.graph.claims import Piece, split_claims
from ragassay.metrics.presets import PRESETS, Preset
from ragassay.metrics.registry import DEFAULT_METRICS, catalogue, load, parse, parse_list, reference

__all__ = [
    "DEFAULT_METRICS",
    "Declaration",
    "Elsewhere",
    "Metric",
    "MetricBase",
    "MetricFlow",
    "PRESETS",
    "Piece",
    "Preset",
    "catalogue",
    "custom_metric",
    "is_users_own",
    "load",
    "metric",
    "parse",
    "parse_list",
    "reference",
    "split_claims",
]
