"""What is measured where nobody names a metric: what the rows have the fields for."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.report import check_gates, write_html, write_junit
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.whole_reports import whole_text

PLAIN = {
    "question": "When was the bridge opened?",
    "contexts": ["The bridge was opened in 1937 and is painted red."],
    "response": "The bridge was opened in 1937.",
}
TRIAD = (
    "context_relevance",
    "chunk_relevance",
    "groundedness",
    "faithfulness",
    "citation_support",
    "answer_relevance",
    "abstention",
    "app_error",
)
Run = Any


def measured(tmp_path: Path, row: dict[str, Any], **more: Any) -> Run:
    return ragassay.evaluate([row], store=tmp_path / "s.db", **more)


@pytest.mark.parametrize(
    ("columns", "brought"),
    [
        ({}, ()),
        ({"reference": "In 1937."}, ("context_recall", "correctness")),
        ({"expected_facts": ["It opened in 1937."]}, ("context_recall", "correctness")),
        ({"reference": ""}, ()),
        (
            {"contexts": [{"id": "d1", "text": "It opened in 1937."}], "relevant_ids": ["d1"]},
            (
                "document_recall",
                "precision_at_k(k=5)",
                "recall_at_k(k=5)",
                "hit_rate(k=5)",
                "mrr",
                "map",
                "ndcg_at_k(k=10)",
            ),
        ),
        ({"usage": {"latency": 0.5}}, ("app_latency",)),
        (
            {"usage": {"input_tokens": 3, "output_tokens": 4}},
            ("app_tokens", "app_input_tokens", "app_output_tokens"),
        ),
    ],
)
def test_a_column_brings_its_metrics_and_no_others_are_measured(
    tmp_path: Path, columns: dict[str, Any], brought: tuple[str, ...]
) -> None:
    run = measured(tmp_path, PLAIN | columns)
    assert set(run.manifest.metrics) == {*TRIAD, *brought}
    assert set(brought) <= {m.metric for m in run.summary.metrics if m.n}


def test_guidelines_are_measured_where_a_language_model_judges_and_else_named_once(
    tmp_path: Path,
) -> None:
    row = PLAIN | {"guidelines": ["Name the year."]}
    with LLMServer() as server:
        run = measured(tmp_path, row, judge="openai:mock", base_url=server.url)
    assert "guidelines" in run.manifest.metrics
    told: list[str] = []
    offline = measured(tmp_path, row, tell=told.append)
    assert "guidelines" not in offline.manifest.metrics
    assert "the rows have guidelines, which the offline judge cannot check: name a --judge" in told


def test_what_applies_to_no_row_is_shown_nowhere(tmp_path: Path) -> None:
    run = measured(tmp_path, PLAIN)
    assert "not applicable" not in whole_text(run.summary)
    with Store.open(tmp_path / "s.db") as store:
        write_html(store, run.id, tmp_path / "r.html")
        write_junit(store, run.id, tmp_path / "r.xml")
    page = (tmp_path / "r.html").read_text()
    # The marks of citations can only be looked for in the responses: it was measured, and is void.
    assert "not applicable" not in page.partition('id="rows"')[0]
    suites = [suite.attrib["name"] for suite in ET.parse(tmp_path / "r.xml").iter("testsuite")]
    assert suites == [name for name in run.manifest.metrics if name != "citation_support"]


def test_a_metric_that_was_named_and_does_not_apply_is_said_once_with_the_reason(
    tmp_path: Path,
) -> None:
    run = measured(tmp_path, PLAIN, metrics="groundedness,mrr")
    assert run.manifest.metrics == ("groundedness", "mrr")
    text = whole_text(run.summary)
    assert text.count("mrr") == 1
    assert "mrr: not applicable in 1 row: the row has no relevant_ids" in text
    with Store.open(tmp_path / "s.db") as store:
        write_junit(store, run.id, tmp_path / "r.xml")
    (left_out,) = ET.parse(tmp_path / "r.xml").iter("property")
    assert left_out.attrib["name"] == "not applicable"
    assert left_out.attrib["value"] == "1 row: the row has no relevant_ids"


def test_a_preset_leaves_out_what_no_row_has_the_fields_for(tmp_path: Path) -> None:
    run = measured(tmp_path, PLAIN, preset="ab")
    assert not {"correctness", "document_recall", "app_cost"} & set(run.manifest.metrics)


def test_a_gate_on_a_default_metric_without_its_column_is_incomplete_and_not_met(
    tmp_path: Path,
) -> None:
    run = measured(tmp_path, PLAIN)
    result = check_gates(run.summary, ["mrr>=0.5"])
    assert result.exit_code == 3
    assert "mrr>=0.5: no row has the fields that mrr needs" in result.incomplete[0]


def test_what_a_reference_brings_costs_calls_of_a_language_model_which_is_said(
    tmp_path: Path,
) -> None:
    row = PLAIN | {"reference": "In 1937."}
    told: list[str] = []
    with LLMServer() as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "f.db",
        }
        with_reference = ragassay.forecast([row], tell=told.append, **options)
        without = ragassay.forecast([PLAIN], tell=None, **options)
        named = ragassay.forecast([row], metrics="groundedness", tell=told.append, **options)
    assert with_reference.calls == without.calls + 2
    assert named.calls == 1
    said = [line for line in told if "by default" in line]
    assert said == [
        "the rows have a reference: context_recall and correctness by default, about 2 calls more"
        " a row (--metrics chooses others)"
    ]


def test_a_resumed_run_measures_what_it_began_with(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "Why?", "contexts": ["So."], "response": "So."}\n')
    run = ragassay.evaluate(path, store=tmp_path / "s.db")
    resumed = ragassay.resume(run.id, store=tmp_path / "s.db")
    assert resumed.manifest.metrics == run.manifest.metrics
    assert resumed.manifest.by_default == run.manifest.by_default
