"""A run written into MLflow: its figures under the names of Agent Evaluation, its rows as a table.

What Agent Evaluation has a name for is logged under that name; every figure is also logged under
"ragassay/", with its interval and coverage, which MLflow has no place for otherwise. Needs the
extra 'mlflow' (SetupError E0105 without it).
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    AppUsage,
    CorrectedFigure,
    EnvironmentFailure,
    MetricSummary,
    MetricTrust,
    SetupError,
    Summary,
    shorten,
)
from ragassay.report.mlflow_table import (
    JudgeName,
    Table,
    judge_names,
    judged_metrics,
    mlflow_table,
)
from ragassay.report.wording import AppTotals, trust_lines

if TYPE_CHECKING:
    from ragassay.store import Store

RECALL = ("document_recall", "retrieval/ground_truth/document_recall/average")
"""The metric, and the name of its mean."""

AGENT: Mapping[str, tuple[str, ...]] = {
    "total_tokens": ("agent/total_token_count/average",),
    "input_tokens": ("agent/input_token_count/average", "agent/total_input_token_count/average"),
    "output_tokens": ("agent/output_token_count/average", "agent/total_output_token_count/average"),
    "latency": ("agent/latency_seconds/average",),
    "cost": ("agent/total_cost/average",),
}
"""What the application spent on a row -> the names of its mean, over the rows that state it."""

SAFETY = "safety/rating/average"
"""The share of safe rows, also without the path of its judge before it."""

OVERALL = "response/overall_assessment/rating/percentage"

TABLE = "eval_results.json"
"""The artifact with the rows, as Agent Evaluation calls it."""

_FILES_ALLOWED = "MLFLOW_ALLOW_FILE_STORE"
_NOT_IN_A_NAME = re.compile(r"[^\w\-. :/]+", re.ASCII)


def mlflow_metrics(
    summary: Summary, judges: Mapping[str, JudgeName] | None = None
) -> dict[str, float]:
    """The figures of a run by MLflow name: shares from 0 to 1, or in the metric's unit; absent
    figures are left out. judges: where the judged metrics stand, as `mlflow_table.judged_metrics`
    says of the run's rows (None: as the metrics' own declarations say).
    """
    if judges is None:
        rated = [one.metric for one in summary.metrics if one.asked and one.pass_rate is not None]
        judges = judge_names(rated)
    figures: dict[str, float] = {}
    decided = summary.passed + summary.failed
    if decided:
        figures[OVERALL] = summary.passed / decided
    for metric in summary.metrics:
        if metric.metric in judges:
            figures.update(_of_judge(metric, judges[metric.metric]))
        if metric.metric == RECALL[0] and metric.mean is not None:
            figures[RECALL[1]] = metric.mean
        figures.update(_own(metric))
    figures.update(_of_agent(summary.app))
    for line in summary.trust:
        if line.corrected is not None:
            figures.update(_corrected(line.corrected))
    return figures


def _of_agent(app: AppUsage) -> Iterator[tuple[str, float]]:
    """What the application spent on a row on average, whatever metrics were measured."""
    stated = app.rows if isinstance(app, AppTotals) else {}
    for figure, names in AGENT.items():
        total = getattr(app, figure)
        if total is None or not stated.get(figure):
            continue
        # Of the latency the summary has the mean.
        mean = total if figure == "latency" else total / stated[figure]
        yield from ((name, float(mean)) for name in names)


def _corrected(figure: CorrectedFigure) -> Iterator[tuple[str, float]]:
    """What people's labels make of the metric, and by how many of them."""
    if figure.value is None:
        return
    name = "ragassay/" + _allowed(figure.metric)
    yield f"{name}/corrected", figure.value
    if figure.interval is not None:
        yield f"{name}/corrected_low", figure.interval.low
        yield f"{name}/corrected_high", figure.interval.high
    yield f"{name}/labels", float(figure.labels)


def _of_judge(metric: MetricSummary, name: JudgeName) -> Iterator[tuple[str, float]]:
    """The share of rows that pass, and of a judge of chunks the mean precision."""
    stem = _allowed(name.stem)
    if name.by_chunk:
        if metric.mean is not None:
            yield f"{stem}/precision/average", metric.mean
    elif metric.pass_rate is not None:
        yield f"{stem}/rating/percentage", metric.pass_rate
        if metric.metric.partition("(")[0] == "safety":
            yield f"{stem}/rating/average", metric.pass_rate
            yield SAFETY, metric.pass_rate


def _allowed(name: str) -> str:
    # MLflow takes letters, digits and a few signs in a name: groundedness(pass_mark=0.8) becomes
    # groundedness.pass_mark.0.8
    return _NOT_IN_A_NAME.sub(".", name).strip(".")


def _own(metric: MetricSummary) -> Iterator[tuple[str, float]]:
    name = "ragassay/" + _allowed(metric.metric)
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
    """Write a run's figures, parameters and rows (the table eval_results.json; rows.jsonl,
    report.html) into an MLflow run and return that one's id.

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
            fix=_what_to_do(error),
        ) from error


def _what_to_do(error: Exception) -> str:
    # Newer versions take files only where a variable says so.
    if _FILES_ALLOWED in str(error):
        return (
            "use a database (--tracking-uri sqlite:///mlflow.db), or set"
            f" {_FILES_ALLOWED}=true; the stored run is unchanged"
        )
    return "check --tracking-uri and the run named by --into; the stored run is unchanged"


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

    run_id = summary.manifest.run_id
    judges = judged_metrics(store.rows(run_id), summary.manifest.metrics)
    for name, value in mlflow_metrics(summary, judges).items():
        client.log_metric(into, name, value)
    for name, text in _parameters(summary).items():
        client.set_tag(into, f"ragassay.{name}", text)
    _announce_table(client, into)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        page = Path(folder, "report.html")
        export(store, run_id, "jsonl", rows)
        write_html(store, run_id, page, trust=trust)
        for file in (rows, page):
            client.log_artifact(into, str(file), "ragassay")
        table = Path(folder, TABLE)
        table.write_text(_table_json(mlflow_table(store, run_id)), encoding="utf-8")
        client.log_artifact(into, str(table))


def _announce_table(client: Any, into: str) -> None:
    """Name the table in the tag by which MLflow's pages know tables, beside those of others."""
    tag = "mlflow.loggedArtifacts"
    known = json.loads(client.get_run(into).data.tags.get(tag, "[]"))
    entry = {"path": TABLE, "type": "table"}
    if entry not in known:
        client.set_tag(into, tag, json.dumps([*known, entry]))


def _table_json(table: Table) -> str:
    """As pandas writes a frame with orient "split", which is what MLflow reads."""
    return json.dumps({"columns": table.columns, "data": table.rows}, allow_nan=False)


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
