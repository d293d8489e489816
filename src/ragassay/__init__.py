"""RagAssay: assay a retrieval-augmented application, say what broke, and say how sure every number
is.

    import ragassay
    run = ragassay.evaluate("rows.jsonl")   # offline: no key, no network
    run.summary, run.scores, run["row-7"]

Importing this reads, sends, prints and configures nothing; everything else is imported on first
use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay import guard
    from ragassay import notebook as judge
    from ragassay.api import (
        Run,
        aevaluate,
        aresume,
        compare,
        evaluate,
        forecast,
        list_runs,
        open_run,
        resume,
    )
    from ragassay.core import Context, RagAssayError, Request, Sample, Score
    from ragassay.instrument import generator, retriever, trace, turn
    from ragassay.metrics import metric
    from ragassay.stress.door import astress_test, stress_test
    from ragassay.testsets.door import (
        acheck_testset,
        amake_testset,
        check_testset,
        make_testset,
    )
    from ragassay.testsets.refresh import arefresh_testset, refresh_testset
    from ragassay.trust import audit_table
    from ragassay.trust.measure import (
        benchmark,
        calibrate,
        cascade,
        certificates,
        estimate,
        import_labels,
        judge_trust,
        next_rows,
        panel,
        people_agreement,
        probe,
        repeat,
    )
    from ragassay.tuning.door import aoptimise, optimise
    from ragassay.watch.door import watch_traffic

__all__ = [
    "Context",
    "RagAssayError",
    "Request",
    "Run",
    "Sample",
    "Score",
    "__version__",
    "acheck_testset",
    "aevaluate",
    "amake_testset",
    "aoptimise",
    "arefresh_testset",
    "aresume",
    "astress_test",
    "audit_table",
    "benchmark",
    "calibrate",
    "cascade",
    "certificates",
    "check_testset",
    "compare",
    "estimate",
    "evaluate",
    "forecast",
    "generator",
    "guard",
    "import_labels",
    "judge",
    "judge_trust",
    "list_runs",
    "make_testset",
    "metric",
    "next_rows",
    "open_run",
    "optimise",
    "panel",
    "people_agreement",
    "probe",
    "refresh_testset",
    "repeat",
    "resume",
    "retriever",
    "stress_test",
    "trace",
    "turn",
    "watch_traffic",
]

_lazy_name = lazy_names(
    __name__,
    {
        "api": (
            "Run",
            "aevaluate",
            "aresume",
            "compare",
            "evaluate",
            "forecast",
            "list_runs",
            "open_run",
            "resume",
        ),
        "core": ("Context", "RagAssayError", "Request", "Sample", "Score"),
        "instrument": ("generator", "retriever", "trace", "turn"),
        "metrics": ("metric",),
        "testsets.door": ("acheck_testset", "amake_testset", "check_testset", "make_testset"),
        "testsets.refresh": ("arefresh_testset", "refresh_testset"),
        "stress.door": ("astress_test", "stress_test"),
        "trust": ("audit_table",),
        "tuning.door": ("aoptimise", "optimise"),
        "watch.door": ("watch_traffic",),
        "trust.measure": (
            "benchmark",
            "calibrate",
            "cascade",
            "certificates",
            "estimate",
            "import_labels",
            "judge_trust",
            "next_rows",
            "panel",
            "people_agreement",
            "probe",
            "repeat",
        ),
    },
)


def __getattr__(name: str) -> object:
    if name == "judge":  # a module, under the name that users write
        value: object = import_module("ragassay.notebook")
    elif name == "guard":
        value = import_module("ragassay.guard")
    else:
        value = _lazy_name(name)
    # What the functions return prints itself, and shows itself in a notebook.
    import_module("ragassay.core.display").show_with(html=_as_html, text=_as_text)
    return value


def _as_html(value: object) -> str:
    html: str = import_module("ragassay.report.notebook_page").as_html(value)
    return html


def _as_text(value: object) -> str:
    text: str = import_module("ragassay.report.notebook_page").as_text(value)
    return text


def __dir__() -> list[str]:
    return sorted(__all__)
