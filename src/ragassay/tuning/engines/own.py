"""The engine of this package, see `ragassay.tuning.search`."""

from __future__ import annotations

from ragassay.tuning.engines.base import Engine
from ragassay.tuning.search import SearchResult, SearchTask, Watch, search
from ragassay.tuning.values import JudgeBench, Proposer


class OwnEngine:
    """Races of typed edits."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Watch | None = None,
    ) -> SearchResult:
        """The finalists for the rows of the task, within its calls."""
        return search(task, bench, proposer, watch)


def make() -> Engine:
    """The engine."""
    return OwnEngine()
