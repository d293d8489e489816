"""RagAssay: assay a retrieval-augmented application, say what broke, and say how sure every number is.

    import ragassay
    run = ragassay.evaluate("rows.jsonl")   # offline: no key, no network
    run.summary, run.scores, run["row-7"]

Importing this reads, sends, prints and configures nothing; everything else is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragassay import judge
    from ragassay.api import Run, aevaluate, aresume, compare, evaluate, forecast, open_run, resume, runs
    from ragassay.core import Context, RagAssayError, Request, Sample, Score
    from ragassay.metrics import metric

_HOMES = {
    "ragassay.api": ("Run", "aevaluate", "aresume", "compare", "evaluate", "forecast", "open_run", "resume", "runs"),
    "ragassay.core": ("Context", "RagAssayError", "Request", "Sample", "Score"),
    "ragassay.metrics": ("metric",),
}

__all__ = [
    "Context",
    "RagAssayError",
    "Request",
    "Run",
    "Sample",
    "Score",
    "__version__",
    "aevaluate",
    "aresume",
    "compare",
    "evaluate",
    "forecast",
    "judge",
    "metric",
    "open_run",
    "resume",
    "runs",
]


def __getattr__(name: str) -> object:
    if name == "judge":
        from importlib import import_module

        return import_module("ragassay.judge")
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ragassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
