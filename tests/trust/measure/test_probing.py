"""The probing of a judge, beyond what the end-to-end test of the command shows."""

import pytest

from ragassay.trust.measure.probing import _model_name


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
