"""Traces that are rows by themselves: MLflow's ({"info", "data": {"spans"}}, and the table that its
search_traces() gives), and an object with a list of OpenInference's spans.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "MLflow trace",
        ("info", "data", "data.spans"),
        ("data.spans",),
        {"id": "info.trace_id", "trace": "data"},
        {},
        is_trace=True,
        order=5,
    ),
    Shape(
        "MLflow traces",
        ("trace_id", "trace", "request", "response"),
        ("state", "execution_duration", "trace_metadata"),
        {"id": "trace_id", "question": "request", "trace": "trace"},
        {},
        order=6,
    ),
    Shape(
        "trace",
        ("spans",),
        ("trace_id", "traceId", "project_name", "spans"),
        {"id": "trace_id", "trace": "spans"},
        {},
        is_trace=True,
        # Last: rows of other shapes may carry their spans beside.
        order=1002,
    ),
)
