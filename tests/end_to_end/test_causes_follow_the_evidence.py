"""Rows as users write them, on which the judges contradict each other: the evidence decides, and a
cause behind a judge that gave no verdict is marked uncertain wherever it is shown.
"""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from rich.console import Console

import ragassay
from ragassay.report import export, summary_json, write_html, write_junit
from ragassay.report.terminal import render_row
from ragassay.store import Store
from ragassay.testing import LLMServer, answer_by_words
from support.whole_reports import whole_text

SEAT = "Canberra has been the seat of government since 1927."
METRICS = "chunk_relevance,groundedness,answer_relevance"
Run = Any


def evaluate(tmp_path: Path, row: dict[str, Any], metrics: str = METRICS, **script: Any) -> Run:
    """The row, judged by a server that compares words."""
    with LLMServer(**script) as server:
        return ragassay.evaluate(
            [row],
            judge="openai:mock",
            base_url=server.url,
            metrics=metrics,
            store=tmp_path / "s.db",
        )


def as_shown(run: Run) -> str:
    """The row as `ragassay show --row` prints it."""
    out = io.StringIO()
    render_row(run["row-1"], Console(file=out, width=200, no_color=True))
    return out.getvalue()


def causes(run: Run) -> list[str]:
    diagnosis = run["row-1"].diagnosis
    first = [diagnosis.cause] if diagnosis.cause is not None else []
    return [cause.name for cause in (*first, *diagnosis.others)]


def test_a_chunk_that_supports_the_answer_is_not_irrelevant_and_the_retriever_not_blamed(
    tmp_path: Path,
) -> None:
    row = {
        "question": "Which city is the capital?",
        # It has no word of the question, so the judge of relevance finds nothing in it.
        "contexts": [SEAT],
        "response": f"Which city is the capital? {SEAT} It has a million inhabitants.",
    }
    run = evaluate(tmp_path, row)
    scores = {score.metric: score for score in run["row-1"].scores}
    assert scores["chunk_relevance"].verdict == "fail"
    assert scores["answer_relevance"].verdict == "pass"
    assert causes(run) == ["ungrounded"]
    shown = as_shown(run)
    assert "Not irrelevant, whatever the judge says: it supports a claim of the response." in shown


def test_a_chunk_that_supports_the_reference_is_not_irrelevant(tmp_path: Path) -> None:
    row = {
        "question": "Which city is the capital?",
        "contexts": [SEAT],
        "response": "Sydney became the capital city, which is large.",
        "reference": SEAT,
    }
    run = evaluate(tmp_path, row, METRICS + ",context_recall,correctness")
    assert causes(run) == ["ungrounded", "incorrect"]


def test_the_retriever_is_blamed_where_the_chunk_only_supports_an_answer_beside_the_question(
    tmp_path: Path,
) -> None:
    row = {
        "question": "Which city is the capital?",
        "contexts": ["Tickets cost two dollars."],
        "response": "Tickets cost two dollars.",
    }
    assert causes(evaluate(tmp_path, row)) == ["retrieval_irrelevant", "answer_irrelevant"]


def test_a_refusal_with_the_answer_in_the_contexts_is_a_cause_of_its_own_with_its_own_advice(
    tmp_path: Path,
) -> None:
    row = {
        "question": "Since when has Canberra been the seat of government?",
        "contexts": [SEAT],
        "response": "I do not know that.",
    }
    with_recall = METRICS + ",context_recall"
    with_answer = evaluate(tmp_path, {**row, "reference": SEAT}, with_recall)
    assert causes(with_answer) == ["over_refusal"]
    text = whole_text(with_answer.summary)
    assert "The response declines although the answer was retrieved (1 row)" in text
    assert "Soften the instruction to refuse" in text
    # Without a reference nothing shows that the answer was there.
    assert causes(evaluate(tmp_path, row)) == ["declined"]
    without = evaluate(tmp_path, {**row, "contexts": ["Tickets cost two dollars."]})
    assert causes(without) == ["retrieval_irrelevant"]
    # By the reference, no chunk held the answer, although one is about the question's words.
    near = "Since when has Canberra been the seat of the government? Nobody said."
    asked = {**row, "contexts": [near], "reference": "In the year 1927, by an act of parliament."}
    assert causes(evaluate(tmp_path, asked, METRICS + ",context_recall")) == [
        "insufficient_context"
    ]


def test_a_cause_behind_a_judge_that_erred_is_uncertain_in_every_report(tmp_path: Path) -> None:
    row = {
        "question": "Since when has Canberra been the seat of government?",
        "contexts": [SEAT],
        "response": "Canberra owns a big zoo with many lions.",
    }

    def answer(body: dict[str, Any]) -> dict[str, Any] | str:
        # The request that rates the passages is the one in which the response does not stand.
        rates_passages = "big zoo" not in json.dumps(body["messages"])
        return "Well, it depends." if rates_passages else answer_by_words(body)

    run = evaluate(tmp_path, row, answer=answer)
    found = run["row-1"].diagnosis
    assert found.cause is not None
    assert found.cause.name == "ungrounded"
    assert found.cause.uncertain.startswith("chunk_relevance gave no verdict (unparsed: ")

    doubt = "uncertain: chunk_relevance gave no verdict (unparsed"
    assert doubt in as_shown(run)
    text = whole_text(run.summary)
    assert "uncertain in all of them: an earlier metric gave no verdict there" in text
    assert "The response claims what the chunks do not support (uncertain)" in " ".join(
        text.split()
    )
    with Store.open(tmp_path / "s.db") as store:
        as_json = summary_json(run.summary)
        assert as_json["causes"][0]["uncertain"] == 1  # type: ignore[index]
        assert as_json["worst"][0]["uncertain"] is True  # type: ignore[index]
        write_html(store, run.id, tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text()
        assert "The response claims what the chunks do not support (uncertain)" in page
        assert doubt in page
        write_junit(store, run.id, tmp_path / "r.xml")
        failure = next(ET.parse(tmp_path / "r.xml").iter("failure"))
        assert failure.attrib["message"].endswith("do not support (uncertain)")
        assert doubt in str(failure.text)
        export(store, run.id, "jsonl", tmp_path / "r.jsonl")
        records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
        assert {record["uncertain"][:15] for record in records} == {"chunk_relevance"}


def test_a_cause_with_every_earlier_judge_heard_is_certain(tmp_path: Path) -> None:
    row = {
        "question": "Since when has Canberra been the seat of government?",
        "contexts": [SEAT],
        "response": "Canberra has been the seat of government since 1927. It has a big zoo.",
    }
    run = evaluate(tmp_path, row)
    assert run["row-1"].diagnosis.cause.uncertain == ""
    assert "uncertain" not in whole_text(run.summary)
