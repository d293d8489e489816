"""The metrics of document ids: they read the contexts as a ranking of ids, and ask nothing."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.core import Sample, Score, Status
from ragassay.metrics.base import MetricBase, MetricFlow

NEEDS = ("contexts", "relevant_ids")
SOURCE = "trec_eval (NIST)"
EDGE_CASES = (
    "nothing was retrieved: 0",
    "relevant_ids names no relevant document: not applicable",
    "a chunk without an id: not applicable, as it cannot be matched",
    "an id that is repeated counts once, at its best rank",
)


class Ranked(MetricBase):
    """A measure of the ranking of document ids by their grades; no verdict."""

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        """The value in [0, 1]; None when no document is known to be relevant."""
        raise NotImplementedError

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        ids = []
        for i, chunk in enumerate(sample.contexts or (), 1):
            if chunk.id is None:  # it cannot be matched
                return self.not_applicable(f"context {i} has no id")
            ids.append(chunk.id)
        return self.reduce(tuple(ids), sample.relevant_ids or {})
        yield  # asks nothing, and is a flow all the same

    def reduce(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> Score:
        """The Score of a ranking in which every chunk has its id."""
        value = self.measure(ranking, grades)
        if value is None:
            return self.not_applicable("relevant_ids names no relevant document")
        return Score(metric=str(self), status=Status.JUDGED, value=value)
