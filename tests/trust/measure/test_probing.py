"""The probing of a judge, beyond what the end-to-end test of the command shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ragassay.trust.battery.results import rate_of
from ragassay.trust.battery.trials import Battery
from ragassay.trust.measure.probing import _base_figures, _model_name


@pytest.mark.parametrize(
    ("judge", "name"),
    [
        ("openai:gpt-5-mini", "gpt-5-mini"),
        ("openai:org/model:free", "org/model:free"),
        ("offline", "offline"),
        ("panel:offline+openai:m", "panel:offline+openai:m"),
    ],
)
def test_a_judge_is_named_in_an_answer_by_its_model_alone(judge: str, name: str) -> None:
    assert _model_name(judge) == name


def test_rows_whose_ids_hold_the_mark_between_row_and_kind_are_clusters_of_their_own() -> None:
    all_pass = SimpleNamespace(runs={"groundedness": "run"}, outcome=lambda metric, row: "pass")
    battery = Battery()
    for row in range(12):
        for kind, passes in (("right", True), ("wrong", False)):
            battery.bases["groundedness", f"faq|{row}|{kind}"] = passes
    (figure,) = _base_figures(battery, cast(Any, all_pass))
    # Twelve clusters of one right and one wrong base, not one cluster of 24.
    pairs = [(str(row), kind == 0) for row in range(12) for kind in range(2)]
    assert figure == rate_of("groundedness", pairs)
    assert figure.value == 0.5
