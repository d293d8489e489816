"""A run written into MLflow: its figures under the names of Agent Evaluation, its rows as a table.

What Agent Evaluation has a name for is logged under that name; every figure is also logged under
"ragassay/", with its interval and coverage, which MLflow has no place for otherwise. Needs the
extra 'mlflow' (SetupError E0105 without it).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    EnvironmentFailure,
    MetricSummary,
    MetricTrust,
    SetupError,
    Summary,
    shorten,
)
from ragassay.report.wording import trust_lines

if TYPE_CHECKING:
    from ragassay.store import Store

RATINGS: Mapping[str, str] = {
    "groundedness": "response/llm_judged/groundedness/rating/percentage",
    "correctness": "response/llm_judged/correctness/rating/percentage",
    "answer_relevance": "response/llm_judged/relevance_to_query/rating/percentage",
    "safety": "response/llm_judged/safety/rating/percentage",
    "guidelines": "response/llm_judged/guideline_adherence/rating/percentage",
    "context_sufficiency": "retrieval/llm_judged/context_sufficiency/rating/percentage",
}
"""Metric -> the name of the share of its rows that pass."""

AVERAGES: Mapping[str, str] = {
    "chunk_relevance": "retrieval/llm_judged/chunk_relevance/precision/average",
    "document_recall": "retrieval/ground_truth/document_recall/average",
    "app_tokens": "agent/total_token_count/average",
    "app_input_tokens": "agent/input_token_count/average",
    "app_output_tokens": "agent/output_token_count/average",
    "app_latency": "agent/latency_seconds/average",
    "app_cost": "agent/total_cost/average",
}
"""Metric -> the name of its mean."""

OVERALL = "response/overall_assessment/rating/percentage"

_NOT_IN_A_NAME = re.compile(r"[^\w\-. :/]+", re.ASCII)


def mlflow_metrics(summary: Summary) -> dict[str, float]:
    """The figures of a run by MLflow name: shares from 0 to 1, or in the metric's unit; absent
    figures are left out.
    """
    figures: dict[str, float] = {}
    decided = summary.passed + summary.failed
    if decided:
        figures[OVERALL] = summary.passed / decided
    for metric in summary.metrics:
        if metric.pass_rate is not None and metric.metric in RATINGS:
            figures[RATINGS[metric.metric]] = metric.pass_rate
        if metric.mean is not None and metric.metric in AVERAGES:
            figures[AVERAGES[metric.metric]] = metric.mean
        figures.update(_own(metric))
    return figures


def _own(metric: MetricSummary) -> Iterator[tuple[str, float]]:
    # MLflow takes letters, digits and a few signs in a name: groundedness(pass_mark=0.8) becomes
    # groundedness.pass_mark.0.8
    name = "ragassay/" + _NOT_IN_A_NAME.sub(".", metric.metric).strip(".")
    figures = {
        "mean": metric.mean,
        "mean_low": metric.interval.low if metric.interval is not None else None,
        "mean_high": metric.interval.high if metric.interval is not None else None,
        "pass_rate": metric.pass_rate,
        "coverage": metric.coverage,
        "rows": float(metric.n),
    }
    return ((f"{name}/{figure}", value) for figure, value in figures.items() if value is not None)


def log_to_mlflow(
    store: Store,
    run_id: str,
    *,
    tracking_uri: str | None = None,
    experiment: str = "ragassay",
    into: str | None = None,
    trust: Sequence[MetricTrust] = (),
) -> str:
    """Write a run's figures, parameters and rows (rows.jsonl, report.html) into an MLflow run and
    return that one's id.

    tracking_uri: as MLflow takes it (None: MLFLOW_TRACKING_URI or MLflow's default). experiment:
    made where it does not exist. into: the id of an MLflow run to write into, instead of a new one.
    trust: what is known of the judge on rows like these (`Summary.trust`). Raises SetupError E0105
    without the extra 'mlflow', EnvironmentFailure E0507 when MLflow does not take it.
    """
    try:
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise SetupError(
            "E0105",
            "Writing an MLflow run needs MLflow.",
            where="mlflow",
            fix="pip install 'ragassay[mlflow]'",
        ) from None
    from ragassay.report.summary import summarise

    summary = summarise(store, run_id, trust=trust)
    try:
        client: Any = MlflowClient(tracking_uri=tracking_uri)
        if into is not None:
            client.get_run(into)
            _write_run(client, into, store, summary, trust)
            return into
        new = _new_run(client, experiment, summary.manifest.name or run_id)
        _write_run(client, new, store, summary, trust)
        client.set_terminated(new)
        return new
    except Exception as error:  # MLflow raises its own kinds and those of its storage
        raise EnvironmentFailure(
            "E0507",
            "MLflow did not take the run.",
            where=tracking_uri or "MLflow's tracking address",
            why=shorten(f"{type(error).__name__}: {error}", 300),
            fix=("check --tracking-uri and the run named by --into; the stored run is unchanged"),
        ) from error


def _new_run(client: Any, experiment: str, name: str) -> str:
    """The id of a new MLflow run in the experiment, which is made where it does not exist."""
    existing = client.get_experiment_by_name(experiment)
    if existing is not None:
        experiment_id = existing.experiment_id
    else:
        experiment_id = client.create_experiment(experiment)
    return str(client.create_run(experiment_id, run_name=name).info.run_id)


def _write_run(
    client: Any, into: str, store: Store, summary: Summary, trust: Sequence[MetricTrust]
) -> None:
    """Write figures, tags, rows and page into the MLflow run."""
    from ragassay.report.html import write_html
    from ragassay.report.records import export

    for name, value in mlflow_metrics(summary).items():
        client.log_metric(into, name, value)
    for name, text in _parameters(summary).items():
        client.set_tag(into, f"ragassay.{name}", text)
    run_id = summary.manifest.run_id
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        page = Path(folder, "report.html")
        export(store, run_id, "jsonl", rows)
        write_html(store, run_id, page, trust=trust)
        for file in (rows, page):
            client.log_artifact(into, str(file), "ragassay")


def _parameters(summary: Summary) -> dict[str, str]:
    # Tags and not parameters: MLflow refuses to write a parameter of a run a second time with
    # another value.
    manifest = summary.manifest
    return {
        "run": manifest.run_id,
        "version": manifest.version,
        "judge": manifest.judge.uri,
        "judge_agreement": "; ".join(
            f"{metric}: {words}" if metric else words for metric, words, _ in trust_lines(summary)
        ),
        "rubrics": ", ".join(manifest.judge.rubrics.values()),
        "metrics": ", ".join(manifest.metrics),
        "source_hash": manifest.source_hash,
        "rows": str(summary.rows),
        "state": summary.state.value,
    }
