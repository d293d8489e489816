"""The catalogue of metrics: one small file each. A new file with a MetricBase in it is in the
catalogue by itself.
"""

from ragassay.metrics.base import Metric, MetricBase, MetricFlow, roles_of
from ragassay.metrics.custom import custom_metric
from ragassay.metrics.declaration import (
    Area,
    Declaration,
    Elsewhere,
    PartWords,
)
from ragassay.metrics.decorated import is_users_own, metric
from ragassay.metrics.graph.claims import Piece, split_claims
from ragassay.metrics.presets import PRESETS, Preset
from ragassay.metrics.registry import (
    catalogue,
    declaration_of,
    default_metrics,
    load,
    parse,
    parse_list,
)

__all__ = [
    "Area",
    "Declaration",
    "Elsewhere",
    "Metric",
    "MetricBase",
    "MetricFlow",
    "PRESETS",
    "PartWords",
    "Piece",
    "Preset",
    "catalogue",
    "custom_metric",
    "declaration_of",
    "default_metrics",
    "is_users_own",
    "load",
    "metric",
    "parse",
    "parse_list",
    "roles_of",
    "split_claims",
]
