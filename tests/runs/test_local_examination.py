"""What doctor says of a local model: its task and files, and how it judges the known example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragassay.core import EnvironmentFailure
from ragassay.judges.llm import known_example
from ragassay.runs.local_examination import examine_local, local_uris, report_lines
from support.local_models import TWO, classifier

# The words of the example that both models of the tests are asked about.
TEXTS = [str(text) for request in known_example.requests() for text in request.inputs.values()]
WORDS = tuple(dict.fromkeys(re.findall(r"\w+|[^\w\s]", " ".join(TEXTS).lower())))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return classifier(tmp_path / "m", words=WORDS, max_position_embeddings=256)


def test_a_model_that_tells_what_the_passage_says_judges_the_example(folder: Path) -> None:
    report = examine_local(f"local:{folder}", no_network=True)
    assert (report.right, report.asked, report.problem) == (4, 4, "")
    assert (report.task, report.kind, report.most_tokens) == ("support", "sequence", 256)
    assert report.yes == "supported of supported, unsupported"
    assert report.weights == str(folder / "model.onnx")
    assert report_lines(report)[0].endswith("judges the known example: 4 of 4 verdicts right")


def test_a_mapping_that_is_the_wrong_way_round_shows(folder: Path) -> None:
    report = examine_local(f"local:{folder}?task=support&positive=unsupported", no_network=True)
    assert report.right == 0
    assert "see which label means yes" in report.problem
    assert "does not judge the known example" in report_lines(report)[0]


def test_a_model_that_says_yes_to_everything_does_not_judge_it(tmp_path: Path) -> None:
    always = classifier(
        tmp_path / "m", ((0, 0, 9), (0, 0, 0)), words=WORDS, max_position_embeddings=256
    )
    report = examine_local(f"local:{always}", no_network=True)
    assert (report.right, report.asked) == (2, 4)
    assert "not more than by chance" in report.problem


@pytest.mark.parametrize("task", ["relevance", "answer"])
def test_models_of_other_tasks_are_asked_for_theirs(tmp_path: Path, task: str) -> None:
    # "the harbour museum opens ..." has four words of the question, the other text none.
    folder = classifier(
        tmp_path / "m",
        ((1, 0, -1.5),),
        labels=None,
        num_labels=1,
        words=WORDS,
        max_position_embeddings=256,
    )
    report = examine_local(f"local:{folder}?task={task}", no_network=True)
    assert (report.right, report.asked, report.problem) == (2, 2, "")
    assert report.yes == "its one output"


def test_a_claim_that_it_cannot_read_is_no_verdict(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", TWO, words=WORDS, max_position_embeddings=16)
    report = examine_local(f"local:{folder}", no_network=True)
    assert report.right == 0
    assert "no verdict could be read: the text takes" in report.problem


def test_a_model_that_cannot_be_loaded_is_an_error(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"broken")
    with pytest.raises(EnvironmentFailure, match="E0413"):
        examine_local(f"local:{folder}", no_network=True)


@pytest.mark.parametrize(
    ("judge", "uris"),
    [
        ("local:m", ["local:m"]),
        ("offline", []),
        ("openai:m", []),
        ("panel:local:a+offline+local:b", ["local:a", "local:b"]),
        ("cascade:local:a?cut=0.3>openai:b@0.9", ["local:a?cut=0.3"]),
    ],
)
def test_the_local_models_of_a_judge(judge: str, uris: list[str]) -> None:
    assert local_uris(judge) == uris
