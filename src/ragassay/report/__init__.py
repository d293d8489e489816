"""What a reader sees of a run: summary, terminal, HTML, JUnit, exports, comparison, gates.

The door is light: rich, Jinja2 and pyarrow are imported when the function that needs them is first
named or called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.report.baseline import Baseline, read_baseline, write_baseline
    from ragassay.report.benchmark import (
        benchmark_headline,
        benchmark_json,
        benchmark_text,
        render_benchmark,
    )
    from ragassay.report.benchmark_html import write_benchmark_html
    from ragassay.report.certificates import (
        certificates_json,
        render_certificate,
        render_certificates,
    )
    from ragassay.report.comparison import (
        ChangedRow,
        Comparison,
        CorrectedDifference,
        MetricComparison,
        StoredSide,
        compare,
        compare_runs,
        comparison_json,
        corrected_differences,
    )
    from ragassay.report.end_of_run import EndOfRun, conclude
    from ragassay.report.final_steps import FinalSteps, ResumedSteps, resumed_steps
    from ragassay.report.gate import Gate, GateOutcome, GateResult, check_gates, parse_gate
    from ragassay.report.github_job import tell_github
    from ragassay.report.html import write_html
    from ragassay.report.job_summary import COMMENT_LIMIT, MARKER, markdown_page
    from ragassay.report.jsonable import as_json, row_json, run_json, summary_json
    from ragassay.report.junit import write_junit
    from ragassay.report.mlflow_run import log_to_mlflow, mlflow_metrics
    from ragassay.report.mlflow_table import mlflow_frame
    from ragassay.report.output_files import check_output_file
    from ragassay.report.records import FORMATS, export, scores_frame, scores_table
    from ragassay.report.regression import regression_outcomes, with_outcomes
    from ragassay.report.summary import summarise
    from ragassay.report.terminal import render_asked, render_gates, render_row, render_runs
    from ragassay.report.terminal_comparison import render_comparison
    from ragassay.report.terminal_summary import Detail, render_summary, summary_text
    from ragassay.report.text import inert, on_github, plain, seen
    from ragassay.report.wording import headline, number_words, percent_interval
    from ragassay.report.workflow_commands import workflow_command

__all__ = [
    "COMMENT_LIMIT",
    "FORMATS",
    "MARKER",
    "Baseline",
    "ChangedRow",
    "Comparison",
    "CorrectedDifference",
    "Detail",
    "EndOfRun",
    "FinalSteps",
    "Gate",
    "GateOutcome",
    "GateResult",
    "MetricComparison",
    "ResumedSteps",
    "StoredSide",
    "as_json",
    "benchmark_headline",
    "benchmark_json",
    "benchmark_text",
    "certificates_json",
    "check_gates",
    "check_output_file",
    "compare",
    "compare_runs",
    "comparison_json",
    "corrected_differences",
    "conclude",
    "export",
    "headline",
    "inert",
    "log_to_mlflow",
    "markdown_page",
    "mlflow_frame",
    "mlflow_metrics",
    "number_words",
    "on_github",
    "parse_gate",
    "percent_interval",
    "plain",
    "read_baseline",
    "regression_outcomes",
    "render_benchmark",
    "render_certificate",
    "render_certificates",
    "render_comparison",
    "render_gates",
    "render_asked",
    "render_row",
    "render_runs",
    "render_summary",
    "resumed_steps",
    "row_json",
    "run_json",
    "scores_frame",
    "scores_table",
    "seen",
    "summarise",
    "summary_json",
    "summary_text",
    "tell_github",
    "with_outcomes",
    "workflow_command",
    "write_baseline",
    "write_benchmark_html",
    "write_html",
    "write_junit",
]

__getattr__ = lazy_names(
    __name__,
    {
        "baseline": ("Baseline", "read_baseline", "write_baseline"),
        "benchmark": ("benchmark_headline", "benchmark_json", "benchmark_text", "render_benchmark"),
        "benchmark_html": ("write_benchmark_html",),
        "certificates": ("certificates_json", "render_certificate", "render_certificates"),
        "comparison": (
            "ChangedRow",
            "Comparison",
            "CorrectedDifference",
            "MetricComparison",
            "StoredSide",
            "compare",
            "compare_runs",
            "comparison_json",
            "corrected_differences",
        ),
        "records": ("FORMATS", "export", "scores_frame", "scores_table"),
        "end_of_run": ("EndOfRun", "conclude"),
        "final_steps": ("FinalSteps", "ResumedSteps", "resumed_steps"),
        "output_files": ("check_output_file",),
        "gate": ("Gate", "GateOutcome", "GateResult", "check_gates", "parse_gate"),
        "github_job": ("tell_github",),
        "html": ("write_html",),
        "job_summary": ("COMMENT_LIMIT", "MARKER", "markdown_page"),
        "jsonable": ("as_json", "row_json", "run_json", "summary_json"),
        "junit": ("write_junit",),
        "mlflow_run": ("log_to_mlflow", "mlflow_metrics"),
        "mlflow_table": ("mlflow_frame",),
        "regression": ("regression_outcomes", "with_outcomes"),
        "summary": ("summarise",),
        "text": ("inert", "on_github", "plain", "seen"),
        "terminal": ("render_asked", "render_gates", "render_row", "render_runs"),
        "terminal_comparison": ("render_comparison",),
        "terminal_summary": ("Detail", "render_summary", "summary_text"),
        "workflow_commands": ("workflow_command",),
        "wording": ("headline", "number_words", "percent_interval"),
    },
)
