"""What is optimised: which metrics can be, what their rows must hold, and where the mark lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.core import DataError, SetupError
from ragassay.tuning.labels import labels_of
from ragassay.tuning.target import target_of

JUDGE = "openai:gpt-5"
ROW = {"question": "When was it built?", "contexts": ["In 1931."], "response": "In 1931."}


@pytest.mark.parametrize("metric", ["correctness", "context_sufficiency", "answer_accuracy_dual"])
def test_rows_need_what_the_metric_reads_and_no_input_that_it_makes_itself(metric: str) -> None:
    """The rubric of correctness reads statements, which are made of the reference."""
    rows = [{**ROW, "id": str(n), "reference": "1931.", "label": n % 2} for n in range(4)]
    assert len(labels_of(rows, target_of(metric, JUDGE).needs).rows) == 4


def test_labels_without_rows_are_told_which_columns_to_name() -> None:
    rows = [{"id": str(n), "question": "When?", "label": n % 2} for n in range(4)]
    with pytest.raises(DataError) as lacking:
        labels_of(rows, target_of("correctness", JUDGE).needs)
    assert lacking.value.code == "E0315"
    assert lacking.value.why == "it has no response, no reference or expected_facts"
    assert lacking.value.fix.endswith("--map response=COLUMN --map reference=COLUMN")


def test_a_file_of_ids_and_labels_alone_is_told_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("id,label\n" + "".join(f"r{n},{n % 2}\n" for n in range(4)))
    with pytest.raises(SetupError, match=r"No column of labels\.csv") as lacking:
        labels_of(file, target_of("groundedness", JUDGE).needs)
    assert lacking.value.fix.startswith("give the labels with their rows, or name the columns:")
    assert "ragassay evaluate" not in lacking.value.fix


@pytest.mark.parametrize(
    "metric", ["abstention", "self_knowledge", "context_utilization", "answer_correctness_claims"]
)
def test_a_metric_that_passes_no_row_is_refused_before_anything_is_asked(metric: str) -> None:
    with pytest.raises(SetupError, match="says of no row whether it passes") as refused:
        target_of(metric, JUDGE)
    assert refused.value.code == "E0705"


def test_the_scores_of_a_metric_of_which_less_is_better_are_turned_round() -> None:
    """At most 0 % made up passes: as a score at least 1."""
    target = target_of("hallucination", JUDGE)
    assert (target.lower_is_better, target.cut) == (True, 1.0)
    assert target.with_cut(0.8) == "hallucination(pass_mark=0.2)"
    assert target_of("groundedness", JUDGE).with_cut(0.8) == "groundedness(pass_mark=0.8)"
