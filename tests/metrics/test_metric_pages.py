"""The pages about metrics say everything that the declarations say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs_pages.coming_from import coming_from_page
from docs_pages.metrics import metrics_page
from ragassay.metrics import catalogue

DOCS = Path(__file__).parents[2] / "docs"
PAGE = metrics_page()
OTHERS = coming_from_page()


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", catalogue())
def test_every_metric_has_its_section_and_one_line_in_the_tables(name: str) -> None:
    declared, text = catalogue()[name].declaration, section(name)
    front = PAGE.split("## Names that mean several things")[0]
    assert front.count(f"| [{name}](#{name}) |") == 1
    for words in (declared.title, declared.formula, declared.source, *declared.edge_cases):
        assert words in text
    assert f"- calls a row: {declared.calls or 'none'}" in text
    better = {True: "higher is better", False: "lower is better", None: "neither end is better"}
    assert better[declared.higher_is_better] in text
    for other in declared.elsewhere:
        assert f"| {other.tool} | {other.name} |" in text


@pytest.mark.parametrize("name", catalogue())
def test_every_metric_says_its_edge_cases_and_its_calls(name: str) -> None:
    declared = catalogue()[name].declaration
    assert declared.edge_cases
    assert declared.calls
    assert len(set(declared.elsewhere)) == len(declared.elsewhere)


def test_the_readme_counts_the_metrics_right() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    tens, ones = divmod(len(catalogue()), 10)
    words = ("", "", "Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety")
    digits = ("", "-one", "-two", "-three", "-four", "-five", "-six", "-seven", "-eight", "-nine")
    assert f"\n{words[tens]}{digits[ones]} metrics, each with one answer" in readme


def test_every_name_elsewhere_leads_to_a_metric_of_ours() -> None:
    for name, kind in catalogue().items():
        for other in kind.declaration.elsewhere:
            assert re.search(rf"^\| {re.escape(other.name)}( \(|\s\|)", OTHERS, re.MULTILINE), (
                name,
                other,
            )


def test_every_metric_and_page_that_is_linked_exists() -> None:
    for name in re.findall(r"metrics\.md#(\w+)", OTHERS):
        assert name in catalogue()
    for page in set(re.findall(r"\]\((\w[\w-]*\.md)", OTHERS + PAGE)):
        assert (DOCS / page).exists(), page


@pytest.mark.parametrize(
    "tool",
    [
        "Ragas",
        "NVIDIA metrics",
        "TruLens",
        "DeepEval",
        "Phoenix",
        "MLflow and Databricks Agent Evaluation",
        "RAGChecker",
    ],
)
def test_every_tool_has_a_table_of_three_columns(tool: str) -> None:
    text = OTHERS.split(f"\n## {tool}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 4
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_a_name_that_two_tools_give_to_different_things_leads_to_different_metrics() -> None:
    ragas, checker = (
        OTHERS.split(f"\n## {tool}\n")[1].split("\n## ")[0] for tool in ("Ragas", "RAGChecker")
    )
    assert "| ContextUtilization | [context_precision]" in ragas
    assert "| context_utilization | [context_utilization]" in checker
    assert "| ContextPrecision | [context_precision]" in ragas
    assert "| context_precision | [chunk_relevance]" in checker
