"""Benchmarks of judges that are asked, from the store: nothing asked twice, nothing lost scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import DataError, SetupError
from ragassay.testing import LLMServer
from ragassay.trust.measure.benchmarks import run_benchmark

FACTS = [
    "The harbour opened in {y}.",
    "The bridge carries {y} cars a day.",
    "The museum holds {y} paintings.",
]


def rows(n: int, **others: Any) -> list[dict[str, Any]]:
    """Claims that stand in their context (even rows) and claims with another number (odd rows)."""
    found = []
    for i in range(n):
        fact = FACTS[i % len(FACTS)].format(y=1800 + i)
        claim = fact if i % 2 == 0 else FACTS[i % len(FACTS)].format(y=1900 + i)
        found.append(
            {
                "id": f"r{i}",
                "task": "groundedness",
                "contexts": [f"{fact} It is open all year."],
                "response": claim,
                "label": 1 - i % 2,
                "split": "test" if i < 2 * n // 3 else "dev",
                **others,
            }
        )
    return found


def write(path: Path, items: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return str(path)


def asked(server: LLMServer) -> int:
    return int(server.stats()["calls"])


def test_the_offline_judge_is_run_on_the_task_of_the_rows_and_read_back_by_id(
    tmp_path: Path,
) -> None:
    found = run_benchmark(
        write(tmp_path / "rows.jsonl", rows(24)), store=tmp_path / "s.db", draws=200
    )
    (judge,) = found.benchmark.judges
    assert (found.benchmark.set_up.metric, judge.judge, judge.n) == ("groundedness", "offline", 24)
    assert judge.missing == {}
    assert "groundedness" in judge.fingerprints
    assert judge.judge_cut is None
    assert found.rubrics["offline"]["groundedness"].startswith("groundedness@")
    with ragassay.open_run(found.runs["offline"], store=tmp_path / "s.db") as run:
        verdicts = {row.id: row.score("groundedness") for row in run.rows()}
    right = sum((verdicts[row["id"]].verdict == "pass") == bool(row["label"]) for row in rows(24))  # type: ignore[union-attr]
    accuracy = judge.figure("accuracy")
    assert accuracy is not None
    assert accuracy.value == pytest.approx(right / 24)


def test_only_labelled_rows_that_pass_the_filters_are_asked_and_a_second_benchmark_asks_nothing(
    tmp_path: Path,
) -> None:
    data = rows(12)
    data[0]["label"] = None
    path = write(tmp_path / "rows.jsonl", data)
    options: dict[str, Any] = {"store": tmp_path / "s.db", "where": ["split=test"], "draws": 200}
    with LLMServer() as server:
        first = run_benchmark(path, "openai:mock", base_url=server.url, **options)
        calls = asked(server)
        second = run_benchmark(path, "openai:mock", base_url=server.url, **options)
        assert asked(server) == calls
        assert calls > 0
    assert first.benchmark.labelled == 7
    assert first.benchmark.judges[0].n + sum(first.benchmark.judges[0].missing.values()) == 7
    assert first.benchmark.judges[0].pooled == second.benchmark.judges[0].pooled


def test_a_row_whose_verdict_was_lost_is_missing_with_its_reason_and_not_in_any_figure(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "rows.jsonl", rows(12))

    def fault(body: dict[str, Any]) -> str | None:
        return "400" if "1804" in json.dumps(body) else None

    with LLMServer() as server:
        server.fault_for = fault
        found = run_benchmark(
            path, "openai:mock", base_url=server.url, store=tmp_path / "s.db", draws=200, attempts=1
        )
    (judge,) = found.benchmark.judges
    assert judge.n == 11
    assert sum(judge.missing.values()) == 1
    assert next(iter(judge.missing)).startswith("failed")
    assert sum(map(sum, judge.confusion)) == 11


def test_a_run_of_the_store_is_benchmarked_without_asking_and_beside_recorded_judges(
    tmp_path: Path,
) -> None:
    data = [row | {"judges": {"oracle": row["label"]}} for row in rows(12)]
    path = write(tmp_path / "rows.jsonl", data)
    with ragassay.evaluate(path, ["groundedness"], store=tmp_path / "s.db") as run:
        name = f"run:{run.id}"
    found = run_benchmark(
        path, [name, "recorded:oracle"], store=tmp_path / "s.db", draws=200
    ).benchmark
    assert [judge.judge for judge in found.judges] == [name, "recorded:oracle"]
    assert {one.figure for one in found.differences} >= {"kappa", "precision"}
    accuracy = found.judges[1].figure("accuracy")
    assert accuracy is not None
    assert accuracy.value == 1.0
    with pytest.raises(SetupError, match="has no answer_relevance"):
        run_benchmark(path, name, store=tmp_path / "s.db", metric="answer_relevance")
    others = [row | {"id": "x" + row["id"]} for row in rows(4)]
    with pytest.raises(DataError, match="E0315"):
        run_benchmark(others, name, store=tmp_path / "s.db")


def test_graded_ratings_of_a_metric_are_compared_with_graded_labels(tmp_path: Path) -> None:
    data = [
        {
            "id": f"r{i}",
            "question": "When did the harbour open?",
            "contexts": [f"The harbour opened in {1800 + i}."],
            "label": i % 4,
            "task": "context_relevance",
        }
        for i in range(16)
    ]
    with LLMServer() as server:
        found = run_benchmark(
            data, "openai:mock", base_url=server.url, store=tmp_path / "s.db", draws=200
        ).benchmark
    assert found.set_up.graded
    assert found.set_up.cut == 2
    assert found.judges[0].confusion_labels == ("0", "1", "2", "3")
    assert found.judges[0].n == 16


def test_the_metric_must_be_said_where_the_rows_have_no_task(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="--metric"):
        run_benchmark(
            [{"id": "a", "label": 1, "response": "x"}], "offline", store=tmp_path / "s.db"
        )
