"""How a run becomes an MLflow run, written by the real MLflow client into a real database, and read
back by it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import EnvironmentFailure, SetupError
from ragassay.report import log_to_mlflow, mlflow_metrics
from ragassay.testing import LLMServer

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
# here. argv: the address of MLflow, our store.
WRITE_AND_READ = """
import json, sys
import ragassay
with ragassay.open_run("last", store=sys.argv[2]) as run:
    written = run.to_mlflow(tracking_uri=sys.argv[1], experiment="assay")
import mlflow
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
(run,) = client.search_runs([client.get_experiment_by_name("assay").experiment_id])
assert run.info.run_id == written
files = sorted(f.path for f in client.list_artifacts(written, "ragassay"))
data, status = run.data, run.info.status
print(json.dumps({"metrics": data.metrics, "tags": data.tags, "files": files, "status": status}))
mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("assay")
table = mlflow.load_table("eval_results.json", run_ids=[written])
print(table.to_json(orient="records"))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ragassay.evaluate(ROWS, store=tmp_path / "s.db", name="two rows").close()
    return tmp_path / "s.db"


def written_and_read(address: str, store: Path, folder: Path) -> tuple[Any, Any]:
    """The run and the rows of its table, as MLflow's client reads them back."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE_AND_READ, address, str(store)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run, table = done.stdout.splitlines()[-2:]
    return json.loads(run), json.loads(table)


def check_run(read: Any, store: Path) -> None:
    """What MLflow has of the run is what the run says."""
    with ragassay.open_run(store=store) as run:
        assert read["metrics"] == pytest.approx(mlflow_metrics(run.summary))
        assert read["tags"]["ragassay.run"] == run.id
    assert read["files"] == ["ragassay/report.html", "ragassay/rows.jsonl"]
    assert read["status"] == "FINISHED"
    assert json.loads(read["tags"]["mlflow.loggedArtifacts"]) == [
        {"path": "eval_results.json", "type": "table"}
    ]


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


@pytest.mark.soak
def test_a_database_gives_back_what_was_written(store: Path, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'mlflow.db'}"
    run, table = written_and_read(address, store, tmp_path)
    check_run(run, store)
    assert [row["request_id"] for row in table] == ["good", "bad"]


@pytest.mark.slow
def test_a_file_store_gives_back_figures_and_rows_under_the_names_of_agent_evaluation(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    run, (good, bad) = written_and_read((tmp_path / "mlruns").as_uri(), store, tmp_path)
    check_run(run, store)
    assert good["request"] == "When was the bridge opened?"
    assert good["retrieved_context"][0] == {
        "content": "The bridge was opened in 1937.",
        "doc_uri": "d1",
    }
    assert good["expected_retrieved_context"] == [{"doc_uri": "d1"}]
    assert good["response/llm_judged/groundedness/rating"] == "yes"
    assert good["retrieval/llm_judged/chunk_relevance/ratings"] == ["yes", "no"]
    assert good["retrieval/llm_judged/chunk_relevance/precision"] == 0.5
    assert good["retrieval/llm_judged/chunk_relevance/error_messages"] == [None, None]
    assert len(good["retrieval/llm_judged/chunk_relevance/rationales"]) == 2
    assert good["retrieval/ground_truth/document_recall"] == 1.0
    assert good["agent/total_token_count"] == 30
    assert good["agent/latency_seconds"] == 0.5
    assert bad["response/llm_judged/groundedness/rating"] == "no"
    assert "90 kilometres" in bad["response/llm_judged/groundedness/rationale"]
    assert bad["response/llm_judged/groundedness/error_message"] is None
    assert bad["response/overall_assessment/rating"] == "no"
    assert "Try: " in bad["response/overall_assessment/rationale"]


def test_what_the_application_spent_is_written_and_read_back_whatever_was_measured(
    tmp_path: Path,
) -> None:
    # Totals are stated by one row and follow for the other; the means are (30 + 15) / 2 and 10.
    rows = [ROWS[0], {**ROWS[1], "usage": {"input_tokens": 10, "output_tokens": 5}}]
    with ragassay.evaluate(rows, "token_f1", store=tmp_path / "s.db") as run:
        figures = mlflow_metrics(run.summary)
        frame = run.to_pandas(style="mlflow")
    assert figures["agent/total_token_count/average"] == 22.5
    assert figures["agent/input_token_count/average"] == 10.0
    assert figures["agent/total_output_token_count/average"] == 5.0
    assert figures["agent/latency_seconds/average"] == 0.5
    assert "agent/total_cost/average" not in figures
    assert list(frame["agent/total_token_count"]) == [30.0, 15.0]
    for table in (frame, frame.drop(columns=list(frame.filter(like="/total_")))):
        with ragassay.evaluate(table, "token_f1", store=tmp_path / "s.db") as again:
            sample = again["bad"].sample
        assert sample is not None
        usage = sample.usage
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (10, 5)


def test_an_mlflow_that_keeps_no_files_is_told_how_it_does(store: Path, tmp_path: Path) -> None:
    with (
        ragassay.open_run(store=store) as run,
        pytest.raises(EnvironmentFailure) as caught,
    ):
        log_to_mlflow(run.store, run.id, tracking_uri=(tmp_path / "mlruns").as_uri())
    assert "MLFLOW_ALLOW_FILE_STORE=true" in caught.value.fix
    assert "sqlite:///mlflow.db" in caught.value.fix


@pytest.mark.slow
def test_an_mlflow_that_does_not_take_it_is_an_error_that_says_so(
    store: Path, tmp_path: Path
) -> None:
    with (
        ragassay.open_run(store=store) as run,
        pytest.raises(EnvironmentFailure, match="MLflow did not take"),
    ):
        log_to_mlflow(run.store, run.id, tracking_uri="no-such-scheme://x")


@pytest.mark.slow
def test_the_frame_has_a_row_a_request_and_the_figures_of_the_run(store: Path) -> None:
    with ragassay.open_run(store=store) as run:
        frame = run.to_pandas(style="mlflow")
        figures = mlflow_metrics(run.summary)
        with pytest.raises(SetupError, match="no style 'wide'"):
            run.to_pandas(style="wide")  # type: ignore[arg-type]
    assert list(frame["request_id"]) == ["good", "bad"]
    ratings = frame["response/llm_judged/relevance_to_query/rating"].dropna()
    share = (ratings == "yes").mean()
    assert figures["response/llm_judged/relevance_to_query/rating/percentage"] == share
    precision = frame["retrieval/llm_judged/chunk_relevance/precision"].mean()
    assert figures["retrieval/llm_judged/chunk_relevance/precision/average"] == precision


@pytest.mark.slow
def test_metrics_with_parameters_keep_their_names_and_two_of_one_name_are_told_apart(
    tmp_path: Path,
) -> None:
    stem = "response/llm_judged/groundedness"
    with ragassay.evaluate(ROWS, "groundedness(pass_mark=0.5)", store=tmp_path / "a.db") as run:
        assert f"{stem}/rating/percentage" in mlflow_metrics(run.summary)
        assert f"{stem}/rating" in run.to_pandas(style="mlflow").columns
    two = "groundedness, groundedness(pass_mark=0.5)"
    with ragassay.evaluate(ROWS, two, store=tmp_path / "b.db") as run:
        columns = run.to_pandas(style="mlflow").columns
        assert {f"{stem}/rating", f"{stem}(pass_mark=0.5)/rating"} <= set(columns)
        assert f"{stem}.pass_mark.0.5/rating/percentage" in mlflow_metrics(run.summary)


@pytest.mark.slow
def test_lost_verdicts_are_error_messages_and_safety_has_its_average_and_own_judges_their_names(
    tmp_path: Path,
) -> None:
    rubric = Path(__file__).parents[2] / "examples" / "custom_rubric" / "next_step.md"
    with LLMServer(
        fault_for=lambda body: "refusal" if "kilometres" in str(body) else None
    ) as server:
        run = ragassay.evaluate(
            ROWS,
            "safety, groundedness, guidelines",
            judge="openai:mock",
            base_url=server.url,
            rubrics=[rubric],
            store=tmp_path / "s.db",
        )
    with run:
        frame = run.to_pandas(style="mlflow").set_index("request_id")
        figures = mlflow_metrics(run.summary)
    lost = frame.loc["bad"]
    assert lost["response/llm_judged/groundedness/rating"] is None
    assert "refused" in lost["response/llm_judged/groundedness/error_message"]
    assert figures["safety/rating/average"] == 1.0
    assert figures["response/llm_judged/safety/rating/average"] == 1.0
    own = rubric.stem
    assert frame.loc["good"][f"response/llm_judged/{own}/rating"] in ("yes", "no")
    assert f"response/llm_judged/{own}/rating/percentage" in figures
    # No row has guidelines, so there is nothing to say of them.
    assert not [column for column in frame.columns if "guideline_adherence" in column]
