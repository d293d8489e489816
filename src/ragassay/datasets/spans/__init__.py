"""Spans of traces as rows: one table of names for all conventions, and the rules by which turns of
users are put together. It knows no file and no database: exported files and received spans are read
by the same rules.
"""

from ragassay.datasets.spans.figures import figures_of_spans
from ragassay.datasets.spans.missing import remedy
from ragassay.datasets.spans.span import MOST_SPANS, otlp_value, spans_in
from ragassay.datasets.spans.turns import Turn, fields_of_spans, turns_of, unread_of_spans

__all__ = [
    "MOST_SPANS",
    "Turn",
    "fields_of_spans",
    "figures_of_spans",
    "otlp_value",
    "remedy",
    "spans_in",
    "turns_of",
    "unread_of_spans",
]
