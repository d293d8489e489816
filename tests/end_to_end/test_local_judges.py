"""A classifier in a folder as the judge of whole runs: alone, measured, and beside other judges."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError, Status
from ragassay.testing import LLMServer
from support.commands import run_in_process
from support.local_models import classifier

# Of the second row's claims the first has 4 of 5 words in the passage, "cats sleep all day ." one.
ROWS: list[dict[str, Any]] = [
    {
        "id": "paris",
        "question": "Where is the tower?",
        "contexts": ["The tower is in Paris.", "The bridge is old."],
        "response": "The tower is in Paris.",
    },
    {
        "id": "cats",
        "question": "Where is the tower?",
        "contexts": ["The tower is in Paris."],
        "response": "The tower is in Rome. Cats sleep all day.",
    },
]

OWN_RUBRIC = """\
---
id: polite
version: 1
purpose: Is the response polite?
inputs: [question, response]
scale: yes/no
---
Polite means: it addresses the reader with respect.
"""


class Shell:
    """A folder with rows and a model, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        self.model = classifier(folder / "models" / "m")

    def __call__(self, *arguments: object) -> CompletedProcess[str]:
        return run_in_process(self.folder, *arguments, environment={"COLUMNS": "200"})

    def evaluate(self, *arguments: object, judge: str = "local:models/m") -> CompletedProcess[str]:
        return self("evaluate", "rows.jsonl", "--judge", judge, *arguments)

    def last(self) -> ragassay.Run:
        """The run that was made last."""
        (store,) = self.folder.glob(".ragassay/*.db")
        return ragassay.open_run("last", store=store)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def score_of(run: ragassay.Run, row: str) -> ragassay.Score:
    """The only score of a row."""
    (score,) = run[row].scores
    return score


def ratings(run: ragassay.Run, row: str) -> list[object]:
    """The ratings of the row's claims, or of its chunks."""
    return [part.rating for part in score_of(run, row).parts]


def test_claims_are_rated_by_the_models_probability(shell: Shell) -> None:
    done = shell.evaluate("--metrics", "groundedness", "--no-network")
    assert done.returncode == 0
    # "the tower is in rome .": 5 shared, 1 missing: e^5 / (e^5 + e) = 0.982, rated 3;
    # "cats sleep all day .": 1 shared, 4 missing: e / (e + e^4) = 0.047, rated 0
    run = shell.last()
    assert (ratings(run, "paris"), ratings(run, "cats")) == ([3], [3, 0])
    assert f"Judge: local:{shell.model} (nothing leaves this machine)" in done.stdout
    assert "Probability that the passages support the claim: 0.05" in done.stdout


def test_the_same_model_elsewhere_is_the_same_judge_and_is_not_asked_again(shell: Shell) -> None:
    shell.evaluate("--metrics", "groundedness")
    shutil.move(shell.model, shell.folder / "moved")
    done = shell.evaluate("--metrics", "groundedness", judge="local:moved")
    assert "3 judgments reused" in done.stdout
    done = shell.evaluate("--metrics", "groundedness", judge="local:moved?cut=0.01")
    assert "reused" not in done.stdout


def test_metrics_that_the_model_cannot_judge_are_left_out_where_none_are_named(
    shell: Shell,
) -> None:
    done = shell.evaluate()
    assert done.returncode == 0
    assert (
        f"left out of the default metrics, for local:{shell.model} cannot answer them:"
        " context_relevance, chunk_relevance, answer_relevance" in done.stderr
    )
    assert "groundedness" in done.stdout
    done = shell.evaluate("--preset", "quick")
    assert "left out of the preset" in done.stderr


def test_a_metric_that_is_named_and_cannot_be_judged_is_an_error_before_the_first_row(
    shell: Shell,
) -> None:
    done = shell.evaluate("--metrics", "groundedness,answer_relevance")
    assert done.returncode == 2
    assert "E0203" in done.stderr
    assert "cannot judge answer_relevance" in done.stderr
    assert "ask it for groundedness" in done.stderr
    assert not list(shell.folder.glob(".ragassay/*.db")) or "Run " not in done.stdout


def test_claims_listed_by_a_model_and_own_rubrics_are_errors_and_not_left_out(
    shell: Shell,
) -> None:
    done = shell.evaluate("--metrics", "groundedness", "--claims", "llm")
    assert done.returncode == 2
    assert "use --claims sentences" in done.stderr
    (shell.folder / "polite.md").write_text(OWN_RUBRIC)
    done = shell.evaluate("--rubric", "polite.md")
    assert done.returncode == 2
    assert "cannot judge polite" in done.stderr


@pytest.mark.parametrize("judge", ["panel:offline+{}", "cascade:{}>offline@0.9"])
def test_the_same_holds_of_a_judge_that_it_is_a_member_of(shell: Shell, judge: str) -> None:
    named = judge.format("local:models/m")
    done = shell.evaluate("--metrics", "context_relevance", judge=named)
    assert done.returncode == 2
    assert "cannot judge context_relevance" in done.stderr


def test_a_reranker_judges_the_chunks(shell: Shell) -> None:
    # output: 2 * shared - missing; "The tower is in Paris." shares 3 with the question ("the",
    # "tower", "is") and misses 3: 3, so 0.953; "The bridge is old." shares 2, misses 3: 1, 0.731
    classifier(shell.folder / "reranker", ((2, -1, 0),), labels=None, num_labels=1)
    done = shell.evaluate(
        "--metrics", "chunk_relevance", judge="local:reranker?task=relevance&cut=0.8"
    )
    assert done.returncode == 0
    run = shell.last()
    assert (ratings(run, "paris"), ratings(run, "cats")) == ([3, 1], [3])


def test_a_token_classifier_names_the_words_without_support(shell: Shell) -> None:
    classifier(
        shell.folder / "spans", ((2, 0, 0), (0, 2, 0)), ("supported", "hallucinated"), tokens=True
    )
    done = shell.evaluate("--metrics", "groundedness", judge="local:spans")
    assert 'Words without support: "Rome".' in done.stdout


def test_metrics_that_ask_passage_by_passage_are_judged_as_well(shell: Shell) -> None:
    row = {
        **ROWS[0],
        "expected_facts": ["The tower is in Paris.", "Cats sleep all day."],
        "response": "The tower is in Paris.",
    }
    with ragassay.evaluate(
        [row],
        metrics="context_sufficiency,context_utilization",
        judge=f"local:{shell.model}",
        store=shell.folder / "store.db",
    ) as run:
        sufficiency, utilization = run["paris"].scores
    # "cats sleep all day ." has one of five words in the passages.
    assert (sufficiency.value, utilization.status) == (0.0, Status.JUDGED)
    assert "Cats sleep all day." in sufficiency.parts[0].rationale


def test_a_row_that_the_model_cannot_read_is_lost_and_the_others_are_judged(shell: Shell) -> None:
    long = {**ROWS[0], "id": "long", "response": "tower " * 200}  # the model reads 64 tokens
    with (shell.folder / "rows.jsonl").open("a") as file:
        file.write(json.dumps(long) + "\n")
    done = shell.evaluate("--metrics", "groundedness")
    run = shell.last()
    assert score_of(run, "long").status is Status.FAILED
    assert "leaves no room for the passages" in score_of(run, "long").reason
    assert ratings(run, "paris") == [3]
    assert done.stdout.startswith("1 of 3 rows pass, 1 fail, 1 undecided")


def test_a_benchmark_gives_it_a_certificate_that_its_runs_show(shell: Shell) -> None:
    subjects = ("cats", "dogs", "tower", "bridge", "river")
    labels: list[dict[str, Any]] = []
    for number in range(40):
        subject, other = subjects[number % 5], subjects[(number + 1) % 5]
        is_right = number % 2 == 0
        response = f"The {subject} is old." if is_right else f"{other} sleep all day"
        labels.append(
            {
                "id": str(number),
                "question": "What of it?",
                "contexts": [f"The {subject} is old and tall."],
                "response": response,
                "label": int(is_right),
            }
        )
    path = shell.folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in labels))
    done = shell("benchmark", "labels.jsonl", "-m", "groundedness", "--judge", "local:models/m")
    assert done.returncode == 0
    assert f"local:{shell.model} has a certificate of this" in done.stdout + done.stderr
    done = shell.evaluate("--metrics", "groundedness", "--trust")
    assert "on 40 labels (labels.jsonl): kappa 1.00" in done.stdout
    # With another cut it is another judge, which nobody has measured.
    done = shell.evaluate("--metrics", "groundedness", judge="local:models/m?cut=0.2")
    done = shell("show", "--trust")
    assert "the certificates of this metric are of another rubric, model or" in done.stdout


def test_it_votes_in_a_panel_beside_a_language_model(shell: Shell) -> None:
    with LLMServer(models=["a"]) as server:
        run = ragassay.evaluate(
            ROWS,
            metrics="groundedness",
            judge=f"panel:local:{shell.model}+openai:a",
            base_url=server.url,
            store=shell.folder / "store.db",
        )
        assert server.stats()["calls"] > 0
    assert ratings(run, "cats")[1] == 0
    rationale = score_of(run, "cats").parts[1].rationale
    assert f"[local:{shell.model}] 0, fails" in rationale
    assert "[openai:a] 0, fails" in rationale


def test_a_cascade_asks_the_language_model_only_where_it_is_unsure(shell: Shell) -> None:
    with LLMServer(models=["a"]) as server:
        judge = f"cascade:local:{shell.model}>openai:a@0.9"
        common: dict[str, Any] = {
            "metrics": "groundedness",
            "base_url": server.url,
            "price": "1,1",
            "store": shell.folder / "store.db",
        }
        # 0.982 and 0.047: both are surer than 0.9 of what they say
        ragassay.evaluate(ROWS, judge=judge, **common)
        assert server.stats()["calls"] == 0
        unsure = [{**ROWS[0], "response": "Rome tower."}]  # 2 shared, 1 missing: 0.731
        ragassay.evaluate(unsure, judge=judge, **common)
        assert server.stats()["calls"] > 0


def test_a_checked_judge_is_disputed_by_it(shell: Shell) -> None:
    with LLMServer(models=["a"], answer=lambda _: None) as server:
        run = ragassay.evaluate(
            ROWS[:1],
            metrics="groundedness",
            judge=f"checked:offline>local:{shell.model}@0.9",
            base_url=server.url,
            store=shell.folder / "store.db",
        )
        assert server.stats()["calls"] == 0
    assert score_of(run, "paris").status is Status.JUDGED


def test_a_run_finds_its_model_again_from_another_folder(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(shell.folder)
    run = ragassay.evaluate(
        "rows.jsonl", metrics="groundedness", judge="local:models/m", store="store.db"
    )
    assert run.manifest.options["judge"] == f"local:{shell.model}"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ragassay.resume(run.id, store=shell.folder / "store.db").id == run.id


def test_a_broken_model_is_an_error_of_the_run(shell: Shell) -> None:
    (shell.model / "model.onnx").write_bytes(b"broken")
    done = shell.evaluate("--metrics", "groundedness")
    assert done.returncode == 5
    assert "E0413" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_is_asked_of_a_model_whose_labels_are_not_clear(shell: Shell) -> None:
    model = classifier(shell.folder / "unclear", labels=("LABEL_0", "LABEL_1"))
    with pytest.raises(SetupError, match="E0414"):
        ragassay.evaluate(ROWS, metrics="groundedness", judge=f"local:{model}", store=":memory:")
    done = shell.evaluate(
        "--metrics", "groundedness", judge="local:unclear?task=support&positive=LABEL_0"
    )
    assert done.returncode == 0


def test_doctor_says_what_the_model_is_and_how_it_judges_a_known_example(shell: Shell) -> None:
    done = shell("doctor", "--judge", "local:models/m", "--json")
    (report,) = json.loads(done.stdout)["local_models"]
    # The model knows few of the example's words: what it has to say is too little to judge.
    assert (report["uri"], report["task"], report["asked"]) == ("local:models/m", "support", 4)
    assert (done.returncode == 0) is (report["problem"] == "")
    unclear = classifier(shell.folder / "unclear", labels=("LABEL_0", "LABEL_1"))
    assert "E0414" in shell("doctor", "--judge", f"local:{unclear}").stderr
