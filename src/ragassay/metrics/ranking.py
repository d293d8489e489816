"""How is a row read as a ranking of document ids? What the document metrics (R8) share."""

from __future__ import annotations

from ragassay.core import Sample, Score, Status
from ragassay.metrics.base import MetricBase

NEEDS = ("contexts", "relevant_ids")
SOURCE = "trec_eval (NIST)"


def ranking_of(metric: MetricBase, sample: Sample) -> tuple[str, ...] | Score:
    """The ids of the contexts in rank order, or the not-applicable Score: a chunk without an id cannot be matched."""
    absent = metric.missing(sample)
    if absent is not None:
        return absent
    ids = tuple(chunk.id for chunk in sample.contexts or ())
    if None in ids:
        return metric.not_applicable(f"context {ids.index(None) + 1} has no id")
    return tuple(id_ for id_ in ids if id_ is not None)


def measured(metric: MetricBase, value: float | None) -> Score:
    """The Score of an unjudged measure; None means that the row names no relevant document."""
    if value is None:
        return metric.not_applicable("relevant_ids names no relevant document")
    return Score(metric=str(metric), status=Status.JUDGED, value=value)
