"""Judges of the user's own that fail: each is a cause by its own name, with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.report import write_html, write_junit
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.whole_reports import whole_text

POLITE = """\
---
id: polite
version: 1
purpose: Is the response polite?
inputs: [question, response]
scale: yes/no
---
Polite means: it addresses the reader with respect.
"""
BRIEF = POLITE.replace("polite", "brief").replace("Polite", "Brief")
CLEAR = """\
---
id: clear
version: 1
purpose: Is the response clear?
inputs: [question, response]
scale:
  pass: fair
  points:
    - {rating: poor, value: 0, meaning: nobody understands it}
    - {rating: fair, value: 0.5, meaning: most understand it}
    - {rating: good, value: 1, meaning: everybody understands it}
---
Clear means: short sentences.
"""
ROWS = [
    {"id": "good", "question": "When did the bridge open?", "response": "The bridge did open."},
    {"id": "off", "question": "When did the bridge open?", "response": "Cats sleep a lot."},
]
Run = Any


@ragassay.metric
def has_a_source(response: str) -> tuple[bool, str]:
    return "[1]" in response, "no source is marked"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    paths = []
    for name, text in (("polite", POLITE), ("brief", BRIEF), ("clear", CLEAR)):
        paths.append(folder / f"{name}.md")
        paths[-1].write_text(text)
    with LLMServer() as server:
        return ragassay.evaluate(
            ROWS,
            [has_a_source, "correctness"],
            judge="openai:mock",
            base_url=server.url,
            rubrics=paths,
            store=folder / "s.db",
        )


def test_each_failing_judge_is_a_cause_by_its_own_name_with_its_reason(run: Run) -> None:
    found = run["off"].diagnosis
    assert [(cause.name, cause.detail) for cause in (found.cause, *found.others)] == [
        ("brief", "0% of the words are there."),
        ("clear", "0% of the words are there."),
        ("has_a_source", "no source is marked"),
        ("polite", "0% of the words are there."),
    ]


def test_the_summary_names_all_of_them_with_their_reasons(run: Run) -> None:
    by_name = {share.cause.name: share for share in run.summary.causes}
    assert {name: (share.rows, share.also) for name, share in by_name.items()} == {
        "has_a_source": (1, 1),
        "brief": (1, 0),
        "clear": (0, 1),
        "polite": (0, 1),
    }
    assert by_name["polite"].examples == ("off",)
    text = " ".join(whole_text(run.summary).split())
    assert "polite fails why: 0% of the words are there. fails in 1 row, behind another" in text
    assert "has_a_source fails (1 row) why: no source is marked fails in 1 row more, be" in text
    assert "Another metric failed" not in text


def test_yes_and_no_pass_at_yes_and_not_at_a_number(run: Run, folder: Path) -> None:
    text = " ".join(whole_text(run.summary, 200).split())
    marks = {name: run.manifest.mark_words[name] for name in ("polite", "brief", "clear")}
    assert marks == {"polite": "yes", "brief": "yes", "clear": "fair or better"}
    assert "0.667" not in text
    with Store.open(folder / "s.db") as store:
        write_junit(store, run.id, folder / "r.xml")
        assert "polite is 0.000, passes at yes; brief fails" in (folder / "r.xml").read_text()
        write_html(store, run.id, folder / "r.html")
        page = (folder / "r.html").read_text()
    assert "Why: no source is marked" in page
    assert "Also: polite fails, why: 0% of the words are there." in page


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("correctness", "passes at yes"),
        ("correctness(form=three)", "passes at correct"),
        ("context_sufficiency", "passes at yes"),
        ("safety", "passes at safe"),
        ("answer_relevance", "passes at ≥ 0.667"),
    ],
)
def test_what_the_metrics_of_the_catalogue_pass_at(tmp_path: Path, metric: str, words: str) -> None:
    row = {
        "question": "When did the bridge open?",
        "contexts": ["The bridge did open in 1937."],
        "response": "The bridge did open in 1937.",
        "reference": "In 1937.",
    }
    with LLMServer() as server:
        run = ragassay.evaluate(
            [row],
            metric,
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
        )
    text = whole_text(run.summary)
    assert words in " ".join(text.split())


def test_a_row_that_passes_is_not_among_the_worst(tmp_path: Path) -> None:
    seat = "Canberra has been the seat of government since 1927."
    row = {
        "question": "Which city is the capital?",
        "contexts": [seat],  # without a word of the question: the judge finds it irrelevant
        "response": f"The capital city: {seat}",
        "reference": seat,
    }
    with LLMServer() as server:
        run = ragassay.evaluate(
            [row],
            "chunk_relevance,context_recall",
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
        )
    (result,) = run
    assert {score.metric: score.verdict for score in result.scores} == {
        "chunk_relevance": "fail",
        "context_recall": "pass",
    }
    assert result.diagnosis.verdict == "pass"
    assert run.summary.worst == ()
    assert "Worst rows" not in whole_text(run.summary)
