"""GEPA (Agrawal et al. 2025, the package `gepa`) as the engine.

It samples minibatches, keeps a Pareto front over the rows to choose on and accepts what rises on a
minibatch. It is handed rows to search on and rows to choose on and never sees a sealed one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ragassay.tuning.engines.base import Engine
from ragassay.tuning.engines.texts import Texts
from ragassay.tuning.purchases import NoRoom
from ragassay.tuning.search import SearchResult, SearchTask, Watch
from ragassay.tuning.values import JudgeBench, Proposer

_NAME = "criteria"


class GepaEngine:
    """Searches by `gepa.optimize`."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Watch | None = None,
    ) -> SearchResult:
        """The finalists for the rows of the task, within its calls."""
        import gepa

        adapter = _Adapter(Texts(task, bench, proposer, watch))
        ended = "the calls are spent"
        try:
            gepa.optimize(
                {_NAME: adapter.texts.original},
                trainset=task.train.tolist(),
                valset=task.validation.tolist(),
                adapter=adapter,
                max_metric_calls=2 * task.max_calls,
                seed=task.seed,
                logger=SimpleNamespace(log=lambda message: None),
            )
        except NoRoom:
            pass
        else:
            ended = "the engine has ended"
        best = sorted(adapter.scores, key=lambda text: -adapter.scores[text])
        return adapter.texts.result(best[:1], ended)


class _Adapter:
    """What `gepa` asks of a system under optimisation."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.scores: dict[str, float] = {}

    def evaluate(
        self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False
    ) -> Any:
        """The rows of a batch that the candidate has right."""
        from gepa.core.adapter import EvaluationBatch

        text = candidate[_NAME]
        right = self.texts.right(text, np.array(batch, np.int64))
        if batch == self.texts.task.validation.tolist():
            self.scores[text] = float(right.mean())
            if self.scores[text] == max(self.scores.values()):
                self.texts.best_so_far(text)
        scores = [float(value) for value in right]
        traces = list(batch) if capture_traces else None
        return EvaluationBatch(outputs=list(batch), scores=scores, trajectories=traces)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The rows that a proposal is made from."""
        return {_NAME: [{"row": row} for row in eval_batch.trajectories]}

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """The text that our proposer has for these rows."""
        rows = np.array([entry["row"] for entry in reflective_dataset[_NAME]], np.int64)
        return {_NAME: self.texts.proposed(candidate[_NAME], rows)}


def make() -> Engine:
    """The engine."""
    return GepaEngine()
