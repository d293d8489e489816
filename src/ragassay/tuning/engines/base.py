"""The interface of an engine, and the engine by its name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from ragassay.core import SetupError, nearest
from ragassay.tuning.search import SearchResult, SearchTask, Watch
from ragassay.tuning.values import JudgeBench, Proposer

ENGINES = ("own", "gepa", "dspy", "textgrad")
"""The names of the engines. All but the first need a package of the same name."""


class Engine(Protocol):
    """Looks for better rubrics."""

    def search(
        self,
        task: SearchTask,
        bench: JudgeBench,
        proposer: Proposer,
        watch: Watch | None = None,
    ) -> SearchResult:
        """The finalists for the rows of the task, within its calls."""


def engine(name: str) -> Engine:
    """The engine of this name, its package imported.

    Raises SetupError E0101 for a name that is none, E0416 where the package is not installed.
    """
    if name not in ENGINES:
        raise SetupError(
            "E0101",
            f"There is no engine {name!r}.{nearest(name, ENGINES)}",
            where="--engine",
            fix=f"one of {', '.join(ENGINES)}",
        )
    if name != "own" and find_spec(name) is None:
        raise SetupError(
            "E0416",
            f"The engine {name} needs the package {name}, which is not installed.",
            where="--engine",
            fix=f"pip install 'ragassay[{name}]', or leave --engine out for our own engine",
        )
    made: Engine = import_module(f"ragassay.tuning.engines.{name}").make()
    return made
