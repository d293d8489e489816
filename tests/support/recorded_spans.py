"""The recorded spans of real instrumentors, and what the applications that sent them had answered.

The oracle is the application's own code: which question it was asked, what its model said, and what
its retriever returned, in the order of the applications' runs.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("RAGASSAY_DATA", "missing")).parent / "recorded/otlp_spans"


def recorded() -> tuple[OrderedDict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """(trace -> its spans, log records), both in the form of OTLP's JSON, with the name of the
    service under "service".
    """
    traces: OrderedDict[str, list[dict[str, Any]]] = OrderedDict()
    logs: list[dict[str, Any]] = []
    with gzip.open(FOLDER / "spans.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            ids = {"traceId": line["trace"], "spanId": line["span"], "attributes": line["attrs"]}
            if line["kind"] == "log":
                logs.append({**ids, "eventName": line["event"]})
                continue
            span = {
                **ids,
                "parentSpanId": line["parent"],
                "name": line["name"],
                "startTimeUnixNano": line["start"],
                "endTimeUnixNano": line["end"],
                "status": {"code": line["status"]},
                "scope": line["scope"],
                "service": line["res"].get("service.name"),
            }
            traces.setdefault(line["trace"], []).append(span)
    return traces, logs
