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
    from ragassay.api import Run, aevaluate, aresume, compare, evaluate, forecast, open_run, resume, runs
    from ragassay.core import Context, RagAssayError, Sample, Score

_HOMES = {
    "ragassay.api": ("Run", "aevaluate", "aresume", "compare", "evaluate", "forecast", "open_run", "resume", "runs"),
    "ragassay.core": ("Context", "RagAssayError", "Sample", "Score"),
}

__all__ = [
    "Context",
    "RagAssayError",
    "Run",
    "Sample",
    "Score",
    "__version__",
    "aevaluate",
    "aresume",
    "compare",
    "evaluate",
    "forecast",
    "open_run",
    "resume",
    "runs",
]


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ragassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
