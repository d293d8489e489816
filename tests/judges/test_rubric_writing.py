"""A rubric that was changed by a program is a file again, which reads back to the same rubric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.judges import Rubric, RubricRegistry, rubric_text
from ragassay.judges.scale import Point, Scale

RUBRICS = RubricRegistry.default()
CUSTOM = {
    "yes_no": """---
id: friendly
purpose: Is the response friendly?
scale: yes/no
---
A friendly response thanks for the question.
""",
    "categories": """---
id: validity
level: retrieval
row: all
purpose: Does the passage still hold?
scale:
  pass: [current, timeless]
  points:
    outdated: It is over.
    current: {value: 0.75, meaning: It holds today.}
    timeless: It has no date.
---
Judge by the passage's own words.
""",
    "graded": """---
id: tone
version: "1.10"
purpose: "Is the tone right: warm, and plain?"
scale:
  step: 5
  pass: 5
  points:
    0: Cold.
    5: Warm.
    10: {value: 1, meaning: "Warm and plain: nothing could be left out."}
input_rules:
  - when: {blank: response, declines: question}
    rating: lowest
    reasoning: Nothing was said.
  - when: {blank: response}
    not_applicable: the response holds no text
examples:
  - question: Who wrote it?
    response: '# Ida Holm: "1931"'
    reasoning: "Bare\\nbut right."
    rating: 5
---
- Thanks count.
  Also late ones.
""",
    "guidelines": """---
id: house_rules
purpose: Does the response keep the rules of the house?
guidelines:
  - The response is in English.
  - "no: competitor is named"
---
""",
}


def read_back(rubric: Rubric, folder: Path) -> Rubric:
    file = folder / "written.md"
    file.write_text(rubric_text(rubric), encoding="utf-8")
    return RUBRICS.with_files([file]).get(rubric.id)


@pytest.mark.parametrize("name", RUBRICS.ids())
def test_the_file_of_a_built_in_rubric_replaces_it_with_itself(name, tmp_path):
    rubric = RUBRICS.get(name)
    again = read_back(rubric, tmp_path)
    assert again.digest == rubric.digest
    assert again == replace(rubric, own=True)


@pytest.mark.parametrize("kind", sorted(CUSTOM))
def test_the_file_of_a_judge_of_ones_own_reads_back(kind, tmp_path):
    file = tmp_path / "first.md"
    file.write_text(CUSTOM[kind], encoding="utf-8")
    rubric = RUBRICS.with_files([file]).custom[0]
    again = read_back(rubric, tmp_path)
    assert again == rubric
    assert again.ref == rubric.ref


def test_a_file_that_extends_a_rubric_is_written_out_whole(tmp_path):
    file = tmp_path / "first.md"
    file.write_text(
        "---\nid: ten\nextends: answer_relevance\npurpose: Ten points?\nscale:\n  pass: 7\n"
        "  points:\n    0-6: Little.\n    7-10: Much.\n---\n",
        encoding="utf-8",
    )
    rubric = RUBRICS.with_files([file]).get("ten")
    assert "extends" not in rubric_text(rubric)
    assert read_back(rubric, tmp_path) == rubric


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1
).filter(lambda text: text.strip() == text and text)


@given(meaning=TEXT, reasoning=TEXT, rating=st.sampled_from(["no", "1e3", "null", "~", "on: off"]))
def test_whatever_words_stand_in_the_front_matter_they_come_back(
    meaning, reasoning, rating, tmp_path_factory
):
    scale = Scale((Point(rating, 0.0, meaning), Point("good", 1.0, "It is.")), "good")
    example = {"question": reasoning, "response": meaning, "reasoning": reasoning, "rating": "good"}
    rubric = replace(
        RUBRICS.get("answer_relevance"), scale=scale, examples=(example,), flags=(), own=True
    )
    assert read_back(rubric, tmp_path_factory.mktemp("written")) == rubric
