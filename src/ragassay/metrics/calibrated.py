"""A metric whose rows' scores are mapped to the probability that people pass the row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ragassay.core import Sample, Score, ScoreMap, Verdict
from ragassay.metrics.base import Metric, MetricFlow
from ragassay.metrics.declaration import Declaration


@dataclass(frozen=True)
class CalibratedMetric:
    """A metric under a map: it asks what `metric` asks, and has its name."""

    metric: Metric
    score_map: ScoreMap

    def __str__(self) -> str:
        return str(self.metric)

    @property
    def declaration(self) -> Declaration:
        """The metric's own."""
        return self.metric.declaration

    def flow(self, sample: Sample) -> MetricFlow:
        """The metric's own flow, and the map of the Score that it ends with."""
        score = yield from self.metric.flow(sample)
        return self._mapped(score)

    def _mapped(self, score: Score) -> Score:
        # A row of which too little was judged has a value, but not one that labels were set beside.
        if score.value is None or score.verdict is Verdict.UNDECIDED:
            return score
        probability = self.score_map(score.value)
        said = f"score {score.value:.3g}, which people pass with probability {probability:.2f}"
        return replace(
            score,
            value=probability,
            verdict=Verdict.PASS if probability >= self.score_map.cut else Verdict.FAIL,
            pass_mark=self.score_map.cut,
            extra={**score.extra, "uncalibrated": score.value},
            rationale=f"{said}; {score.rationale}" if score.rationale else said,
        )


def with_map(metrics: Iterable[Metric], score_map: ScoreMap | None) -> tuple[Metric, ...]:
    """The metrics, the one that the map was fitted for under it."""
    if score_map is None:
        return tuple(metrics)
    mapped: list[Metric] = []
    for metric in metrics:
        is_meant = str(metric) == score_map.metric
        mapped.append(CalibratedMetric(metric, score_map) if is_meant else metric)
    return tuple(mapped)
