"""The commands that exchange rows, rankings and results with other tools, and the options that
choose what is measured.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support.commands import run_in_process

ROWS = [
    {
        "id": "a",
        "question": "When did it open?",
        "contexts": [{"text": "It opened in 1937.", "id": "d1"}],
        "response": "It opened in 1937.",
        "reference": "1937",
        "slices": {"lang": "en"},
    },
    {
        "id": "b",
        "question": "How long is it?",
        "contexts": [{"text": "Cats sleep a lot.", "id": "d2"}],
        "response": "It is 90 kilometres long.",
        "reference": "It is 2,737 metres long.",
    },
]


def ragassay(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_in_process(cwd, *arguments, environment={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def test_convert_writes_another_tools_rows_and_says_what_they_cannot_hold(folder: Path) -> None:
    done = ragassay("convert", "rows.jsonl", "--to", "ragas", "-o", "ragas.jsonl", cwd=folder)
    assert "wrote 2 rows as ragas to ragas.jsonl" in done.stderr
    assert "slices (1 row)" in done.stderr
    written = [json.loads(line) for line in (folder / "ragas.jsonl").read_text().splitlines()]
    assert written[0]["user_input"] == "When did it open?"
    assert written[0]["retrieved_contexts"] == ["It opened in 1937."]
    back = json.loads(
        ragassay("evaluate", "ragas.jsonl", "-m", "token_f1", "--json", cwd=folder).stdout
    )
    assert back["metrics"][0]["n"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "ragass", "-o", "x.jsonl"), "ragas"),
        (("--to", "ragas", "-o", "rows.jsonl"), "the rows"),
        (("--to", "ragas", "-o", "x.parquet"), "E0101"),
    ],
)
def test_a_conversion_that_cannot_be_is_refused_and_leaves_the_rows_alone(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = (folder / "rows.jsonl").read_text()
    assert message in ragassay("convert", "rows.jsonl", *arguments, cwd=folder, code=2).stderr
    assert (folder / "rows.jsonl").read_text() == before


def test_retrieval_measures_a_run_against_qrels_with_missing_topics_as_nothing_retrieved(
    folder: Path,
) -> None:
    (folder / "q").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n")
    (folder / "r").write_text("1 Q0 d2 1 3.0 x\n1 Q0 d1 2 2.0 x\n9 Q0 d9 1 1.0 x\n")
    done = ragassay(
        "retrieval", "--run", "r", "--qrels", "q", "-m", "mrr,map", "--json", cwd=folder
    )
    means = {m["metric"]: m["mean"] for m in json.loads(done.stdout)["metrics"]}
    assert means == {
        "mrr": 0.25,
        "map": 0.25,
    }  # topic 1: the first relevant at rank 2; topic 2: nothing
    assert "for which nothing was retrieved: 1" in done.stderr
    ragassay(
        "retrieval",
        "--run",
        "r",
        "--qrels",
        "q",
        "-m",
        "map",
        "--gate",
        "map>=0.3",
        cwd=folder,
        code=1,
    )


def test_a_malformed_run_file_is_named_with_its_line(folder: Path) -> None:
    (folder / "q").write_text("1 0 d1 1\n")
    (folder / "r").write_text("1 Q0 d1 1 2.0 x\n1 Q0 d2\n")
    assert "r:2" in ragassay("retrieval", "--run", "r", "--qrels", "q", cwd=folder, code=2).stderr


def test_a_preset_chooses_the_metrics_and_says_what_the_judge_cannot_answer(folder: Path) -> None:
    done = ragassay("evaluate", "rows.jsonl", "--preset", "production", "--json", cwd=folder)
    names = [m["metric"] for m in json.loads(done.stdout)["metrics"]]
    assert "groundedness" in names
    assert "safety" not in names
    assert "offline judge cannot answer them: safety" in done.stderr
    assert (
        "quick" in ragassay("evaluate", "rows.jsonl", "--preset", "quik", cwd=folder, code=2).stderr
    )
    ragassay("evaluate", "rows.jsonl", "--preset", "quick", "-m", "token_f1", cwd=folder, code=2)


def test_a_metric_of_the_users_own_module_is_measured_and_found_again_on_resume(
    folder: Path,
) -> None:
    (folder / "mine.py").write_text(
        "import ragassay\n\n@ragassay.metric\ndef short(response):\n    return len(response) < 20,"
        " 'by length'\n"
    )
    done = ragassay(
        "evaluate",
        "rows.jsonl",
        "-m",
        "mine:short,token_f1",
        "--json",
        "--name",
        "mine",
        cwd=folder,
    )
    assert next((m["metric"], m["mean"]) for m in json.loads(done.stdout)["metrics"]) == (
        "short",
        0.5,
    )
    again = ragassay("resume", "mine", "--json", cwd=folder)
    assert json.loads(again.stdout)["metrics"][0]["mean"] == 0.5
    assert (
        "cannot be imported"
        in ragassay("evaluate", "rows.jsonl", "-m", "nomine:short", cwd=folder, code=2).stderr
    )
    assert (
        "no metric"
        in ragassay("evaluate", "rows.jsonl", "-m", "json:dumps", cwd=folder, code=2).stderr
    )


def test_the_application_is_run_on_the_rows_and_its_error_is_the_root_cause(folder: Path) -> None:
    (folder / "my_rag.py").write_text(
        "def answer(question):\n    if 'long' in question:\n        raise LookupError('no index')\n"
        "    return 'It opened in 1937.', ['It opened in 1937.']\n"
    )
    done = ragassay(
        "evaluate",
        "rows.jsonl",
        "--app",
        "my_rag:answer",
        "--preset",
        "quick",
        "--json",
        cwd=folder,
    )
    summary = json.loads(done.stdout)
    assert [cause["cause"]["name"] for cause in summary["causes"]] == ["application_error"]
    shown = ragassay("show", "last", "--row", "b", cwd=folder).stdout
    assert "LookupError: no index" in shown
    assert (
        "E0109"
        in ragassay("evaluate", "rows.jsonl", "--app", "my_rag:nothing", cwd=folder, code=2).stderr
    )


def test_a_gate_on_a_judge_of_the_users_own_is_checked_before_anything_is_asked(
    folder: Path,
) -> None:
    (folder / "polite.md").write_text(
        "---\nid: polite\npurpose: Is the response polite?\nscale: yes/no\n---\nPolite means: it"
        " blames nobody.\n"
    )
    assert "measured as polite" in ragassay("rubric", "check", "polite.md", cwd=folder).stdout
    options = (
        "evaluate",
        "rows.jsonl",
        "--rubric",
        "polite.md",
        "--judge",
        "openai:m",
        "--base-url",
        "http://127.0.0.1:9/v1",
    )
    assert "polite" in ragassay(*options, "--gate", "polit>=0.5", cwd=folder, code=2).stderr


def test_metrics_lists_the_catalogue_and_the_presets(folder: Path) -> None:
    done = ragassay("metrics", "-v", cwd=folder).stdout
    for word in ("noise_sensitivity", "context_precision", "chunking"):
        assert word in done
    listed = json.loads(ragassay("metrics", "--json", cwd=folder).stdout)
    assert {"quick", "retrieval", "hallucination", "production", "ab", "chunking"} == set(
        listed["presets"]
    )
    assert all(m["edges"] and m["calls"] for m in listed["metrics"])


def test_a_run_that_could_measure_nothing_says_so_and_does_not_exit_with_0(
    folder: Path,
) -> None:
    (folder / "bare.jsonl").write_text('{"id": "a", "question": "q?", "response": "r."}\n')
    done = ragassay("evaluate", "bare.jsonl", "-m", "groundedness", cwd=folder, code=3)
    assert "the row has no contexts" in done.stderr
    (folder / "broken.py").write_text("def answer(question):\n    raise ValueError('no index')\n")
    done = ragassay(
        "evaluate",
        "bare.jsonl",
        "--app",
        "broken:answer",
        "-m",
        "answer_relevance,app_error",
        cwd=folder,
        code=3,
    )
    assert "the application failed on every row" in done.stderr


def test_a_judge_of_the_users_own_is_asked_also_beside_named_metrics_and_shows_its_own_mark(
    folder: Path,
) -> None:
    (folder / "ten.md").write_text(
        "---\nid: ten\npurpose: How clear is it?\nscale:\n  pass: 5\n  points:\n    0-4: unclear\n "
        "   5-10: clear\n---\nClear means: one reading.\n"
    )
    with LLMServer() as server:
        judge = ("--judge", "openai:mock", "--base-url", server.url, "--rubric", "ten.md")
        done = ragassay("evaluate", "rows.jsonl", "-m", "token_f1", *judge, "--json", cwd=folder)
    measured = {m["metric"]: m["pass_mark"] for m in json.loads(done.stdout)["metrics"]}
    assert measured == {"token_f1": None, "ten": 0.5}
