"""A benchmark from a file of labels to a certificate in the store."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from support.whole_reports import whole_text


@pytest.mark.slow
def test_a_benchmark_of_ones_own_labels_is_what_later_runs_on_such_rows_show(
    tmp_path: Path,
) -> None:
    import ragassay
    from ragassay.trust.measure.benchmarks import run_benchmark

    chance = random.Random(7)
    rows: list[dict[str, object]] = []
    for i in range(60):
        limit = chance.randint(2, 99)
        rows.append(
            {
                "id": f"q{i}",
                "question": "What is the limit of the service?",
                "label": i % 2,
                "task": "groundedness",
                "contexts": [f"The limit of the service is {limit} requests a minute since May."],
                "response": f"The limit is {limit if i % 2 else limit + 700} requests a minute.",
            }
        )
    labels = tmp_path / "ours.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_benchmark(str(labels), "offline", store=tmp_path / "s.db", draws=200)
    run = ragassay.evaluate(str(labels), "groundedness", store=tmp_path / "s.db")
    (line,) = run.summary.trust
    assert (line.dataset, line.labels, line.measured) == ("ours.jsonl", 60, True)
    assert "on 60 labels (ours.jsonl)" in " ".join(whole_text(run.summary).split())
    run.close()
