"""The names of other tools, and what is called so here."""

from __future__ import annotations

import pytest

from ragassay.core import SetupError
from ragassay.metrics import catalogue, parse
from ragassay.metrics.other_names import MLFLOW_JUDGES, called_elsewhere


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("relevance_to_query", ("answer_relevance",)),
        ("guideline_adherence", ("guidelines",)),
        ("is_grounded", ("groundedness",)),
        ("RetrievalGroundedness", ("groundedness",)),
        ("FaithfulnessMetric", ("faithfulness",)),
        ("relevance_with_cot_reasons", ("answer_relevance",)),
        # Ragas' quantity of this name is another one than that of answer_relevance.
        ("ResponseRelevancy", ("answer_relevance_reverse",)),
        ("no_such_thing", ()),
    ],
)
def test_a_name_of_another_tool_leads_to_the_metric(name: str, ours: tuple[str, ...]) -> None:
    assert called_elsewhere(name) == ours


def test_judges_of_mlflow_are_metrics_of_the_catalogue_under_other_names() -> None:
    assert set(MLFLOW_JUDGES.values()) <= set(catalogue())
    assert not set(MLFLOW_JUDGES) & set(catalogue())


def test_a_metric_that_is_asked_for_by_such_a_name_is_refused_with_ours() -> None:
    with pytest.raises(SetupError, match="Another tool calls answer_relevance so") as caught:
        parse("relevance_to_query")
    assert caught.value.code == "E0201"
