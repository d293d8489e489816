"""How a run becomes an MLflow run, written by the real MLflow client into a real database, and read
back by it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ragassay
from ragassay.core import EnvironmentFailure
from ragassay.report import log_to_mlflow, mlflow_metrics

ROWS = [
    {
        "id": "good",
        "question": "When was the bridge opened?",
        "contexts": [
            {"id": "d1", "text": "The bridge was opened in 1937."},
            {"id": "d2", "text": "Cats sleep a lot."},
        ],
        "relevant_ids": ["d1"],
        "response": "The bridge was opened in 1937.",
        "usage": {"total_tokens": 30, "latency": 0.5},
    },
    {
        "id": "bad",
        "question": "How long is the bridge?",
        "contexts": [{"id": "d2", "text": "Cats sleep a lot."}],
        "relevant_ids": ["d1"],
        "response": "The bridge is 90 kilometres long.",
        "usage": {"total_tokens": 10, "latency": 1.5},
    },
]
# A process of its own: importing MLflow raises warnings of its own dependencies, which are no fault
# here.
READ = """
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
(run,) = client.search_runs([client.get_experiment_by_name("assay").experiment_id])
files = sorted(f.path for f in client.list_artifacts(run.info.run_id, "ragassay"))
data, status = run.data, run.info.status
print(json.dumps({"metrics": data.metrics, "tags": data.tags, "files": files, "status": status}))
"""
WRITE = """
import sys
import ragassay
with ragassay.open_run("last", store=sys.argv[2]) as run:
    print(run.to_mlflow(tracking_uri=sys.argv[1], experiment="assay"))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ragassay.evaluate(ROWS, store=tmp_path / "s.db", name="two rows").close()
    return tmp_path / "s.db"


def python(script: str, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_figures_stand_under_the_names_of_agent_evaluation(store: Path) -> None:
    with ragassay.open_run(store=store) as run:
        figures, by_name = mlflow_metrics(run.summary), {m.metric: m for m in run.summary.metrics}
    assert figures["agent/total_token_count/average"] == 20.0  # (30 + 10) / 2
    assert figures["agent/latency_seconds/average"] == 1.0
    assert figures["retrieval/ground_truth/document_recall/average"] == 0.5
    assert (
        figures["response/llm_judged/groundedness/rating/percentage"]
        == by_name["groundedness"].pass_rate
    )
    assert (
        figures["retrieval/llm_judged/chunk_relevance/precision/average"]
        == by_name["chunk_relevance"].mean
    )
    assert figures["ragassay/precision_at_k.k.5/mean"] == by_name["precision_at_k(k=5)"].mean
    assert "response/llm_judged/correctness/rating/percentage" not in figures, "it was not measured"


@pytest.mark.slow
def test_mlflow_reads_back_what_was_written(store: Path, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'mlflow.db'}"
    python(WRITE, address, str(store), cwd=tmp_path)
    read = json.loads(python(READ, address, cwd=tmp_path).splitlines()[-1])
    with ragassay.open_run(store=store) as run:
        assert read["metrics"] == pytest.approx(mlflow_metrics(run.summary))
        assert read["tags"]["ragassay.run"] == run.id
    assert read["files"] == ["ragassay/report.html", "ragassay/rows.jsonl"]
    assert read["status"] == "FINISHED"


@pytest.mark.slow
def test_an_mlflow_that_does_not_take_it_is_an_error_that_says_so(
    store: Path, tmp_path: Path
) -> None:
    with (
        ragassay.open_run(store=store) as run,
        pytest.raises(EnvironmentFailure, match="MLflow did not take"),
    ):
        log_to_mlflow(run.store, run.id, tracking_uri="no-such-scheme://x")
